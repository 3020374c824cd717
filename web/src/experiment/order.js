// Attempts in the order of time, with the canary measurements before each.
import { el, missing, section, svg } from "../ui/dom.js";
import { pIs, range, seconds } from "../ui/estimates.js";
import { gone, percent, signedPercent, significant, words as plain } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, extent, linear, line, reach, SHAPES, steps, wide, words } from "../ui/plot.js";
import { facts, help } from "../ui/tip.js";

const STRIP = 46;

// How much adjusting for the canaries narrows the log ratio of two trials of a block.
function sd({ log_ratio_sd: without, adjusted_log_ratio_sd: held }) {
  if (gone(without?.value) || gone(held?.value)) return "";
  return ` (standard deviation of a log ratio ${significant(without.value, 2)}, ${significant(held.value, 2)} adjusted for them)`;
}

export function orderSection(order, report, open) {
  const text = "Every attempt in the order of time, relative to the geometric mean of its treatment; bands are blocks. Below: canary measurements just before each trial, relative to their median. A trend, or canaries that move with the times, mean that the machine changed during the experiment.";
  const points = order.points;
  if (!points.length) return section("order", "Run order", text, missing("No trial has ended yet."));
  const tested = report.comparison?.order;
  const found = [
    !gone(tested?.drift_p) && `drift: ${pIs(tested.drift_p)} (Mann–Kendall)`,
    !gone(order.trend.value) && `from the first trial to the last ${signedPercent(order.trend.value)} (${range(order.trend, signedPercent) ?? "interval unknown"})`,
    !gone(tested?.autocorrelation) && `autocorrelation ${significant(tested.autocorrelation, 2)}`,
    report.canaries && (gone(report.canaries.variance_ratio) ? `canaries: ${report.canaries.reason}` : `canaries explain ${percent(Math.max(0, 1 - report.canaries.variance_ratio))} of the variance within blocks${sd(report.canaries)}`),
    !gone(report.carry_over_p) && `carry-over from the treatment before: ${pIs(report.carry_over_p)}`,
  ].filter(Boolean);
  return section("order", "Run order", text, found.length > 0 && el("p", { class: "quality" }, found.join("; "), help("Times that rise or fall with the order come from the machine, not from a treatment. Blocks keep most of that out of the comparison.")), orderPlot(points, order.trend, open));
}

function orderPlot(points, trend, open) {
  const width = wide();
  const names = [...new Set(points.flatMap((point) => Object.keys(point.canaries)))];
  const main = 220;
  const height = main + names.length * STRIP + 26;
  const x = linear(-0.5, points.length - 0.5, 90, width - 20);
  const [low, high] = extent(points.map((point) => point.residual), [0]);
  const y = linear(low, high, main - 8, 10);
  const marks = points.map((point, at) => ({
    node: mark(point, x(at), gone(point.residual) ? main - 12 : y(point.residual)),
    label: `Trial ${point.number}, block ${point.block}, ${point.treatment}: ${point.status}, ${seconds(point.seconds)}, ${signedPercent(point.residual)}`,
    tip: () => facts(`Trial ${point.number}: ${point.treatment}`, [
      ["block", point.block], ["status", plain(point.status)], ["time", seconds(point.seconds)], ["deviation from its treatment", signedPercent(point.residual)],
      ...names.map((name) => [canary(name), signedPercent(point.canaries[name])]),
      point.disturbed.length > 0 && ["disturbed", point.disturbed.join("; ")], point.reason && ["why", point.reason],
    ]),
    open: () => open(point),
  }));
  const slope = gone(trend.value) ? null : Math.log1p(trend.value) / 2;
  const fitted = points.map((point, at) => [point, at]).filter(([point]) => !gone(point.residual)).map(([, at]) => at);
  return drawing("Run order", "Deviation of all trials from the mean of their treatment, in the order of time.", width, height,
    blocks(points, x, height - 22),
    axisLeft(y, steps(low, high, 5), 90, width - 20, signedPercent), line(90, y(0), width - 20, y(0), "zero"),
    slope !== null && line(x(fitted[0]), y(Math.expm1(-slope)), x(fitted.at(-1)), y(Math.expm1(slope)), "trend"),
    names.map((name, index) => strip(points, name, x, main + index * STRIP, width)),
    axisBelow(x, steps(0, points.length - 1, 10).filter(Number.isInteger), height - 24, height - 20, (at) => String(points[at]?.number ?? "")),
    reach(marks));
}

function mark(point, left, top) {
  const kind = point.disturbed.length ? "disturbed" : point.status === "finished" ? "finished" : "censored";
  return svg("path", { d: kind === "censored" ? "M-5-5L5 5M5-5L-5 5" : SHAPES[kind === "disturbed" ? 3 : 0], transform: `translate(${left} ${top})`, class: kind });
}

function blocks(points, x, bottom) {
  const found = [];
  points.forEach((point, at) => {
    if (found.at(-1)?.block === point.block) found.at(-1).to = at;
    else found.push({ block: point.block, from: at, to: at });
  });
  return found.filter((_, at) => at % 2).map(({ from, to }) => svg("rect", { x: x(from - 0.5), y: 4, width: x(to + 0.5) - x(from - 0.5), height: bottom - 4, class: "block" }));
}

const CANARIES = { alu_ns: "arithmetic", latency_ns: "memory latency", copy_bytes_per_s: "memory bandwidth" };
export const canary = (name) => CANARIES[name] ?? plain(name);

function strip(points, name, x, top, width) {
  const values = points.map((point) => point.canaries[name]);
  const [low, high] = extent(values, [0]);
  const y = linear(low, high, top + STRIP - 6, top + 6);
  const path = points.map((_, at) => at).filter((at) => !gone(values[at])).map((at, index) => `${index ? "L" : "M"}${x(at)} ${y(values[at])}`).join("");
  return [
    line(90, y(0), width - 20, y(0), "grid"), words(84, top + STRIP / 2 - 2, canary(name), "tick", "end"),
    words(84, top + STRIP / 2 + 11, `± ${percent(Math.max(...values.filter((value) => !gone(value)).map(Math.abs)))}`, "tick", "end"),
    svg("path", { d: path, class: "canary" }),
  ];
}
