// Parallel coordinates: each configuration as a line through its levels; the dearer, the paler.
import { missing, section, svg } from "../ui/dom.js";
import { gone } from "../ui/format.js";
import { drawing, line, linear, reach, wide, words } from "../ui/plot.js";
import { tip } from "./trace.js";
import { brief, called, scale, shown } from "./value.js";

const HEIGHT = 320;
const TOP = 46;
const MOST = 14;

// Factors that any trial has set, those that the winner sets first.
export function shownKnobs(report) {
  const winner = Object.keys(report.best?.configuration ?? {});
  const set = new Set(report.trials.flatMap((one) => Object.keys(one.configuration)));
  const known = report.knobs.filter((knob) => set.has(knob.factor));
  return known.sort((a, b) => winner.includes(b.factor) - winner.includes(a.factor)).slice(0, MOST);
}

export function parallel(report, open) {
  const text = "Each line is a full trial through its levels, on the right its value; what a configuration does not set lies at its default. The winner is thick, the baseline dashed; the better, the darker.";
  const knobs = shownKnobs(report);
  const list = report.trials.filter((one) => one.fidelity === "full" && !gone(one.value) && !one.failed);
  if (!knobs.length || list.length < 2) return section("parallel", "Configurations", text, missing("Two trials with a value are needed."));
  const width = wide();
  const columns = linear(0, knobs.length, 90, width - 110);
  const scales = knobs.map((knob) => scale(knob, list.map((one) => one.configuration[knob.factor]), HEIGHT - 24, TOP));
  const values = list.map((one) => one.value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = linear(low, high, HEIGHT - 24, TOP);
  const best = called(report.best?.configuration ?? {});
  const ordered = [...list].sort((a, b) => b.value - a.value);
  const marks = ordered.map((one) => {
    const points = [...scales.map((found, at) => [columns(at), found.at(one.configuration[knobs[at].factor])]), [columns(knobs.length), y(one.value)]];
    const name = called(one.configuration);
    const worth = high > low ? (high - one.value) / (high - low) : 1;
    const kind = name === "baseline" ? "line-baseline" : name === best ? "line-winner" : "line-trial";
    return {
      node: svg("path", { d: `M${points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")}`, class: kind, style: { "stroke-opacity": kind === "line-trial" ? String(0.15 + 0.7 * worth * worth) : "1" } }),
      label: `Trial ${one.trial}: ${name}, ${shown(report, one.value)}`, tip: () => tip(report, one), open: () => open(one),
    };
  });
  return section("parallel", "Configurations", text, drawing("Parallel coordinates", "Levels of each trial, and its value.", width, HEIGHT,
    knobs.map((knob, at) => [line(columns(at), TOP, columns(at), HEIGHT - 24, "axis"), words(columns(at), at % 2 ? 14 : 30, brief(knob.factor), "name", "middle"), scales[at].ticks.map(([level, top]) => words(columns(at) + 5, top + 4, level, "tick"))]),
    line(columns(knobs.length), TOP, columns(knobs.length), HEIGHT - 24, "axis"), words(columns(knobs.length), 30, report.objective, "name", "middle"),
    [low, high].map((value) => words(columns(knobs.length) + 5, y(value) + 4, shown(report, value), "tick")), reach(marks)));
}
