// Builds the page from the data that the report carries.
import { el, missing, replace } from "./dom.js";
import { unpack } from "./packed.js";
import { CORUN_NAVIGATION, corunPage } from "./corun.js";
import { cpuSection } from "./cpu.js";
import { environmentSection } from "./environment.js";
import { EXPERIMENT_NAVIGATION, experimentPage } from "./experiment.js";
import { DIFFERENCE_NAVIGATION, differencePage } from "./flame-difference.js";
import { flameSection } from "./flame.js";
import { hardwareSection } from "./hardware.js";
import { HISTORY_NAVIGATION, historyPage } from "./history.js";
import { jvmSection } from "./jvm.js";
import { heatMap } from "./heat.js";
import { ledgerSection } from "./ledger.js";
import { planSection } from "./plan.js";
import { queriesSection } from "./queries.js";
import { resourcesSection } from "./resources.js";
import { makeSelection } from "./selection.js";
import { stagesSection } from "./stages.js";
import { STUDY_NAVIGATION, studyPage } from "./study.js";
import { doubts, figures, head, iterations, verdict } from "./summary.js";
import { themeButton } from "./theme.js";
import { timelineSection } from "./timeline.js";
import { waitsSection } from "./waits.js";

const NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["ledger", "Ledger"], ["cpu", "CPU"], ["resources", "Memory"], ["jvm", "JVM"], ["waits", "Waits"], ["hardware", "Counters"], ["queries", "Queries"], ["stages", "Stages"], ["plans", "Plans"], ["timeline", "Timeline"], ["flame", "Flame graph"], ["environment", "Environment"]];

// Pages that are no report of a run, by the beginning of their schema.
const PAGES = {
  "pyrometer/study/": { name: "Study", navigation: STUDY_NAVIGATION, page: studyPage, foot: "Every number of this page: pyrometer study run … --resume --json" },
  "pyrometer/experiment-page/": { name: "Experiment", navigation: EXPERIMENT_NAVIGATION, page: experimentPage, foot: "Every number of this page: pyrometer experiment show DIR --json, and --csv for the trials" },
  "pyrometer/corun-page/": { name: "Workloads together", navigation: CORUN_NAVIGATION, page: corunPage, foot: "Every number of this page: pyrometer corun DIR --json" },
  "pyrometer/history/": { name: "History", navigation: HISTORY_NAVIGATION, page: historyPage, foot: "Every number of this page: pyrometer experiment history … --json" },
};

const read = (id) => document.getElementById(id)?.textContent ?? "";

// A part that fails must not take the others with it: it says that it failed, and why.
function guarded(name, make) {
  try {
    return make();
  } catch (error) {
    console.error(`${name}:`, error);
    return el("section", null, el("h2", null, name), missing(`This part of the page failed: ${error.message}. The numbers are in \`pyrometer show RUN --json\`.`));
  }
}

async function main() {
  const content = JSON.parse(read("content") || "{}");
  const isFlame = content.schema?.startsWith("pyrometer/flame/");
  const isDifference = content.schema?.startsWith("pyrometer/frame-difference/");
  const own = Object.entries(PAGES).find(([schema]) => content.schema?.startsWith(schema))?.[1];
  // Only a run of a suite has queries to tell apart.
  const sections = own ? own.navigation.filter(([id]) => !["curve", "layout"].includes(id) || content[id]) : isDifference ? DIFFERENCE_NAVIGATION : isFlame ? [] : NAVIGATION.filter(([id]) => id !== "queries" || content.characterisation);
  const bar = el("div", { class: "topbar" },
    el("span", { class: "brand" }, "Pyrometer"),
    el("nav", { "aria-label": "Sections" }, sections.map(([id, label]) => el("a", { href: `#${id}` }, label))),
    themeButton());
  replace(document.getElementById("top"), bar);
  if (!content.schema) {
    replace(document.getElementById("main"), missing("This page holds no data. `pyrometer report RUN` fills it."));
    return;
  }
  if (own) {
    replace(document.getElementById("main"), guarded(own.name, () => own.page(content)));
    replace(document.getElementById("foot"), el("p", null, own.foot));
    document.documentElement.dataset.ready = "true";
    return;
  }
  if (isDifference) {
    const columns = await unpack(read("pack-flame"), content.flame?.columns);
    replace(document.getElementById("main"), guarded("Difference", () => differencePage(content, columns)));
    replace(document.getElementById("foot"), el("p", null, "Every number of this page: pyrometer flame RUN… --against RUN… --json"));
    document.documentElement.dataset.ready = "true";
    return;
  }
  const summary = content.summary ?? {};
  const columns = {};
  for (const name of ["timeline", "flame"]) {
    try {
      columns[name] = await unpack(read(`pack-${name}`), content[name]?.columns);
    } catch (error) {
      console.error(`${name}:`, error);
      content[name] = { reason: `Its data could not be unpacked by this browser (${error.message}).` };
    }
  }
  // Time can be selected where it is known when samples were taken.
  const selection = content.flame?.times && !content.flame.times.reason ? makeSelection() : null;
  const timeOf = (model) => heatMap(model, columns.flame, selection ?? makeSelection(), content.timeline?.marks);
  // What stands behind this script comes while the page is open already.
  if (columns.flame) columns.flame.more = async () => {
    if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
    return unpack(read("pack-flame-deep"), content.flame.deep);
  };
  if (isFlame) {
    replace(document.getElementById("main"),
      guarded("Head", () => head(content)),
      guarded("Flame graph", () => flameSection(content.flame, columns.flame, summary.window, timeOf)));
    replace(document.getElementById("foot"), el("p", null, `Pyrometer ${content.manifest?.pyrometer_version ?? ""} · the hottest frames as data: pyrometer flame RUN --json`));
    document.documentElement.dataset.ready = "true";
    return;
  }
  replace(document.getElementById("main"),
    guarded("Head", () => head(content)),
    guarded("Verdict", () => verdict(summary)),
    guarded("Key figures", () => figures(content.figures)),
    guarded("Doubts", () => doubts(summary.doubts)),
    guarded("Where the time went", () => ledgerSection(summary.ledger, content.ledger_walk)),
    guarded("CPU", () => cpuSection(summary)),
    guarded("Memory and code", () => resourcesSection(summary)),
    guarded("JVM", () => jvmSection(summary)),
    guarded("Waits", () => waitsSection(summary, content.timeline, columns.timeline)),
    guarded("Counters", () => hardwareSection(summary)),
    guarded("Iterations", () => iterations(summary.iterations)),
    guarded("Queries", () => queriesSection(content.characterisation)),
    guarded("Stages", () => stagesSection(summary, content.cuts)),
    guarded("SQL plans", () => planSection(summary, content.cuts)),
    guarded("Timeline", () => timelineSection(content.timeline, columns.timeline, selection)),
    guarded("Flame graph", () => flameSection(content.flame, columns.flame, summary.window, timeOf)),
    guarded("Environment", () => environmentSection(content)));
  const others = (content.cuts ?? []).filter((text) => !/^(stages|plans):/.test(text));
  replace(document.getElementById("foot"), el("p", null, `Pyrometer ${content.manifest?.pyrometer_version ?? ""} · every number of this page: pyrometer show RUN --json${others.length ? ` · left out here: ${others.join("; ")}` : ""}`));
  document.documentElement.dataset.ready = "true";
}

main();
