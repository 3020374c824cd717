// Builds the page from the data that the report carries: finds which page it is, unpacks the columns
// of numbers, and puts up one section after another.
import { corunPage } from "./pages/corun.js";
import { differencePage } from "./pages/difference.js";
import { experimentPage } from "./pages/experiment.js";
import { flamePage } from "./pages/flame.js";
import { historyPage } from "./pages/history.js";
import { onlinePage } from "./pages/online.js";
import { runPage } from "./pages/run.js";
import { studyPage } from "./pages/study.js";
import { tuningPage } from "./pages/tuning.js";
import { el, missing, replace } from "./ui/dom.js";
import { unpack } from "./ui/packed.js";
import { scrollSpy } from "./ui/scroll-spy.js";
import { keepStops } from "./ui/stops.js";
import { themeButton } from "./ui/theme.js";

// A page has navigation(content): [[id, label]], sections(content, columns): [[name, draw]], and
// foot(content).
const PAGES = {
  "pyrometer/study/": studyPage,
  "pyrometer/experiment-page/": experimentPage,
  "pyrometer/corun-page/": corunPage,
  "pyrometer/history/": historyPage,
  "pyrometer/tuning-page/": tuningPage,
  "pyrometer/tuning-online-page/": onlinePage,
  "pyrometer/frame-difference/": differencePage,
  "pyrometer/flame/": flamePage,
};

const pageOf = (schema) => Object.entries(PAGES).find(([prefix]) => schema?.startsWith(prefix))?.[1] ?? runPage;

const read = (id) => document.getElementById(id)?.textContent ?? "";

// The packed columns of each part. `flame.more()` gives those that stand behind this script.
async function unpackAll(content) {
  const columns = {};
  for (const name of ["timeline", "flame"]) {
    try {
      columns[name] = await unpack(read(`pack-${name}`), content[name]?.columns);
    } catch (error) {
      console.error(`${name}:`, error);
      content[name] = { reason: `This browser could not unpack the data (${error.message}).` };
    }
  }
  if (columns.flame) columns.flame.more = async () => {
    if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
    return unpack(read("pack-flame-deep"), content.flame.deep);
  };
  return columns;
}

// A section that fails must not take the others with it: it says that it failed, and why.
function guarded([name, draw]) {
  try {
    return draw();
  } catch (error) {
    console.error(`${name}:`, error);
    return el("section", null, el("h2", null, name), missing(`This section failed: ${error.message}. The numbers are in \`pyrometer show RUN --json\`.`));
  }
}

async function main() {
  const content = JSON.parse(read("content") || "{}");
  const page = pageOf(content.schema);
  replace(document.getElementById("top"), el("div", { class: "topbar" },
    el("span", { class: "brand" }, "Pyrometer"),
    el("nav", { "aria-label": "Sections" }, page.navigation(content).map(([id, label]) => el("a", { href: `#${id}` }, label))),
    themeButton()));
  if (!content.schema) {
    replace(document.getElementById("main"), missing("This page has no data. `pyrometer report RUN` fills it."));
    return;
  }
  keepStops(document.body);
  const columns = await unpackAll(content);
  replace(document.getElementById("main"), guarded(["Report", () => page.sections(content, columns).map(guarded)]));
  replace(document.getElementById("foot"), el("p", null, page.foot(content)));
  scrollSpy(document.querySelector("#top nav"));
  document.documentElement.dataset.ready = "true";
}

main();
