// The difference of two profiles in numbers: its head, operators, and frames.
import { el, section } from "../../ui/dom.js";
import { count, interval, NONE, percent, signedPercent, time } from "../../ui/format.js";
import { table } from "../../ui/table.js";
import { EVENTS, SAME, signed, TOO_FEW } from "./model.js";

const nameOf = (run) => [run.workload, ...Object.entries(run.treatment ?? {}).map(([name, level]) => `${name.split(".").at(-1)}=${level}`)].filter(Boolean).join(" ");

export function differenceHead(content) {
  const whole = content.whole.find(({ event }) => event === "cpu") ?? content.whole[0];
  const title = content.verdict === SAME ? "No significant difference" : `${EVENTS[whole.event][0]} time per iteration: ${time(whole.total.a.value)} → ${time(whole.total.b.value)}`;
  return el("div", { class: "head", id: "difference" },
    el("h1", null, title),
    content.verdict === SAME ? null : el("p", null, `Change ${signed(whole.total.change.value)}, 95 % interval ${interval(whole.total.change.low, whole.total.change.high, "ns")}.`),
    el("dl", { class: "facts" }, [["A", content.a], ["B", content.b]].map(([name, side]) => el("div", null, el("dt", null, name), side.runs.map((run) => el("dd", null, el("bdi", null, `${nameOf(run)} ${run.run_dir}`))), el("dd", null, `${count(side.iterations_count)} iteration${side.iterations_count === 1 ? "" : "s"}`)))),
    el("p", { class: "note" }, `${count(content.tests_count)} tests, at a false discovery rate of ${percent(content.false_discovery_rate)} (Benjamini–Hochberg); ${count(content.too_few_samples_count)} had too few samples to be tested. Intervals are not adjusted for the number of tests.`));
}

// Columns of a table about changes that `of` gives.
function changes(of, kind) {
  return [
    { label: `A${kind}`, value: (row) => of(row).a.value, show: (row) => time(of(row).a.value), number: true },
    { label: `B${kind}`, value: (row) => of(row).b.value, show: (row) => time(of(row).b.value), number: true },
    { label: `Change${kind}`, value: (row) => Math.abs(of(row).change.value), show: (row) => signed(of(row).change.value), number: true, help: "Per iteration; sorted by absolute size." },
    { label: "95 % interval", value: (row) => of(row).change.low, show: (row) => interval(of(row).change.low, of(row).change.high, "ns"), number: true },
    { label: "Share", value: (row) => of(row).share_change.value, show: (row) => (of(row).share_a === null ? NONE : `${percent(of(row).share_a)} → ${percent(of(row).share_b)} (${signedPercent(of(row).share_change.value)})`), number: true, help: "Of all samples of that side." },
    { label: "Verdict", value: (row) => of(row).verdict },
  ];
}

const eventColumn = { label: "Event", value: (row) => EVENTS[row.event]?.[0] ?? row.event };

export function operatorChanges({ operators: found, expressions }) {
  const part = (label, rows) => table([eventColumn, { label, value: (row) => row.name, show: (row) => el("bdi", null, row.name), class: "frame" }, ...changes((row) => row.total, "")], rows, { first: 15, sort: { column: 4, down: true }, empty: "None had enough samples." });
  return section("operators", "Operators", "Time per iteration that tasks spent in each SQL operator, and in each expression where lines of generated code identify it.", part("Operator", found), expressions.length > 0 && [el("h3", null, "Expressions"), part("Expression", expressions)]);
}

export function frameChanges({ frames: found, flame }) {
  const tested = found.filter((row) => row.self.verdict !== TOO_FEW);
  const part = (rows, of) => table([eventColumn, { label: "Frame", value: (row) => row.name, show: (row) => el("bdi", null, row.name), class: "frame" }, ...changes(of, "")], rows, { first: 15, sort: { column: 4, down: true }, empty: "None had enough samples." });
  return section("frames", "Frames", "Numbers that a JVM or the code generator assigns are replaced by * in names; line numbers are ignored.",
    el("h3", null, "Self"), part(tested, (row) => row.self),
    el("h3", null, "Total: self and callees"), part(found, (row) => row.total),
    flame?.hidden_frames_count > 0 && el("p", { class: "note" }, `${count(flame.hidden_frames_count)} more frames have smaller changes and are omitted here.`));
}
