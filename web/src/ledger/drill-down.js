// From the stages of the window down to one task: stacked bars, each a button to go deeper. The
// slowest task of a stage is compared with its median in one click.
import { meaningOfRow, paint } from "../ui/colours.js";
import { el, replace } from "../ui/dom.js";
import { bytes, callSite, count, interval, percent, signedPercent, time, words } from "../ui/format.js";
import { belowOf, fromLink, segments, stageKey, tasksOf, toLink, TOP, viewOf } from "./model.js";
import { facts, help, tipOn } from "../ui/tip.js";

// `draw(view)` draws the rows of one ledger, as for the whole window.
export function drillDown(walk, draw) {
  if (!walk?.stages?.length) return null;
  const panel = el("div", { class: "panel parts", id: "ledger-parts" });
  const go = (at, keepFocus) => {
    show(at);
    history.replaceState(null, "", at.stage === null ? "#ledger" : toLink(at));
    if (keepFocus) panel.querySelector("h3")?.focus();
  };
  const show = (at) => {
    const below = at.stage === null ? null : belowOf(walk, at.stage);
    replace(panel, crumbs(at, below, go), below ? stagePage(walk, at, below, go, draw) : stagesPage(walk, go));
  };
  const opened = fromLink(location.hash, walk);
  show(opened ?? TOP);
  if (opened?.stage) setTimeout(() => panel.scrollIntoView());
  addEventListener("hashchange", () => {
    const at = fromLink(location.hash, walk);
    if (at) show(at);
  });
  return panel;
}

function crumbs(at, below, go) {
  const step = (label, to) => el("button", { type: "button", class: "crumb", on: { click: () => go(to, true) } }, label);
  const path = [at.stage === null ? "Stages" : step("Stages", TOP)];
  const stage = at.task === null && at.operator === null;
  if (below) path.push(" › ", stage ? stageName(below) : step(stageName(below), { ...at, operator: null, task: null }));
  if (at.operator !== null) path.push(" › ", at.task === null ? at.operator : step(at.operator, { ...at, task: null }));
  if (at.task !== null) path.push(" › ", `task ${at.task}`);
  return el("h3", { tabindex: "-1" }, path, help("Where the time of each stage went, then of its operators and tasks, by the same rules as for the whole window. The total of a stage is the time of its task attempts from launch to finish; idle slots belong to no stage."));
}

const stageName = (below) => `Stage ${below.stage_id}${below.stage_attempt ? `.${below.stage_attempt}` : ""}`;

function stagesPage(walk, go) {
  const listed = walk.stages.filter((group) => !group.rest).length;
  const most = Math.max(...walk.stages.map((group) => group.view.total_ns ?? 0), 1);
  return [
    el("p", { class: "note" }, `${listed} of ${count(walk.stages_count)} stages, longest first; ${walk.below.length} of them can be opened.`),
    legend(walk.stages, walk),
    el("div", { class: "stack-list" }, walk.stages.map((group) => line(walk, group, most, belowOf(walk, stageKey(group)) && !group.rest ? () => go({ ...TOP, stage: stageKey(group), what: "tasks" }, true) : null))),
  ];
}

function stagePage(walk, at, below, go, draw) {
  const tabs = [["tasks", `Tasks (${count(below.tasks_count)})`], ["operators", `Operators (${count(below.operators_count)})`]];
  if (below.slowest) tabs.push(["slowest", "Slowest task vs. median"]);
  const bar = el("div", { class: "tabs", role: "group", "aria-label": "What to look at" }, tabs.map(([what, label]) =>
    el("button", { type: "button", "aria-pressed": String(at.what === what && at.task === null && at.operator === null), on: { click: () => go({ ...TOP, stage: at.stage, what }) } }, label)));
  if (at.task !== null) {
    const group = below.tasks.find((one) => one.task_attempt_id === at.task);
    return [bar, one(walk, group, draw)];
  }
  if (at.operator !== null) return [bar, operatorPage(walk, at, below, go)];
  if (at.what === "slowest") return [bar, comparison(walk, below.slowest, draw)];
  const groups = at.what === "operators" ? below.operators : below.tasks;
  const most = Math.max(...groups.map((group) => group.view.total_ns ?? 0), 1);
  const open = (group) => {
    if (group.rest) return null;
    return () => go(at.what === "tasks" ? { ...at, task: group.task_attempt_id } : { ...at, operator: group.label }, true);
  };
  const stage = walk.stages.find((group) => stageKey(group) === at.stage);
  return [
    bar,
    legend(groups, walk),
    el("div", { class: "stack-list" }, groups.map((group) => line(walk, group, most, open(group)))),
    groups[0]?.view.reason && el("p", { class: "note" }, `${groups[0].view.reason}.`),
    stage && el("details", { class: "checks" }, el("summary", null, "All rows of this stage"), one(walk, stage, draw)),
  ];
}

function one(walk, group, draw) {
  const view = viewOf(group.view, walk);
  return el("div", null, view.reason && el("p", { class: "note" }, `${view.reason}.`), draw(view));
}

