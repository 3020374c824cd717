// The page of workloads that ran together: slowdowns, the whole, where to put them, what they lose.
import { el, missing, section } from "./dom.js";
import { cost, head, plan, trialsSection, verdict } from "./experiment.js";
import { gone, p, range, seconds, times, within } from "./experiment-format.js";
import { changePlot, intervalPlot, treatmentPlot } from "./experiment-intervals.js";
import { matrixSection } from "./experiment-matrix.js";
import { orderSection } from "./experiment-order.js";
import { percent } from "./format.js";
import { doubts, figures } from "./summary.js";

export const CORUN_NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["matrix", "Slowdowns"], ["advice", "Where to put them"], ["whole", "As a whole"], ["losses", "What they fight over"], ["times", "Times"], ["order", "Run order"], ["trials", "Trials"], ["cost", "Cost"], ["plan", "Plan"]];

const MATRIX = "Time of an iteration beside others over that alone on all CPUs, within blocks, with its 95 % interval: blue took less, red more, pale cannot be told among all of a workload. ▲ or ▼ where the interval lies above or below 1. With CPUs of its own a workload has fewer than alone: that is in its slowdown. A cell leads to its trials; hatched ones have no slowdown, and say why.";
const WHOLE = [
  ["weighted_speedup", "Weighted speed-up", "Sum of time alone over time together: above 1, more gets done than one after the other."],
  ["harmonic_speedup", "Harmonic mean", "Of time alone over time together: one over the mean slowdown."],
  ["fairness", "Fairness", "Smallest over largest slowdown: 1 is fair, and within the interval where slowdowns do not surely differ."],
];
const MOST_LOSSES = 60;
// The same on every page: a colour tells the same slowdown of any workloads.
const LIMITS = [1.1, 1.5, 2].map(Math.log);
const KEY = { less: (limit) => times(Math.exp(-limit)), lowest: "less", none: (limit) => `${times(Math.exp(-limit))} to ${times(Math.exp(limit))}`, more: (limit) => times(Math.exp(limit)) };

export function corunPage(content) {
  const { report, plots } = content;
  const trials = trialsSection(content);
  return [
    head(content), verdict(content, report), figures(content.figures), doubts(report.doubts),
    matrixSection(plots.matrix, trials.choose, { title: "Slowdowns", text: MATRIX, told: slowed, limits: LIMITS, key: KEY }),
    advice(report.advice), whole(report.parties), losses(plots.matrix.cells, trials.choose),
    section("times", "Times", "Time of an iteration, alone and beside others: points are trials, bars the mean and its 95 % interval.", treatmentPlot(report.treatments, trials.choose)),
    orderSection(plots.order, report, trials.open), trials.node, cost(plots.cost, report), plan(content),
  ];
}

// Where an interval does not hold 1.
export function side({ low, high }) {
  if (gone(low) || gone(high)) return "";
  return low > 1 ? " ▲" : high < 1 ? " ▼" : "";
}

export function slowed({ encounter: one }) {
  const { slowdown, verdict: told } = one;
  return {
    lines: [`${times(slowdown.value)}${side(slowdown)}`, range(slowdown, times) ?? "interval not known", told],
    pairs: [
      ["alone", within(one.alone_s, seconds)], ["beside them", within(one.beside_s, seconds)], ["slowdown", times(slowdown.value)], ["95 %", range(slowdown, times)],
      ["blocks", slowdown.n], ["p (Holm)", p(one.p)], ["verdict", told], ["blocks that would tell", one.blocks_needed],
    ],
  };
}

function advice(list) {
  const text = "Time until each has done an iteration: one after the other, together on the same CPUs, or at once with CPUs of its own (an upper bound). One way is advised (✓) if all others are surely slower. Below each: how the ways differ, thick the 95 % interval of a pair, thin of all pairs at once; the band is the margin.";
  if (!list.length) return section("advice", "Where to put them", text, missing("No block has a finished trial of all that meet."));
  return section("advice", "Where to put them", text, list.map((one) => {
    const name = one.members.join(" and ");
    return [
      el("h3", null, el("bdi", null, name)), el("p", { class: "told" }, el("bdi", null, one.told)),
      intervalPlot(`Ways to run ${name}`, "Time until all are done, with its 95 % interval.", one.ways.map((way) => ({ name: way.way, estimate: way.makespan_s, remark: one.best.length === 1 && one.best[0] === way.way ? " ✓" : "" })), { show: seconds }),
      one.pairs.length > 0 && changePlot(one),
    ];
  }));
}

function whole(parties) {
  const text = "What all that run at once get done, and how evenly, with 95 % intervals over blocks.";
  if (!parties.length) return section("whole", "As a whole", text, missing("No block has a finished trial of all that meet."));
  const name = (one) => `${one.members.join(" + ")}, ${one.own_cpus ? "own CPUs" : "the same CPUs"}`;
  return section("whole", "As a whole", text, WHOLE.map(([key, title, what]) => [
    el("h3", null, title, el("span", { class: "aside" }, what)),
    intervalPlot(title, what, parties.map((one) => ({ name: name(one), estimate: one[key] })), { show: times, from: 1 }),
  ]));
}

const more = (value) => (value > 0 ? `+${seconds(value)}` : seconds(value));

// Rows of the ledger that a workload has, beside others or alone; the largest growth first.
export function grown({ contention }) {
  return contention.grown.filter((one) => one.alone_s || one.more_s.value)
    .sort((a, b) => (b.more_s.value ?? 0) - (a.more_s.value ?? 0))
    .map((one) => ({ name: one.what, estimate: one.more_s, sure: one.sure, remark: one.sure ? "" : " ?", pairs: [["alone", seconds(one.alone_s)], ["of all that grew", one.more_s.value > 0 ? percent(one.share) : null], ["grew for sure", one.sure ? "yes" : "no"]] }));
}

function losses(cells, choose) {
  const text = "What the slots spend on in an iteration beside others, less alone, block by block: seconds with 95 % intervals. Pale, and with ?, what did not grow for sure, all rows together.";
  const met = cells.filter((cell) => cell.encounter);
  const shown = met.slice(0, MOST_LOSSES);
  return section("losses", "What they fight over", text,
    shown.length ? shown.map((cell) => loss(cell, choose)) : missing("Nothing ran beside others and alone yet."),
    met.length > shown.length && el("p", { class: "note" }, `${met.length - shown.length} more are in pyrometer corun DIR --json.`));
}

function loss({ treatment, encounter }, choose) {
  const { told, reason, ipc } = encounter.contention;
  const rows = grown(encounter).map((row) => ({ ...row, open: () => choose(treatment) }));
  return el("div", { class: "series" },
    el("h3", null, el("bdi", null, treatment)),
    reason ? missing(`Not known: ${reason}.`) : [
      el("p", { class: "told" }, el("bdi", null, told)),
      ipc && el("p", { class: "aside" }, `Instructions per cycle, over those alone: ${within(ipc, times)}`),
      rows.length ? intervalPlot(treatment, "Seconds of slots beside others less alone, by rows of the ledger.", rows, { show: more, from: 0, bars: true }) : missing("Its ledger has no rows."),
    ]);
}
