// The trace of trials: each value in its order, and the best so far as steps.
import { el, missing, section, svg } from "../ui/dom.js";
import { gone, signedPercent, words as plain } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, extent, linear, reach, SHAPES, steps, wide, words } from "../ui/plot.js";
import { facts } from "../ui/tip.js";
import { called, shown, ticks } from "./value.js";

const LEFT = 90;
const HEIGHT = 260;

export function trace(report, open) {
  const text = "Every trial of the search in its order: circles finished, squares are the baseline, arrows were given up and would have taken more, crosses count for nothing. The line is the best full trial so far; bands are blocks.";
  const list = report.trials;
  if (!list.some((one) => !gone(one.value))) return section("trace", "Trace", text, missing("No trial has finished yet."));
  const width = wide();
  const [low, high] = extent(list.filter((one) => one.fidelity === "full").map((one) => one.value));
  const x = linear(0.5, list.length + 0.5, LEFT, width - 20);
  const y = linear(low, high, HEIGHT - 30, 12);
  const inside = (value) => Math.max(8, Math.min(HEIGHT - 30, y(value)));
  const marks = list.map((one) => ({
    node: mark(one, x(one.trial), gone(one.value) ? HEIGHT - 36 : inside(one.value)),
    label: `Trial ${one.trial}, ${called(one.configuration)}: ${one.status}, ${shown(report, one.value)}`,
    tip: () => tip(report, one),
    open: () => open(one),
  }));
  return section("trace", "Trace", text, drawing("Trace of trials", "Value of each trial in its order, with the best so far.", width, HEIGHT,
    blocks(list, x), axisLeft(y, ticks(report, low, high), LEFT, width - 20, (value) => shown(report, value)),
    axisBelow(x, steps(1, list.length, 12).filter((at) => Number.isInteger(at) && at > 0), HEIGHT - 30, HEIGHT - 24, String),
    words(LEFT - 6, HEIGHT - 9, "trial", "tick", "end"), svg("path", { d: best(list, x, y), class: "best-so-far" }), reach(marks)),
  el("p", { class: "note" }, el("span", null, `${list.filter((one) => one.status === "finished").length} finished, ${list.filter((one) => one.status === "gave up").length} given up, ${list.filter((one) => one.failed && one.status !== "not launched").length} discarded, ${list.filter((one) => one.status === "not launched").length} not launched`)));
}

export function tip(report, one) {
  return facts(`Trial ${one.trial}`, [
    ...Object.entries(one.configuration), [report.objective, shown(report, one.value)], ["against the baseline", gone(one.change) ? null : signedPercent(one.change)],
    ["fidelity", one.fidelity === "full" ? null : one.fidelity], ["block", one.block], ["status", plain(one.status)], ["why asked", one.why || null], one.failed && ["discarded", one.failed],
    one.disturbed.length > 0 && ["disturbed", one.disturbed.join("; ")],
  ]);
}

// What kind of mark a trial has.
export function kind(one) {
  if (one.status === "gave up") return "censored";
  if (one.failed || gone(one.value)) return "discarded";
  return Object.keys(one.configuration).length ? "finished" : "baseline";
}

const OUTLINES = { baseline: SHAPES[1], finished: SHAPES[0], censored: SHAPES[2], discarded: "M-5-5L5 5M5-5L-5 5" };

export function mark(one, left, top) {
  const name = kind(one);
  const faint = one.fidelity === "full" ? "" : " faint";
  return svg("path", { d: OUTLINES[name], transform: `translate(${left} ${top})`, class: `trial-${name}${faint}` });
}

function best(list, x, y) {
  let path = "";
  for (const one of list) {
    if (gone(one.best_so_far)) continue;
    path += path ? `H${x(one.trial)}V${y(one.best_so_far)}` : `M${x(one.trial)} ${y(one.best_so_far)}`;
  }
  return path + (path ? `H${x(list.at(-1).trial)}` : "");
}

function blocks(list, x) {
  const found = [];
  for (const one of list) {
    if (found.at(-1)?.block === one.block) found.at(-1).to = one.trial;
    else found.push({ block: one.block, from: one.trial, to: one.trial });
  }
  return found.filter((_, at) => at % 2).map(({ from, to }) => svg("rect", { x: x(from - 0.5), y: 4, width: x(to + 0.5) - x(from - 0.5), height: HEIGHT - 34, class: "block" }));
}
