// How much of what may be lost is lost: runs of the job as it is, after each night.
import { el, missing, section, svg } from "../ui/dom.js";
import { gone, significant } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, extent, linear, line, steps, wide, words } from "../ui/plot.js";

const LEFT = 90;
const HEIGHT = 200;

export function risk(report) {
  const text = "Time that all runs together have lost, solid, and may have lost by then, dashed, in runs of the job as it is. Below the line at 0 more time was saved than lost. A step is taken only if its worst case still stays below the dashed line.";
  const runs = report.runs.filter((one) => !gone(one.lost_runs));
  if (!runs.length) return section("risk", "Risk spent", text, missing("Nothing has run yet."));
  const width = wide();
  const last = runs.at(-1).night;
  const [low, high] = extent(runs.flatMap((one) => [one.lost_runs, one.allowed_runs]), [0]);
  const x = linear(0.5, last + 0.5, LEFT, width - 20);
  const y = linear(low, high, HEIGHT - 34, 10);
  const along = (name) => `M${runs.map((one) => `${x(one.night)} ${y(one[name])}`).join("L")}`;
  const most = Math.max(...runs.map((one) => one.lost_runs));
  return section("risk", "Risk spent", text,
    drawing("Risk spent", "Runs lost and runs that may be lost, after each night.", width, HEIGHT,
      axisLeft(y, steps(low, high, 5), LEFT, width - 20, (value) => `${significant(value)} runs`),
      axisBelow(x, steps(1, last, 12).filter((at) => Number.isInteger(at) && at > 0), HEIGHT - 34, HEIGHT - 28, String),
      words(LEFT - 6, HEIGHT - 13, "night", "tick", "end"), line(LEFT, y(0), width - 20, y(0), "zero"),
      svg("path", { d: along("allowed_runs"), class: "allowed" }), svg("path", { d: along("lost_runs"), class: "spent" })),
    el("p", { class: "note" }, `${balance(report)}, in runs of the job as it is. The most that was lost at any time: ${significant(Math.max(0, most))}.`));
}

// What is saved, or lost of what may be.
export function balance({ lost_runs: lost, allowed_runs: allowed }) {
  return lost < 0 ? `Time saved by now: ${significant(-lost)}` : `Time lost by now: ${significant(lost)} of at most ${significant(allowed)}`;
}
