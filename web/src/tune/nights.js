// Nights of a recurring job: what each run took, what it was expected to take, and what was decided.
import { el, missing, section, svg } from "../ui/dom.js";
import { date, gone } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, extent, linear, line, reach, SHAPES, steps, wide, words } from "../ui/plot.js";
import { facts } from "../ui/tip.js";
import { called, shown, ticks } from "./value.js";

const LEFT = 90;
const TOP = 34; // room for the marks of decisions
const HEIGHT = 320;
const CROSS = "M-5-5L5 5M5-5L-5 5";

// What a run was, in the words of the page: also the class of its mark.
export function kind(run) {
  if (run.elsewhere) return "elsewhere";
  if (run.void) return "void";
  if (run.given_up) return "censored";
  if (run.failed || gone(run.value)) return "discarded";
  if (!Object.keys(run.configuration).length) return "baseline";
  return run.role === "incumbent" ? "winner" : "finished";
}

export const KINDS = { baseline: "as it is", winner: "with what was found", finished: "as a step", censored: "given up", discarded: "failed", void: "not counted", elsewhere: "on another machine" };
const OUTLINES = { elsewhere: SHAPES[5], baseline: SHAPES[1], winner: SHAPES[0], finished: SHAPES[2], censored: SHAPES[2], discarded: CROSS, void: SHAPES[3] };

export function nights(report, open) {
  const text = "Every scheduled run in its order: squares are the job as it is, circles run with what was found, triangles are steps; open triangles were given up, crosses failed. Open diamonds were ended from outside, or not launched for want of free memory, and open plus signs ran on another machine: neither counts. Bands are the 95 % intervals of the time that a run was expected to take: grey as it is, coloured with what was found. At the top, a triangle that points up is an adoption, one that points down a roll-back.";
  const { runs } = report;
  if (!runs.length) return section("nights", "Nights", text, missing("Nothing has run yet."));
  const width = wide();
  const last = runs.at(-1).night;
  const x = linear(0.5, last + 0.5, LEFT, width - 20);
  const bands = runs.flatMap(({ as_it_is: one, with_incumbent: other }) => [one, other]).filter(Boolean);
  const values = runs.filter((one) => !gone(one.value)).map((one) => one.value);
  // Before much is known, bands are wide: they may be cut off, values not.
  const [low, high] = extent(values.length ? values : bands.map((one) => one.value));
  const y = linear(low, high, HEIGHT - 34, TOP);
  const inside = (value) => Math.max(TOP, Math.min(HEIGHT - 34, y(value)));
  const place = (run) => x(run.night + (run.why.startsWith("control: again") ? 0.25 : 0));
  const marks = runs.map((run) => ({
    node: svg("path", { d: OUTLINES[kind(run)], transform: `translate(${place(run)} ${gone(run.value) ? HEIGHT - 42 : inside(run.value)})`, class: `trial-${kind(run)}` }),
    label: `Night ${run.night}, ${date(run.wall_ns)}, ${called(run.configuration)}: ${KINDS[kind(run)]}, ${shown(report, run.value)}`,
    tip: () => tip(report, run),
    open: () => open(run),
  }));
  const turns = report.decisions.filter(({ what }) => what === "adopted" || what === "rolled back");
  const flags = turns.map((one) => ({
    node: svg("path", { d: SHAPES[one.what === "adopted" ? 2 : 4], transform: `translate(${x(one.night)} 14)`, class: one.what === "adopted" ? "trial-winner" : "trial-discarded" }),
    label: `Night ${one.night}, ${one.what}: ${called(one.configuration)}: ${one.why}`,
    tip: () => facts(`Night ${one.night}: ${one.what}`, [...Object.entries(one.configuration), ["why", one.why]]),
  }));
  return section("nights", "Nights", text,
    drawing("Nights", "What each scheduled run took, with what was expected of it.", width, HEIGHT,
      axisLeft(y, ticks(report, low, high), LEFT, width - 20, (value) => shown(report, value)),
      axisBelow(x, steps(1, last, 12).filter((at) => Number.isInteger(at) && at > 0), HEIGHT - 34, HEIGHT - 28, String),
      words(LEFT - 6, HEIGHT - 13, "night", "tick", "end"),
      band(runs, "as_it_is", x, inside, "as-it-is"), band(runs, "with_incumbent", x, inside, "with-incumbent"),
      turns.map((one) => line(x(one.night), 20, x(one.night), HEIGHT - 34, one.what === "adopted" ? "adopted" : "rolled-back")),
      reach([...marks, ...flags])),
    el("p", { class: "note" }, summary(runs)));
}

function summary(runs) {
  const counts = Object.keys(KINDS).map((name) => [KINDS[name], runs.filter((run) => kind(run) === name).length]);
  return counts.filter(([, count]) => count).map(([name, count]) => `${count} ${name}`).join(" · ");
}

function tip(report, run) {
  const range = (one) => (one ? `${shown(report, one.value)} (${shown(report, one.low)} to ${shown(report, one.high)})` : null);
  return facts(`Night ${run.night}, trial ${run.trial}`, [
    ["began", date(run.wall_ns)], ...Object.entries(run.configuration), [report.objective, shown(report, run.value)], ["it was", KINDS[kind(run)]], ["why", run.why],
    ["expected as it is", range(run.as_it_is)], ["expected with what was found", range(run.with_incumbent)], run.failed && ["why it failed", run.failed],
  ].filter(Boolean));
}

// Stretches of a band: it ends where nothing was expected, as after a roll-back.
export function stretches(runs, name) {
  const found = [];
  let open = null;
  for (const run of runs) {
    if (run[name] && open) open.push(run);
    else if (run[name]) found.push(open = [run]);
    else open = null;
  }
  return found;
}

function band(runs, name, x, y, style) {
  return stretches(runs, name).map((list) => {
    const along = (end) => list.map((run) => `${x(run.night)} ${y(run[name][end])}`);
    return [
      svg("path", { d: `M${[...along("high"), ...along("low").reverse()].join("L")}Z`, class: `${style}-band` }),
      svg("path", { d: `M${along("value").join("L")}`, class: style }),
    ];
  });
}
