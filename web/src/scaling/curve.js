// Scaling curve: speed-up with the ideal line and the fitted laws, and how the slots spent their time.
import { cycled, rowColour } from "../ui/colours.js";
import { bdi, el, missing, section, svg } from "../ui/dom.js";
import { range, seconds } from "../ui/estimates.js";
import { gone, significant } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, linear, line, reach, SHAPES, steps, words } from "../ui/plot.js";
import { facts } from "../ui/tip.js";

const [WIDTH, TALL, LEFT, KEY] = [640, 320, 64, 150];
const DASHES = ["6 3", "2 3", "8 3 2 3", "12 3", "1 2"];

export function curveSection(curve, note) {
  if (!curve) return null;
  const text = `How ${curve.factor} changes the time of an iteration, and how the slots spent their time. Bars are 95 % intervals.`;
  return section("curve", "Scaling", text, note && el("p", { class: "note" }, bdi(note)),
    curve.fit ? [el("ul", null, curve.fit.verdict.map((sentence) => el("li", null, sentence))), speedupPlot(curve)] : missing(curve.reason),
    slotsPlot(curve));
}

// Speed-up of each level over the smallest one, by each fitted law.
export function fittedSpeedups(fit) {
  const [first] = fit.levels;
  const at = new Map(fit.levels.map((level) => [level.p, level]));
  return fit.laws.filter((law) => law.residuals.length).map((law) => ({
    name: law.name,
    // A law's time of a level is the measured one over 1 + residual.
    points: law.residuals.map(({ p, ratio }) => [p, (first.value.value / at.get(p).value.value) * (1 + ratio)]),
  }));
}

function speedupPlot({ fit, factor }) {
  const most = Math.max(...fit.levels.map((level) => level.p));
  const ideal = most / fit.levels[0].p;
  const laws = fittedSpeedups(fit);
  const top = Math.max(ideal, ...fit.levels.map(({ speedup }) => speedup.high ?? speedup.value)) * 1.05;
  const x = linear(0, most, LEFT, WIDTH - KEY);
  const y = linear(0, top, TALL - 34, 12);
  const knee = fit.knee.at;
  return drawing("Speed-up", "Measured levels with their intervals, the ideal line, and the fitted laws.", WIDTH, TALL,
    !gone(knee.value) && svg("rect", { x: x(knee.low), y: 12, width: x(knee.high) - x(knee.low), height: TALL - 46, class: "level-band" }),
    axisLeft(y, steps(0, top, 5), LEFT - 6, WIDTH - KEY, significant), axisBelow(x, steps(0, most, 6), 12, TALL - 34, significant),
    words((LEFT + WIDTH - KEY) / 2, TALL - 2, factor, "tick", "middle"),
    line(x(fit.levels[0].p), y(1), x(most), y(ideal), "zero"), words(x(most) + 6, y(ideal) + 4, "ideal", "tick"),
    laws.map(({ name, points }, at) => [
      // Its path, and a sample of the line before its name.
      svg("path", { d: `${pathOf(points.map(([p, value]) => [x(p), y(value)]))}M${WIDTH - KEY + 42} ${46 + at * 18}h24`, class: "level", style: { stroke: cycled(at) }, "stroke-dasharray": DASHES[at % DASHES.length] }),
      words(WIDTH - KEY + 72, 50 + at * 18, name, "tick"),
    ]),
    reach(fit.levels.map((level) => ({
      node: svg("g", null,
        !gone(level.speedup.low) && line(x(level.p), y(level.speedup.low), x(level.p), y(level.speedup.high), "whisker thin"),
        svg("path", { d: SHAPES[0], transform: `translate(${x(level.p)} ${y(level.speedup.value)})`, class: "middle" })),
      label: `${factor} ${level.p}: speed-up ${significant(level.speedup.value)}, 95 % ${range(level.speedup, significant) ?? "unknown"}`,
      tip: () => facts(`${factor} = ${level.p}`, [["time", seconds(level.value.value)], ["speed-up", significant(level.speedup.value)], ["95 %", range(level.speedup, significant)], ["efficiency", significant(level.efficiency.value)]]),
    }))));
}

// Slots × time by row of the ledger, stacked, from bottom to top at each level.
export function stacked(levels) {
  const rows = [...new Set(levels.flatMap((level) => Object.keys(level.ledger_s)))];
  const below = levels.map(() => 0);
  return rows.map((row) => ({
    row,
    spans: levels.map((level, at) => {
      const from = below[at];
      below[at] += Math.max(0, level.ledger_s[row]?.value ?? 0);
      return [from, below[at]];
    }),
  }));
}

function slotsPlot({ levels, factor }) {
  const known = levels.filter((level) => Object.keys(level.ledger_s).length);
  const layers = stacked(known);
  if (!layers.length) return missing("No ledger: the trials have neither task spans nor an event log.");
  const top = Math.max(...layers.at(-1).spans.map(([, end]) => end)) * 1.05;
  const tall = Math.max(TALL, 60 + layers.length * 16);
  const right = WIDTH - KEY;
  const x = linear(known[0].level, known.at(-1).level, LEFT, right);
  const y = linear(0, top, tall - 34, 12);
  return el("div", null, el("h3", null, "Slot time"),
    drawing("Slot time", "Slots × time of an iteration at each level, by row of the ledger: a flat top is perfect scaling, growth is lost efficiency.", WIDTH, tall,
      axisLeft(y, steps(0, top, 5), LEFT - 6, right, seconds), axisBelow(x, known.map(({ level }) => level), 12, tall - 34, significant),
      words((LEFT + right) / 2, tall - 2, factor, "tick", "middle"),
      reach(layers.map(({ row, spans }, at) => ({
        node: svg("g", null,
          svg("path", { d: `${pathOf(spans.map(([from], i) => [x(known[i].level), y(from)]))}${pathOf(spans.map(([, end], i) => [x(known[i].level), y(end)]).reverse(), "L")}Z`, style: { fill: rowColour(row) } }),
          svg("rect", { x: right + 10, y: tall - 50 - at * 16, width: 10, height: 10, style: { fill: rowColour(row) } }),
          words(right + 24, tall - 41 - at * 16, row, "tick")),
        label: `${row}: ${known.map((level) => `${seconds(level.ledger_s[row]?.value ?? 0)} at ${level.name}`).join(", ")}`,
        tip: () => facts(row, known.map((level) => [`${factor} = ${level.name}`, `${seconds(level.ledger_s[row]?.value ?? 0)}${level.lost_s[row] ? ` (${level.lost_s[row] > 0 ? "+" : "−"}${seconds(Math.abs(level.lost_s[row]))})` : ""}`])),
      })))));
}

const pathOf = (points, start = "M") => points.map(([left, top], at) => `${at ? "L" : start}${left.toFixed(1)} ${top.toFixed(1)}`).join("");
