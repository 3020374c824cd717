// A study: published results next to our own.
import { bdi, el, section } from "../ui/dom.js";
import { within } from "../ui/estimates.js";
import { count, gone, NONE, signedPercent, significant } from "../ui/format.js";
import { table } from "../ui/table.js";

export function head(study) {
  const here = [...new Set((study.runs ?? []).map((run) => run.machine).filter(Boolean))];
  return el("div", { class: "head", id: "study" },
    el("h1", null, bdi(study.title)),
    el("p", null, bdi(study.source)),
    el("dl", { class: "facts" }, [["Published on", [study.machine]], ["Run on", here]].filter(([, texts]) => texts.length).map(([name, texts]) =>
      el("div", null, el("dt", null, name), texts.map((text) => el("dd", null, bdi(text)))))),
    (study.differences ?? []).length > 0 && [el("h3", null, "Differences from the publication"), el("ul", null, study.differences.map((text) => el("li", null, bdi(text))))]);
}

export function effects(list) {
  const ends = (one) => [].concat(one.published ?? []).map(signedPercent).join(" to ") || NONE;
  const ours = (one) => (gone(one.ours?.value) ? NONE : `${within(one.ours, signedPercent)}${one.verdict ? `, ${one.verdict}` : ""}`);
  return section("effects", "Published effects", "Relative change of the time, ours with its 95 % interval. Machines and sizes differ, so only the direction is compared, where ours is significant.", table([
    { label: "What", value: (e) => e.what, show: (e) => bdi(e.what), class: "name" },
    { label: "Reference", value: (e) => e.place, show: (e) => bdi(e.place) },
    { label: "From", value: (e) => e.a, show: (e) => bdi(e.a) },
    { label: "To", value: (e) => e.b, show: (e) => bdi(e.b) },
    { label: "Published", value: (e) => [].concat(e.published)[0], show: (e) => [bdi(ends(e)), e.derived && el("span", { class: "note" }, " (", bdi(e.derived), ")")], number: true },
    { label: "Ours", value: (e) => e.ours?.value, show: ours, number: true },
    { label: "Welch", value: (e) => e.welch?.difference_percent_of_a, show: (e) => welch(e.welch), number: true, help: "Change of the mean in per cent of the first, 95 % interval of Welch's test of the times as they are, as such studies print it." },
    { label: "Same direction", value: (e) => agreement(e.agrees) },
    { label: "Note", value: (e) => note(e), show: (e) => bdi(note(e)) },
  ], list, { empty: "The study reports no effects." }));
}

const note = (effect) => effect.reason ?? (effect.withheld ? `Nothing is claimed of these times: ${effect.withheld}` : effect.note);

// The test has A less B; the change is B less A.
const welch = (test) => (gone(test?.percent_of_a) ? NONE : `${signedPercent(-test.percent_of_a[1] / 100)} to ${signedPercent(-test.percent_of_a[0] / 100)}`);

export function experiments(list) {
  const out = (one) => Object.entries(one.left_out ?? {});
  return section("experiments", "Our experiments", "Each has a page of its own in its folder. What this host cannot provide is left out, with the reason.", table([
    { label: "Experiment", value: (e) => e.name, show: (e) => bdi(e.name), class: "name" },
    { label: "Workload", value: (e) => e.workload, show: (e) => bdi(e.workload) },
    { label: "Scale", value: (e) => e.scale, show: (e) => bdi(e.scale) },
    { label: "Trials", value: (e) => e.done_count, show: (e) => (gone(e.trials_count) ? NONE : `${e.done_count} of ${e.trials_count}`), number: true },
    { label: "Memory condition", value: (e) => (e.conditions ?? []).length, show: (e) => (e.conditions ?? []).length > 0 && el("ul", null, e.conditions.map((one) => el("li", null, bdi(`${one.treatment}: reached in ${one.reached_count} of ${one.trials_count} trials`)))) },
    { label: "Left out", value: (e) => out(e).length, show: (e) => out(e).length > 0 && el("ul", null, out(e).map(([name, why]) => el("li", null, bdi(`${name}: ${why}`)))) },
    { label: "Folder", value: (e) => e.folder, show: (e) => (e.folder ? el("a", { href: `${encodeURIComponent(e.name)}/report.html` }, bdi(e.folder)) : null), class: "mono" },
    { label: "Outcome", value: (e) => e.reason ?? "", show: (e) => [bdi(e.reason), (e.doubts ?? []).length > 0 && el("ul", null, e.doubts.map((doubt) => el("li", null, bdi(doubt))))] },
  ], list, { empty: "The study has no experiments." }));
}

