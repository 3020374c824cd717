// Fronts: the objective against time, core time or memory, by configuration.
import { el, missing, section, svg } from "../ui/dom.js";
import { gone, unit } from "../ui/format.js";
import { within } from "../ui/estimates.js";
import { axisBelow, axisLeft, drawing, extent, linear, reach, SHAPES, steps } from "../ui/plot.js";
import { facts } from "../ui/tip.js";
import { called, shown, ticks } from "./value.js";

const WIDTH = 520;
const HEIGHT = 260;
const LEFT = 90;
const NAMES = { elapsed: "time of an iteration", core_seconds: "CPU time of an iteration", peak_memory: "peak memory" };

export function fronts(report) {
  const text = "Each mark is a configuration, its trials' mean; those on the front (filled) are beaten by none in both. The line leads along the front.";
  if (!report.fronts.length) return section("fronts", "Fronts", text, missing("No second metric is known of two configurations."));
  return section("fronts", "Fronts", text, el("div", { class: "multiples" }, report.fronts.map((one) => plot(report, one))));
}

function plot(report, { metric, points }) {
  const show = (value) => (metric === "peak_memory" ? unit(value, "bytes") : unit(value * 1e9, "ns"));
  const [left, right] = extent(points.map((one) => one.value.value));
  const [low, high] = extent(points.map((one) => one.other.value));
  const x = linear(left, right, LEFT, WIDTH - 20);
  const y = linear(low, high, HEIGHT - 34, 10);
  const front = points.filter((one) => one.on_front).sort((a, b) => a.value.value - b.value.value);
  const marks = points.filter((one) => !gone(one.value.value) && !gone(one.other.value)).map((one) => {
    const name = called(one.configuration);
    return {
      node: svg("path", { d: SHAPES[name === "baseline" ? 1 : 0], transform: `translate(${x(one.value.value)} ${y(one.other.value)})`, class: one.on_front ? "trial-winner" : "trial-finished faint" }),
      label: `${name}: ${shown(report, one.value.value)}, ${show(one.other.value)}${one.on_front ? ", on the front" : ""}`,
      tip: () => facts(name, [[report.objective, within(one.value, (value) => shown(report, value))], [NAMES[metric], within(one.other, show)], ["on the front", one.on_front ? (one.sure ? "yes, surely" : "yes, not surely") : "no"]]),
    };
  });
  return el("figure", { class: "panel" }, el("figcaption", null, `${report.objective} against ${NAMES[metric]}`),
    drawing("Front", `${report.objective} against ${NAMES[metric]} by configuration.`, WIDTH, HEIGHT,
      axisLeft(y, steps(low, high, 5), LEFT, WIDTH - 20, show), axisBelow(x, ticks(report, left, right), HEIGHT - 34, HEIGHT - 28, (value) => shown(report, value)),
      front.length > 1 && svg("path", { d: `M${front.map((one) => `${x(one.value.value)} ${y(one.other.value)}`).join("L")}`, class: "best-so-far" }), reach(marks)));
}
