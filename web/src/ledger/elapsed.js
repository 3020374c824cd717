// Elapsed time: what the application waited for, along its critical path.
import { el, missing, section, svg } from "../ui/dom.js";
import { callSite, count, percent, stageCalled, stageTitle, time } from "../ui/format.js";
import { axisBelow, drawing, linear, reach, steps, wide, words } from "../ui/plot.js";
import { quality } from "./section.js";
import { rowsTable } from "./rows.js";
import { table } from "../ui/table.js";
import { facts } from "../ui/tip.js";
import { causesOf, drawn, stageName, WHERE } from "./path.js";

const HEIGHT = 34;
const TITLE = "What the application waited for";

export function elapsedSection(summary) {
  const found = summary.elapsed;
  const text = "The critical path: for every moment the one thing that held the application up. Time that is not on it costs nothing; a stage that is shorter only saves what it has here.";
  if (!found?.total_ns) return section("elapsed", TITLE, text, missing(found?.reason));
  const parts = [["stages", found.stages_ns], ["the driver", found.driver_ns], ["executors", found.executors_ns]].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
  const named = new Map((found.stages ?? []).map((stage) => [`${stage.app_index}:${stageName(stage)}`, stage]));
  return section("elapsed", TITLE, text,
    el("p", { class: "quality" }, el("b", null, time(found.total_ns)), ": ", parts.map(([name, ns], at) => [at > 0 && ", ", el("b", null, percent(ns / found.total_ns)), ` ${name} (${time(ns)})`]), ".",
      found.submitted_before_ns ? ` It was submitted ${time(found.submitted_before_ns)} before it started.` : null),
    bar(found, named),
    stages(found),
    gaps(found),
    rows(summary.ledger?.elapsed_view));
}

function bar(found, named) {
  const width = wide();
  const x = linear(0, found.total_ns, 0, width);
  const marks = drawn(found.path, found.total_ns, width).map((part) => {
    const stage = part.stage === null ? null : named.get(`${part.one.app_index}:${part.stage}`);
    const title = part.kind === "stage" ? `Stage ${part.stage}` : part.kind === "driver" ? "Driver" : "Waiting for executors";
    const length = part.one.end_ns - part.one.start_ns;
    const node = svg("rect", { x: part.x, y: 0, width: Math.max(0.5, part.width), height: HEIGHT, class: `on-path ${part.kind}` });
    return { part, node, label: `${title}, ${time(length)}, from ${time(part.one.start_ns)}`, tip: () => facts(title, [["from", time(part.one.start_ns)], ["held up", time(length)], ...(stage ? [["name", stage.name], ...causesOf(stage)
      .map(([name, ns]) => [name, time(ns)])] : [])]) };
  });
  const labels = marks.filter(({ part }) => part.stage !== null && part.width > 9 * part.stage.length + 8).map(({ part }) => words(part.x + part.width / 2, HEIGHT / 2 + 4, part.stage, "on-path-label", "middle"));
  const hatch = svg("defs", null, svg("pattern", { id: "path-idle", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("rect", { width: 6, height: 6, class: "path-ground" }), svg("rect", { width: 2, height: 6, class: "path-hatch" })));
  return [drawing(TITLE, "Stages, the driver, and waiting for executors, in order of time; the tables below have the same numbers", width, HEIGHT + 22,
    hatch, axisBelow(x, steps(0, found.total_ns, Math.max(2, Math.floor(width / 120))).filter((at) => at > 0), 0, HEIGHT, time), reach(marks), labels),
  el("p", { class: "stack-legend" }, ["stage", "driver", "executors"].filter((kind) => found.path.some((one) => one.kind === kind)).map((kind) => el("span", null, el("i", { class: `swatch on-path ${kind}` }), { stage: "stage", driver: "driver, no stage awaited", executors: "no executor" }[kind])))];
}

function stages(found) {
  const list = found.stages ?? [];
  const columns = [
    { label: "Stage", value: (s) => s.stage_id, show: stageName, number: true },
    { label: "On the path", value: (s) => s.held_ns, show: (s) => time(s.held_ns), number: true, help: "Time in which this stage was what the application waited for." },
    { label: "Share", value: (s) => s.share, show: (s) => percent(s.share), number: true },
    { label: "Mostly", value: (s) => causesOf(s)[0]?.[0], show: (s) => causesOf(s).slice(0, 2).map(([name, ns]) => `${name} ${time(ns)}`).join(", "), class: "name" },
    { label: "Tasks", value: (s) => s.tasks_count, show: (s) => count(s.tasks_count), number: true },
    { label: "Slots", value: (s) => s.slots_count, show: (s) => count(s.slots_count), number: true },
    { label: "Last task", value: (s) => s.last_task?.duration_ns, show: (s) => (s.last_task ? `${time(s.last_task.duration_ns)}${s.last_task.median_ns ? ` (median ${time(s.last_task.median_ns)})` : ""}` : null), number: true, help: "The task that ended last, beside the median of the stage's tasks." },
    { label: "Name", value: stageCalled, show: (s) => el("bdi", { class: "clip", title: stageTitle(s) }, callSite(stageCalled(s)) ?? "–"), class: "name" },
  ];
  return [table(columns, list, { first: 8, empty: "No stage was on the path." }), found.stages_count > list.length && el("p", { class: "note" }, `The ${list.length} longest of ${count(found.stages_count)} stages on the path.`)];
}

function gaps(found) {
  const list = found.gaps ?? [];
  if (!list.length) return null;
  const columns = [
    { label: "From", value: (g) => g.start_ns, show: (g) => time(g.start_ns), number: true },
    { label: "Length", value: (g) => g.length_ns, show: (g) => time(g.length_ns), number: true },
    { label: "Where", value: (g) => WHERE[g.where] ?? g.where, class: "name" },
    { label: "Query", value: (g) => g.sql_id, number: true },
    { label: "Between stages", value: (g) => g.after_stage_id, show: (g) => [g.after_stage_id, g.before_stage_id].map((id) => id ?? "–").join(" and "), number: true },
  ];
  return el("details", { class: "checks" }, el("summary", null, `Gaps: no stage was awaited (${count(found.gaps_count)})`), table(columns, list, { first: 10 }));
}

// The same as a view of the ledger, with its closure.
function rows(view) {
  if (!view?.rows?.length) return null;
  return el("details", { class: "checks" }, el("summary", null, "All of it, as rows of the ledger"), quality(view), rowsTable(view.rows, view.total_ns, "Elapsed view: rows"));
}
