// The effect of each factor, and whether factors interact.
import { el, missing, section, svg } from "../ui/dom.js";
import { cycled } from "../ui/colours.js";
import { p, pIs, range, seconds } from "../ui/estimates.js";
import { gone, NONE, percent, signedPercent } from "../ui/format.js";
import { axisLeft, drawing, extent, linear, line, reach, SHAPES, steps, words } from "../ui/plot.js";
import { facts } from "../ui/tip.js";

const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 3", "1 2"];

export function effectsSection(factorial, interactions, factors) {
  const text = "Each line is a level of one factor over the levels of another: parallel lines mean that the two factors do not interact. Bars are 95 % intervals of the geometric mean.";
  if (!interactions.length) return section("factors", "Factors", text, missing(factorial?.reason ?? "Fewer than two factors vary."));
  return section("factors", "Factors", text, effects(factorial),
    el("div", { class: "grids" }, interactions.map((one) => interactionPlot(one, factors))));
}

function effects(factorial) {
  if (!factorial?.effects?.length) return missing(factorial?.reason);
  return [el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, ["Factor", "p (Holm)", "Share of variance", "Change between levels, averaged over other factors"].map((name, at) => el("th", { scope: "col", class: at === 1 || at === 2 ? "n" : null }, name)))),
    el("tbody", null, factorial.effects.map((one) => el("tr", null,
      el("th", { scope: "row" }, el("bdi", null, one.factors.join(" and ")), one.levels.length ? null : " (interaction)"),
      el("td", { class: "n" }, p(one.adjusted_p)), el("td", { class: "n" }, percent(one.share)),
      el("td", null, one.levels.map((level) => el("p", null, el("bdi", null, `${level.a} → ${level.b}`), ` ${signedPercent(level.change.value)} (${range(level.change, signedPercent) ?? NONE})`)))))))),
    factorial.reason && el("p", { class: "note" }, factorial.reason)];
}

function interactionPlot({ factors: [a, b], points, adjusted_p }, factors) {
  const across = factors[a].filter((level) => points.some((point) => point.a === level));
  const lines = factors[b].filter((level) => points.some((point) => point.b === level));
  const [low, high] = extent(points.flatMap(({ time: one }) => [one.value, one.low, one.high]));
  const [width, tall] = [520, 260];
  const x = (level) => 70 + ((across.indexOf(level) + 0.5) / across.length) * (width - 200);
  const y = linear(low, high, tall - 34, 12);
  const shift = (at) => (at - (lines.length - 1) / 2) * 5;
  const title = `${a} and ${b}`;
  const marks = [];
  const drawn = lines.map((level, at) => {
    const reached = across.map((name) => points.find((point) => point.a === name && point.b === level)).filter(Boolean);
    const place = (point) => [x(point.a) + shift(at), y(point.time.value)];
    for (const point of reached) {
      const [left, top] = place(point);
      marks.push({
        node: svg("g", null,
          !gone(point.time.low) && !gone(point.time.high) && line(left, y(point.time.low), left, y(point.time.high), "whisker thin"),
          svg("path", { d: SHAPES[at % SHAPES.length], transform: `translate(${left} ${top})`, style: { fill: cycled(at) } })),
        label: `${a} = ${point.a}, ${b} = ${point.b}: ${seconds(point.time.value)}, 95 % ${range(point.time, seconds) ?? "not known"}`,
        tip: () => facts(`${a} = ${point.a}, ${b} = ${point.b}`, [["geometric mean", seconds(point.time.value)], ["95 %", range(point.time, seconds)], ["trials", point.time.n]]),
      });
    }
    const path = reached.map((point, index) => `${index ? "L" : "M"}${place(point).join(" ")}`).join("");
    return svg("path", { d: path, class: "level", style: { stroke: cycled(at) }, "stroke-dasharray": DASHES[at % DASHES.length] });
  });
  return el("div", { class: "panel" },
    el("h3", null, el("bdi", null, title), el("span", { class: "aside" }, gone(adjusted_p) ? "not tested" : `interaction: ${pIs(adjusted_p)}`)),
    drawing(title, `Time over the levels of ${a}, a line for each level of ${b}.`, width, tall,
      axisLeft(y, steps(low, high, 5), 64, width - 124, seconds),
      across.map((level) => words(x(level), tall - 14, level, "tick", "middle")),
      lines.map((level, at) => [
        svg("path", { d: SHAPES[at % SHAPES.length], transform: `translate(${width - 112} ${22 + at * 18})`, style: { fill: cycled(at) } }),
        words(width - 102, 26 + at * 18, level, "tick")]),
      drawn, reach(marks)));
}