// Which tasks spent their time in an operator: each leads to all of its rows.
function operatorPage(walk, at, below, go) {
  const tasks = tasksOf(below, at.operator);
  if (!tasks.length) return el("p", { class: "missing" }, "None of the listed tasks was sampled in this operator.");
  const most = tasks[0].view.total_ns;
  return [
    legend(tasks, walk),
    el("div", { class: "stack-list" }, tasks.map((task) => line(walk, task, most, task.rest ? null : () => go({ ...at, task: task.task_attempt_id }, true)))),
    el("p", { class: "note" }, "Shares of each task's time are from samples; hover for their intervals."),
  ];
}

// One part of the run: its name, a stacked bar as long as its time, its time.
function line(walk, group, most, open) {
  const view = viewOf(group.view, walk);
  const parts = segments(view.rows);
  const sum = parts.reduce((all, part) => all + part.value, 0) || 1;
  const bar = el("span", { class: "stack-bar", style: { width: `${(100 * (view.total_ns ?? 0)) / most}%` } }, parts.map((part) => {
    const piece = el("i", { style: { width: `${(100 * part.value) / sum}%`, ...paint(meaningOfRow(part.path)) } }, part.value / most > 0.09 ? words(part.name) : "");
    return tipOn(piece, () => facts(`${group.label}: ${words(part.path).replaceAll("/", " › ")}`, [
      ["time", time(part.value)], ["share", percent(part.value / (view.total_ns || sum))],
      ["95 % interval", part.row.low_ns === null ? null : interval(part.row.low_ns, part.row.high_ns, "ns")]]));
  }));
  const spoken = parts.slice().sort((a, b) => b.value - a.value).slice(0, 4).map((part) => `${words(part.name)} ${percent(part.value / (view.total_ns || sum))}`).join(", ");
  const label = `${group.label}: ${time(view.total_ns)}; ${spoken}`;
  const content = [el("span", { class: "name", title: group.label }, callSite(group.label)), el("span", { class: "lane" }, bar), el("span", { class: "n" }, time(view.total_ns))];
  return open
    ? el("button", { type: "button", class: "stack-line", "aria-label": `${label}. Open`, on: { click: open } }, content)
    : el("div", { class: "stack-line", role: "img", "aria-label": label }, content);
}

function legend(groups, walk) {
  const sums = new Map();
  for (const group of groups) for (const part of segments(viewOf(group.view, walk).rows)) sums.set(part.path, (sums.get(part.path) ?? 0) + part.value);
  const names = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 10);
  return el("p", { class: "stack-legend" }, names.map(([path]) => el("span", null, el("i", { class: "swatch", style: { background: paint(meaningOfRow(path)).background } }), words(path.slice(path.lastIndexOf("/") + 1)))));
}

// A task and the middle of its stage: why in words, both bars, what differs, what both read.
function comparison(walk, found, draw) {
  const most = Math.max(found.task.view.total_ns ?? 0, found.middle.view.total_ns ?? 0, 1);
  const show = (value, unit) => (typeof value === "string" ? value : unit === "bytes" ? bytes(value) : count(value));
  const rows = found.differences.filter(([, a, b]) => a || b);
  return el("div", null,
    el("ul", { class: "why" }, found.why.map((text) => el("li", null, text))),
    el("div", { class: "stack-list" }, [found.task, found.middle].map((group) => line(walk, group, most, null))),
    el("div", { class: "scroll" }, el("table", { class: "rows" },
      el("thead", null, el("tr", null, ["Row", "Difference", "95 % interval", "Median", "This task"].map((text, at) => el("th", { scope: "col", class: at ? "n" : null }, text)))),
      el("tbody", null, rows.map(([path, a, b, value, low, high]) => el("tr", null,
        el("td", null, el("i", { class: "swatch", style: { background: paint(meaningOfRow(path)).background } }), words(path).replaceAll("/", " › ")),
        el("td", { class: "n" }, `${value > 0 ? "+" : ""}${time(value)}`),
        el("td", { class: "n dim" }, low === high ? "–" : interval(low, high, "ns")),
        el("td", { class: "n" }, time(a)), el("td", { class: "n" }, time(b))))))),
    found.ended_by.length > 0 && el("details", { class: "checks" }, el("summary", null, "Time asleep by what ended each wait"),
      el("dl", { class: "pairs" }, found.ended_by.map(([path, a, b]) => [el("dt", null, words(path)), el("dd", null, time(b), el("span", { class: "aside" }, ` median: ${time(a)}`))]))),
    found.facts.length > 0 && el("dl", { class: "pairs" }, found.facts.map((fact) => [el("dt", null, fact.name), el("dd", null, show(fact.task, fact.unit), el("span", { class: "aside" }, ` median: ${show(fact.middle, fact.unit)}`))])),
    el("p", { class: "note" }, `Ledger of this task: closure ${signedPercent(found.task.view.closure_ratio)}, unclassified ${percent(found.task.view.unclassified_ratio)}.`),
    el("details", { class: "checks" }, el("summary", null, "All rows of this task"), one(walk, found.task, draw)));
}
