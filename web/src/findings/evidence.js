// From the link of a piece of evidence to what it opens on this page.
import { el } from "../ui/dom.js";
import { time, words } from "../ui/format.js";

const SECTIONS = { ledger: "ledger", jvm: "jvm", flame: "flame", timeline: "timeline", stage: "stages", sql: "plans" };
const NAMES = { ledger: "ledger", jvm: "JVM", flame: "flame graph", timeline: "timeline", stages: "stage", plans: "plan" };

// {section, label, …}: what of the section it is: a stage, a node of a plan, a range of time, a row, or
// what the flame graph is to show; null for a link that this page does not know.
export function target({ link, range_ms: range }, place = {}) {
  const [path, asked] = (link ?? "").split("?");
  const [kind, ...ids] = path.split("/").filter(Boolean);
  const section = SECTIONS[kind];
  if (!section) return null;
  const found = { section, label: NAMES[section] };
  if (place?.app !== null && place?.app !== undefined) found.app = place.app;
  if (kind === "stage" && ids.length) {
    const [id, attempt] = ids;
    found.stage = attempt && attempt !== "0" ? `${id}.${attempt}` : id;
    found.label = `stage ${found.stage}`;
  }
  if (kind === "sql" && ids.length) {
    [found.sql, found.node] = ids;
    found.label = found.node === undefined ? `SQL execution ${found.sql}` : `node ${found.node} of SQL execution ${found.sql}`;
  }
  if (kind === "timeline" && range) {
    found.range = range;
    found.label = `timeline, ${time(range[0] * 1e6)} to ${time(range[1] * 1e6)}`;
  }
  if (kind === "ledger" && ids.length) {
    found.row = ids.join("/");
    found.label = `ledger: ${words(found.row).replaceAll("/", " › ")}`;
  }
  if (kind === "flame") {
    found.flame = Object.fromEntries(new URLSearchParams(asked ?? ""));
    // Of several stages the graph shows all, as the number does.
    if (place?.stages_count === 1) found.flame.stage = place.stage_id;
  }
  return found;
}

// Goes there: the stage's tasks are opened, the operator is selected in its plan, the row unfolded, the
// time in view, the name found. What is not found is named in its section.
export function open(goal) {
  for (const old of document.querySelectorAll(".not-here")) old.remove();
  const section = document.getElementById(goal.section);
  if (!section) return;
  const inside = inner(section, goal);
  if (!inside && [goal.stage, goal.sql, goal.row].some((one) => one !== undefined)) section.querySelector("h2")?.after(el("p", { class: "note not-here", role: "status" }, `Not found on this page: ${goal.label}.`));
  (inside ?? section).scrollIntoView({ block: inside ? "center" : "start" });
  const focus = inside?.closest("[tabindex]") ?? inside?.querySelector("button") ?? section.querySelector("h2");
  if (focus) {
    if (!focus.matches("button, a, [tabindex]")) focus.setAttribute("tabindex", "-1");
    focus.focus({ preventScroll: true });
  }
}

// What to scroll to; null for the section itself.
function inner(section, goal) {
  if (goal.stage !== undefined) return openStage(section, goal);
  if (goal.sql !== undefined) return openNode(section, goal);
  if (goal.row !== undefined) return openRow(section, goal.row);
  // Timeline and flame graph know their own state.
  if (goal.range || goal.flame) section.querySelector(".timeline, .flame")?.dispatchEvent(new CustomEvent("show-evidence", { detail: goal.range ?? goal.flame }));
  return null;
}

function openStage(section, { stage, app }) {
  const number = stageNumber(section, stage, app) ?? (unfold(section) ? stageNumber(section, stage, app) : null);
  if (!number) return null;
  // Of a stage whose tasks are not on the page there is the row alone.
  if (number.getAttribute("aria-expanded") === "false") number.click();
  return number.closest("tr");
}

// The stage of the application that is named, else of the only one that has it. Where several have stages
// in the table, its name is such as 0·3, else 3.
function stageNumber(section, stage, app) {
  const within = app === undefined ? "" : `[data-app="${CSS.escape(app)}"]`;
  const found = section.querySelectorAll(`:is([data-stage="${CSS.escape(stage)}"], [data-stage$="${CSS.escape(`·${stage}`)}"])${within}`);
  return found.length === 1 ? found[0] : null;
}

// Draws the rows of a long table that are not drawn yet; whether there were any.
function unfold(section) {
  const more = section.querySelector("button.more:not([hidden])");
  more?.click();
  return Boolean(more);
}

function openNode(section, { app, sql, node }) {
  const pick = section.querySelector("#plan-pick");
  const within = app === undefined ? "" : `[data-app="${CSS.escape(app)}"]`;
  const option = pick?.querySelector(`option[data-sql="${CSS.escape(sql)}"]${within}`);
  if (!option) return null;
  pick.value = option.value;
  pick.dispatchEvent(new Event("change"));
  const row = node === undefined ? null : section.querySelector(`[role="option"][id$="-${CSS.escape(sql)}-${CSS.escape(node)}"]`);
  row?.click();
  return row ?? pick;
}

// The row of a ledger, or the nearest above it that there is, with those that it is folded in open.
function openRow(section, path) {
  for (let at = path; at; at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "") {
    const row = section.querySelector(`tr[data-row="${CSS.escape(at)}"]`);
    if (!row) continue;
    const above = [];
    let level = Number(row.ariaLevel);
    for (let one = row.previousElementSibling; one && level > 1; one = one.previousElementSibling) {
      if (Number(one.ariaLevel) >= level) continue;
      above.unshift(one);
      level = Number(one.ariaLevel);
    }
    for (const one of above) if (one.ariaExpanded === "false") one.click();
    return row;
  }
  return null;
}
