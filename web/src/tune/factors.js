// One drawing a factor: raw trials by its level, with what the model believes where it is known.
import { bdi, el, missing, section, svg } from "../ui/dom.js";
import { gone } from "../ui/format.js";
import { axisLeft, drawing, extent, linear, reach, words } from "../ui/plot.js";
import { shownKnobs } from "./parallel.js";
import { mark, tip } from "./trace.js";
import { scale, shown, ticks } from "./value.js";

const WIDTH = 380;
const HEIGHT = 200;
const LEFT = 76;

export function factors(report, open) {
  const text = "Value of each full trial by the level of one factor, whatever its other levels were: what is not set lies at its default. The line is what the model believes of the factor alone, averaged over the others, with its 95 % interval.";
  const list = report.trials.filter((one) => one.fidelity === "full" && !gone(one.value) && !one.failed);
  const knobs = shownKnobs(report);
  if (!knobs.length || !list.length) return section("factors", "Factors", text, missing("No trial has varied a factor yet."));
  const curves = new Map((report.dependence ?? []).map((one) => [one.factor, one]));
  return section("factors", "Factors", text, !curves.size && el("p", { class: "aside" }, `No line: ${report.influence_reason}.`),
    el("div", { class: "multiples" }, knobs.map((knob) => one(report, knob, list, curves.get(knob.factor), open))));
}

function one(report, knob, list, curve, open) {
  const points = beliefs(report, curve);
  const [low, high] = extent(list.map(({ value }) => value), points.flatMap((point) => [point.value.low, point.value.high]));
  const y = linear(low, high, HEIGHT - 30, 10);
  const x = scale(knob, [...list.map(({ configuration }) => configuration[knob.factor]), ...points.map(({ level }) => level)], LEFT + 10, WIDTH - 20);
  const spread = (at) => ((at * 7) % 5) - 2; // so that equal levels do not hide each other
  return el("figure", { class: "panel" }, el("figcaption", null, bdi(knob.factor), knob.breaks && el("span", { class: "aside" }, ` may break: ${knob.breaks}`)),
    drawing(knob.factor, "Value of trials by its level.", WIDTH, HEIGHT,
      axisLeft(y, ticks(report, low, high, 4), LEFT, WIDTH - 10, (value) => shown(report, value)),
      x.ticks.map(([level, left], at) => words(left, HEIGHT - 12, level, "tick", at && at === x.ticks.length - 1 ? "end" : "middle")),
      band(points, x, y), curveOf(points, x, y),
      reach(list.map((trial, at) => ({ node: mark(trial, x.at(trial.configuration[knob.factor]) + spread(at), y(trial.value)), label: `Trial ${trial.trial}: ${trial.configuration[knob.factor] ?? "default"}, ${shown(report, trial.value)}`, tip: () => tip(report, trial), open: () => open(trial) })))));
}

// What is believed at each level, in values of the objective: changes are from the default's.
function beliefs(report, curve) {
  const base = report.baseline?.value;
  if (gone(base)) return [];
  const of = (one) => (gone(one) ? null : base * (1 + one));
  return (curve?.points ?? []).map(({ level, change }) => ({ level: level ?? undefined, value: { value: of(change.value), low: of(change.low), high: of(change.high) } }));
}

function curveOf(points, x, y) {
  const known = points.filter((point) => !gone(point.value.value));
  return known.length > 1 && svg("path", { d: `M${known.map((point) => `${x.at(point.level)} ${y(point.value.value)}`).join("L")}`, class: "believed" });
}

function band(points, x, y) {
  const known = points.filter((point) => !gone(point.value.low) && !gone(point.value.high));
  if (known.length < 2) return null;
  const above = known.map((point) => `${x.at(point.level)} ${y(point.value.high)}`);
  const below = known.map((point) => `${x.at(point.level)} ${y(point.value.low)}`).reverse();
  return svg("path", { d: `M${[...above, ...below].join("L")}Z`, class: "believed-band" });
}
