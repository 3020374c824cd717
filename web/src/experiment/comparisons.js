// Times of the treatments, and how they differ.
import { bdi, el, missing, section } from "../ui/dom.js";
import { p, within } from "../ui/estimates.js";
import { count, signedPercent } from "../ui/format.js";
import { changePlot, treatmentPlot } from "../ui/intervals.js";
import { table } from "../ui/table.js";

export function comparisons(report, choose) {
  const text = "Times of the treatments, then the change between every pair (or from the baseline), with its 95 % interval and verdict. “Same” means within the margin, “cannot tell” that more trials are needed.";
  const { comparison } = report;
  return section("comparisons", "Comparisons", text, treatmentPlot(report.treatments, choose),
    comparison?.pairs.length ? [el("h3", null, report.baseline ? ["Changes from ", bdi(report.baseline)] : "Changes"), changePlot(comparison), pairs(comparison, report.canaries)] : missing(`Not compared: ${report.reason}.`));
}

function pairs(comparison, canaries) {
  const adjusted = new Map((canaries?.pairs ?? []).map((pair) => [`${pair.a}\n${pair.b}`, pair.change]));
  const adjustedChange = (pair) => adjusted.get(`${pair.a}\n${pair.b}`);
  return table([
    { label: "From", value: (pair) => pair.a, show: (pair) => bdi(pair.a), class: "name" },
    { label: "To", value: (pair) => pair.b, show: (pair) => bdi(pair.b), class: "name" },
    { label: "Change", value: (pair) => pair.change.value, show: (pair) => within(pair.change, signedPercent), number: true, help: "Relative change of the geometric mean, with its 95 % interval." },
    adjusted.size && { label: "Adjusted for canaries", value: (pair) => adjustedChange(pair)?.value, show: (pair) => within(adjustedChange(pair), signedPercent), number: true, help: "The same, with the canary measurements before each trial as covariates." },
    { label: "p", value: (pair) => pair.adjusted_p, show: (pair) => p(pair.adjusted_p), number: true, help: "Adjusted for all pairs (Holm)." },
    { label: "Verdict", value: (pair) => pair.verdict },
    { label: "Detectable", value: (pair) => pair.detectable, show: (pair) => signedPercent(pair.detectable), number: true, help: "The smallest change that so many trials detect with a power of 80 %." },
    { label: "Trials needed", value: (pair) => pair.trials_needed, show: (pair) => count(pair.trials_needed), number: true, help: "Per treatment, to detect a change as large as the margin." },
  ].filter(Boolean), comparison.pairs);
}
