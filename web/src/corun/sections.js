// Co-runs: slowdowns, advice, throughput, and contention.
import { bdi, el, missing, section } from "../ui/dom.js";
import { p, range, seconds, times as ratio, within } from "../ui/estimates.js";
import { gone, percent } from "../ui/format.js";
import { changePlot, intervalPlot, treatmentPlot } from "../ui/intervals.js";

const NONE_FINISHED = "No block has a finished trial of all the workloads involved.";
const MEASURES = [
  ["weighted_speedup", "Weighted speed-up", "Sum over workloads of time alone divided by time in the co-run: above 1, more gets done than one after the other."],
  ["harmonic_speedup", "Harmonic mean", "Of time alone divided by time in the co-run: the inverse of the mean slowdown."],
  ["fairness", "Fairness", "Smallest slowdown divided by the largest: 1 is fair."],
];
const MOST_PLOTS = 60;

// How the matrix shows slowdowns. Colours change at the same ratios on every page, so that pages can
// be compared.
export const SLOWDOWNS = {
  title: "Slowdowns",
  text: "Time of an iteration in the co-run divided by its time alone on all CPUs, within blocks, with its 95 % interval: blue took less, red more, pale is undecided (adjusted over all pairings of a workload). ▲ or ▼: the interval lies above or below 1. The slowdown with CPUs of its own includes having fewer of them than alone. Click a cell for its trials; hatched cells have no slowdown and say why.",
  describe: describeSlowdown,
  limits: [1.1, 1.5, 2].map(Math.log),
  key: { less: (limit) => ratio(Math.exp(-limit)), lowest: "less", none: (limit) => `${ratio(Math.exp(-limit))} to ${ratio(Math.exp(limit))}`, more: (limit) => ratio(Math.exp(limit)) },
};

// A mark for an interval that does not hold 1.
export function direction({ low, high }) {
  if (gone(low) || gone(high)) return "";
  return low > 1 ? " ▲" : high < 1 ? " ▼" : "";
}

export function describeSlowdown({ encounter: one }) {
  const { slowdown, verdict } = one;
  return {
    lines: [`${ratio(slowdown.value)}${direction(slowdown)}`, range(slowdown, ratio) ?? "interval unknown", verdict],
    pairs: [
      ["alone", within(one.alone_s, seconds)], ["co-run", within(one.beside_s, seconds)], ["slowdown", ratio(slowdown.value)], ["95 %", range(slowdown, ratio)],
      ["blocks", slowdown.n], ["p (Holm)", p(one.p)], ["verdict", verdict], ["blocks needed", one.blocks_needed],
    ],
  };
}

export function advice(list) {
  const text = "Time until each workload has done an iteration: one after the other, together on the same CPUs, or together with CPUs of their own (an upper bound). A way is recommended (✓) if it is significantly faster than all others. Below: differences between the ways; thick is the 95 % interval of a pair, thin that of all pairs at once, the band is the margin.";
  if (!list.length) return section("advice", "Advice", text, missing(NONE_FINISHED));
  return section("advice", "Advice", text, list.map((one) => {
    const name = one.members.join(" and ");
    return [
      el("h3", null, bdi(name)), el("p", { class: "summary" }, bdi(one.told)),
      intervalPlot(`Ways to run ${name}`, "Time until all are done, with its 95 % interval.", one.ways.map((way) => ({ name: way.way, estimate: way.makespan_s, remark: one.best.length === 1 && one.best[0] === way.way ? " ✓" : "" })), { show: seconds }),
      one.pairs.length > 0 && changePlot(one),
    ];
  }));
}

export function combined(parties) {
  const text = "How much the workloads of a co-run get done, and how evenly they are slowed down, with 95 % intervals over blocks.";
  if (!parties.length) return section("whole", "Throughput", text, missing(NONE_FINISHED));
  const name = (one) => `${one.members.join(" + ")}, ${one.own_cpus ? "own CPUs" : "shared CPUs"}`;
  return section("whole", "Throughput", text, MEASURES.map(([key, title, what]) => [
    el("h3", null, title, el("span", { class: "aside" }, what)),
    intervalPlot(title, what, parties.map((one) => ({ name: name(one), estimate: one[key] })), { show: ratio, from: 1 }),
  ]));
}

const signed = (value) => (value > 0 ? `+${seconds(value)}` : seconds(value));

// Ledger rows that a workload has, alone or with others; the largest growth first.
export function growth({ contention: found }) {
  return found.grown.filter((one) => one.alone_s || one.more_s.value)
    .sort((a, b) => (b.more_s.value ?? 0) - (a.more_s.value ?? 0))
    .map((one) => ({ name: one.what, estimate: one.more_s, sure: one.sure, remark: one.sure ? "" : " ?", pairs: [["alone", seconds(one.alone_s)], ["share of all growth", one.more_s.value > 0 ? percent(one.share) : null], ["significant", one.sure ? "yes" : "no"]] }));
}

export function contention(cells, choose) {
  const text = "Additional slot time of an iteration in the co-run compared with alone, by row of the ledger, within blocks: seconds with 95 % intervals. Pale with ?: not significant, adjusted over all rows.";
  const met = cells.filter((cell) => cell.encounter);
  const shown = met.slice(0, MOST_PLOTS);
  return section("losses", "Contention", text,
    shown.length ? shown.map((cell) => contentionPlot(cell, choose)) : missing("No workload has run both alone and with others yet."),
    met.length > shown.length && el("p", { class: "note" }, `${met.length - shown.length} more are in pyrometer corun DIR --json.`));
}

function contentionPlot({ treatment, encounter }, choose) {
  const { told: summary, reason, ipc } = encounter.contention;
  const rows = growth(encounter).map((row) => ({ ...row, open: () => choose(treatment) }));
  return el("div", { class: "series" },
    el("h3", null, bdi(treatment)),
    reason ? missing(`Unknown: ${reason}.`) : [
      el("p", { class: "summary" }, bdi(summary)),
      ipc && el("p", { class: "aside" }, `Instructions per cycle, relative to alone: ${within(ipc, ratio)}`),
      rows.length ? intervalPlot(treatment, "Additional seconds of slot time, by row of the ledger.", rows, { show: signed, from: 0, bars: true }) : missing("Its ledger has no rows."),
    ]);
}

export function times(treatments, choose) {
  return section("times", "Times", "Time of an iteration, alone and in co-runs: points are trials, bars the mean and its 95 % interval.", treatmentPlot(treatments, choose));
}
