// Plots of intervals: times of treatments, differences between them, and estimates in general.
import { el, missing, svg } from "./dom.js";
import { p, range, seconds } from "./estimates.js";
import { gone, percent, signedPercent } from "./format.js";
import { axisBelow, drawing, extent, linear, line, reach, steps, wide, words } from "./plot.js";
import { facts } from "./tip.js";

const LEFT = 300; // room for the names of treatments
const ROW = 22;
const MOST_ROWS = 80;

// Each treatment's trials as points with mean and interval.
export function treatmentPlot(treatments, choose) {
  const finished = treatments.filter((one) => one.values.length);
  const list = finished.slice(0, MOST_ROWS);
  if (!list.length) return missing("No trial has finished.");
  const width = wide();
  const [low, high] = extent(list.flatMap((one) => [...one.values, one.mean.low, one.mean.high]));
  const x = linear(low, high, LEFT, width - 20);
  const bottom = list.length * ROW + 10;
  return [drawing("Times of the treatments", "Points are trials; bars are the mean and its 95 % interval.", width, bottom + 24,
    axisBelow(x, steps(low, high, 7), 4, bottom, seconds),
    reach(list.map((one, at) => ({
      ...rowOf(one.name, at, width, [
        one.values.map((value) => svg("circle", { cx: x(value), cy: middle(at), r: 3, class: "trial" })),
        whisker(x, at, one.mean, "strong"),
      ]),
      label: `${one.name}: ${seconds(one.mean.value)}, 95 % ${range(one.mean, seconds) ?? "unknown"}, ${one.mean.n} trials`,
      tip: () => facts(one.name, [["mean", seconds(one.mean.value)], ["95 %", range(one.mean, seconds)], ["trials", one.mean.n]]),
      open: () => choose(one.name),
    })))), cut(list, finished, "treatments, the others are in the table of costs")];
}

// Each pair's change with its own interval, and the one that holds for all pairs at once.
export function changePlot(comparison) {
  const list = comparison.pairs.slice(0, MOST_ROWS);
  const { a, margin } = list[0];
  const width = wide();
  // With a baseline its name would be in every row.
  const fromBaseline = list.every((pair) => pair.a === a);
  const [low, high] = extent(list.flatMap((pair) => [pair.change.value, pair.change.low, pair.change.high, pair.change_of_all?.low, pair.change_of_all?.high]), [-margin, margin]);
  const x = linear(low, high, LEFT, width - 110);
  const bottom = list.length * ROW + 10;
  const name = (pair) => (fromBaseline ? pair.b : `${pair.a} → ${pair.b}`);
  return [drawing(fromBaseline ? `Changes from ${a}` : "Changes", `Thick: 95 % interval of a pair; thin: interval for all pairs at once; the band is the margin of ${percent(margin)} within which two count as the same.`, width, bottom + 24,
    svg("rect", { x: x(-margin), y: 4, width: x(margin) - x(-margin), height: bottom - 4, class: "margin" }),
    axisBelow(x, steps(low, high, 7), 4, bottom, signedPercent), line(x(0), 4, x(0), bottom, "zero"),
    reach(list.map((pair, at) => ({
      ...rowOf(name(pair), at, width, [
        pair.change_of_all && whisker(x, at, pair.change_of_all, "thin"), whisker(x, at, pair.change, "strong"),
        words(width - 100, middle(at) + 4, pair.verdict, `verdict-${pair.verdict.replace(" ", "-")}`),
      ]),
      label: `${name(pair)}: ${signedPercent(pair.change.value)}, 95 % ${range(pair.change, signedPercent) ?? "unknown"}, ${pair.verdict}`,
      tip: () => facts(name(pair), [["change", signedPercent(pair.change.value)], ["95 %", range(pair.change, signedPercent)], ["95 % of all pairs", range(pair.change_of_all, signedPercent)], ["p (Holm)", p(pair.adjusted_p)], ["verdict", pair.verdict]]),
    })))), cut(list, comparison.pairs, "pairs, the table below has all")];
}

// Estimates with a line at `from`, each written at the right; as `bars` they begin there.
// Rows: {name, estimate, remark?, sure?, pairs?, open?}.
export function intervalPlot(title, text, rows, { show, from = null, bars = false }) {
  const list = rows.slice(0, MOST_ROWS);
  const width = wide();
  const [low, high] = extent(list.flatMap(({ estimate: one }) => [one.value, one.low, one.high]), gone(from) ? [] : [from]);
  const x = linear(low, high, LEFT, width - 110);
  const bottom = list.length * ROW + 10;
  const bar = (value, at, sure) => svg("rect", { x: Math.min(x(from), x(value)), y: middle(at) - 6, width: Math.abs(x(value) - x(from)), height: 12, class: sure ? "growth sure" : "growth" });
  return [drawing(title, text, width, bottom + 24,
    axisBelow(x, steps(low, high, 7), 4, bottom, show), !gone(from) && line(x(from), 4, x(from), bottom, "zero"),
    reach(list.map(({ name, estimate, remark = "", sure = true, pairs = [], open }, at) => ({
      ...rowOf(name, at, width, [
        bars && !gone(estimate.value) && bar(estimate.value, at, sure), whisker(x, at, estimate, bars ? "thin" : "strong"),
        words(width - 100, middle(at) + 4, `${show(estimate.value)}${remark}`, sure ? null : "verdict-cannot-tell"),
      ]),
      label: `${name}: ${show(estimate.value)}${remark}, 95 % ${range(estimate, show) ?? "unknown"}`,
      tip: () => facts(name, [["value", show(estimate.value)], ["95 %", range(estimate, show)], ["blocks", estimate.n], ...pairs]),
      open,
    })))), cut(list, rows, "rows")];
}

const cut = (drawn, all, what) => (drawn.length < all.length ? el("p", { class: "note" }, `The first ${drawn.length} of ${all.length} ${what}.`) : null);

const middle = (at) => at * ROW + ROW / 2 + 4;

function rowOf(name, at, width, shapes) {
  const [before, after] = name.length > 46 ? [name.slice(0, 30), name.slice(-14)] : [name, ""];
  const label = after ? `${before}…${after}` : before;
  return { node: svg("g", { class: "row" }, svg("rect", { x: 0, y: middle(at) - ROW / 2, width: width, height: ROW, class: "hit" }), words(LEFT - 12, middle(at) + 4, label, "name", "end"), shapes) };
}

function whisker(x, at, one, name) {
  if (gone(one.value)) return null;
  const y = middle(at);
  return [
    !gone(one.low) && !gone(one.high) && line(x(one.low), y, x(one.high), y, `whisker ${name}`),
    name === "strong" && svg("rect", { x: x(one.value) - 2, y: y - 6, width: 4, height: 12, class: "middle" }),
  ];
}