export function values(list) {
  return section("values", "Published values", "Ours with the 95 % interval. They agree if our interval overlaps the published value, widened as the study says; “–” is not compared.", table([
    { label: "What", value: (v) => v.what, show: (v) => bdi(v.what), class: "name" },
    { label: "Reference", value: (v) => v.place, show: (v) => bdi(v.place) },
    { label: "Published", value: (v) => [].concat(v.published)[0], show: (v) => [bdi(published(v)), v.derived && el("span", { class: "note" }, " (", bdi(v.derived), ")")], number: true },
    { label: "Ours", value: (v) => v.ours?.value, show: (v) => ours(v.ours, v.unit), number: true },
    { label: "n", value: (v) => v.ours?.n, number: true, help: "Iterations behind our value." },
    { label: "Agrees", value: (v) => agreement(v.agrees) },
    { label: "Note", value: (v) => v.reason ?? v.note, show: (v) => bdi(v.reason ?? v.note) },
  ], list, { empty: "The study reports no single values." }));
}

export function tables(found) {
  const parts = Object.entries(found).map(([title, cells]) => [
    el("h3", null, bdi(title)),
    // Lists of operators go into a table of their own.
    [cells.filter((cell) => cell.unit !== "text"), cells.filter((cell) => cell.unit === "text")].filter((group) => group.length).map(grid),
  ]);
  return section("tables", "Published tables", "Each cell: published | ours. ✓ and ✗ say whether they agree: as shares of the column's sum, or exactly.",
    parts.length ? parts : el("p", { class: "missing" }, "The study reports no tables by query."));
}

function grid(cells) {
  const names = [...new Set(cells.map((cell) => cell.what))];
  const rows = new Map();
  for (const cell of cells) {
    const row = rows.get(cell.row) ?? rows.set(cell.row, { row: cell.row }).get(cell.row);
    row[`of ${cell.what}`] = cell;
  }
  const unitOf = (name) => cells.find((cell) => cell.what === name).unit;
  return table([
    { label: "Query", value: (r) => r.row, show: (r) => bdi(r.row), class: "name" },
    ...names.map((name) => ({
      label: ["text", "truth", "count", "ratio"].includes(unitOf(name)) ? name : `${name} (${unitOf(name)})`,
      value: (r) => cellKey(r[`of ${name}`]),
      show: (r) => cellText(r[`of ${name}`]),
      number: unitOf(name) !== "text",
    })),
  ], [...rows.values()]);
}

function cellKey(cell) {
  return typeof cell?.published === "boolean" ? Number(cell.published) : cell?.published;
}

function cellText(cell) {
  if (!cell) return NONE;
  const oursText = gone(cell.ours_text) ? ours(cell.ours, cell.unit === "count" ? "count" : "ratio") : text(cell.ours_text) || "none";
  const mark = { true: " ✓", false: " ✗" }[cell.agrees] ?? "";
  return [bdi(text(cell.published)), " | ", bdi(oursText), el("span", { class: cell.agrees === false ? "bad" : null }, mark), cell.reason && el("span", { class: "note" }, " (", bdi(cell.reason), ")")];
}

export function runs(list) {
  return section("runs", "Our runs", "Each run has a report of its own in its folder.", table([
    { label: "Run", value: (r) => r.name, show: (r) => bdi(r.name), class: "name" },
    { label: "Workload", value: (r) => r.workload, show: (r) => bdi(r.workload) },
    { label: "Scale", value: (r) => r.scale, show: (r) => bdi(r.scale) },
    { label: "Iterations", value: (r) => r.iterations, number: true },
    { label: "Levels", value: (r) => levels(r), show: (r) => bdi(levels(r)) },
    { label: "Spark", value: (r) => r.spark_version, show: (r) => bdi(r.spark_version) },
    { label: "Folder", value: (r) => r.run_dir, show: (r) => bdi(r.run_dir), class: "mono" },
    { label: "Outcome", value: (r) => r.reason ?? "finished", show: (r) => [bdi(r.reason ?? "finished"), (r.doubts ?? []).length > 0 && el("ul", null, r.doubts.map((doubt) => el("li", null, bdi(doubt))))] },
  ], list));
}

const levels = (run) => Object.entries(run.levels ?? {}).map(([factor, level]) => `${factor}=${level}`).join(" ");

const agreement = (agrees) => (gone(agrees) ? null : agrees ? "yes" : "no");

function text(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return gone(value) ? NONE : String(value);
}

function published(value) {
  if (gone(value.published)) return NONE;
  const unit = ["ratio", "count"].includes(value.unit) ? "" : ` ${value.unit}`;
  return [].concat(value.published).map(text).join(" to ") + unit;
}

// Ours is in the unit of what was published.
function ours(estimate, unit) {
  if (gone(estimate?.value)) return NONE;
  if (unit === "count" && Number.isInteger(estimate.value)) return count(estimate.value);
  const after = ["ratio", "count"].includes(unit) ? "" : ` ${unit}`;
  return within(estimate, significant) + after;
}
