// The confirmation: what fresh blocks say, block by block.
import { bdi, el, missing, section, svg } from "../ui/dom.js";
import { within } from "../ui/estimates.js";
import { gone, percent, signedPercent, significant } from "../ui/format.js";
import { axisLeft, drawing, extent, linear, line, reach, SHAPES, words } from "../ui/plot.js";
import { facts } from "../ui/tip.js";
import { shown, ticks } from "./value.js";

const LEFT = 90;
const HEIGHT = 220;
const EACH = 64;

export function confirmation(report, runs) {
  const text = "Winner against baseline in fresh randomised blocks, none of which chose the winner: no winner's curse is in them. Squares are the baseline, circles the winner; a line joins a block, and a mark leads to the report of its run.";
  const found = [report.confirmation, ...report.elsewhere].filter(Boolean);
  if (!found.length) return section("confirmation", "Confirmation", text, missing("Nothing was confirmed."));
  return section("confirmation", "Confirmation", text, found.map((one) => [
    el("h3", null, `Scale ${one.scale}`), el("p", { class: "summary" }, bdi(one.told)),
    one.failures.length > 0 && el("ul", null, one.failures.map((why) => el("li", null, bdi(why)))),
    one.pairs.length > 0 && pairs(report, one, runs), stability(one),
  ]), report.elsewhere_reason && el("p", { class: "aside" }, bdi(report.elsewhere_reason)));
}

function pairs(report, { pairs: list, runs: places, verdict }, runs) {
  const width = LEFT + EACH * list.length + 30;
  const [low, high] = extent(list.flat());
  const y = linear(low, high, HEIGHT - 30, 10);
  const x = (at, side) => LEFT + EACH * (at + 0.5) + (side ? 10 : -10);
  const marks = list.flatMap((pair, at) => pair.map((value, side) => ({
    node: svg("path", { d: SHAPES[side ? 0 : 1], transform: `translate(${x(at, side)} ${y(value)})`, class: side ? "trial-winner" : "trial-baseline" }),
    label: `Block ${at + 1}, ${side ? "winner" : "baseline"}: ${shown(report, value)}`,
    tip: () => facts(`Block ${at + 1}`, [["baseline", shown(report, pair[0])], ["winner", shown(report, pair[1])], ["change", signedPercent(pair[1] / pair[0] - 1)]]),
    open: opened(runs[places?.[at]?.[side]]),
  })));
  return drawing("Confirmation", `Baseline and winner in each of ${verdict.change.n} blocks.`, width, HEIGHT,
    axisLeft(y, ticks(report, low, high), LEFT, width - 20, (value) => shown(report, value)),
    list.map((pair, at) => [line(x(at, 0), y(pair[0]), x(at, 1), y(pair[1]), "joined"), words(LEFT + EACH * (at + 0.5), HEIGHT - 10, `block ${at + 1}`, "tick", "middle")]), reach(marks));
}

// What a mark does whose run has a report.
const opened = (link) => (link ? () => window.location.assign(link) : undefined);

function stability({ verdict: one }) {
  if (gone(one.baseline_spread.value)) return null;
  const ratio = gone(one.spread_ratio.value) ? "" : `, ${within(one.spread_ratio, (value) => significant(value, 2))} times as much`;
  return el("p", { class: "aside" }, `Spread from run to run: baseline ${within(one.baseline_spread, percent)}, winner ${within(one.incumbent_spread, percent)}${ratio}. Margin ${percent(one.margin)}; verdict number ${one.looks} of these trials.`);
}
