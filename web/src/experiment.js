// The page of an experiment: what was planned, what came of it, what to doubt, and its runs.
import { el, missing, replace, section } from "./dom.js";
import { curveSection } from "./experiment-curve.js";
import { effectsSection } from "./experiment-factors.js";
import { gone, p, range, seconds } from "./experiment-format.js";
import { changePlot, treatmentPlot } from "./experiment-intervals.js";
import { layoutSection } from "./experiment-layout.js";
import { matrixSection } from "./experiment-matrix.js";
import { canary, orderSection } from "./experiment-order.js";
import { bytes, count, date, NONE, signedPercent, words } from "./format.js";
import { doubts, figures } from "./summary.js";
import { table } from "./table.js";

export const EXPERIMENT_NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["matrix", "Matrix"], ["comparisons", "Comparisons"], ["curve", "Scaling"], ["layout", "Layouts"], ["factors", "Factors"], ["order", "Run order"], ["trials", "Trials"], ["cost", "Cost"], ["plan", "Plan"]];

const BLOCKS = { toggle: "JVMs in which treatments take turns", duet: "pairs side by side" };
const bdi = (text) => (gone(text) || text === "" ? null : el("bdi", null, String(text)));

export function experimentPage(content) {
  const { report, plots } = content;
  const trials = trialsSection(content);
  return [
    head(content), verdict(content, report), figures(content.figures), doubts(report.doubts),
    matrixSection(plots.matrix, trials.choose), comparisons(report, trials.choose), curveSection(content.curve, content.curve_note), layoutSection(content.layout, content.layout_note),
    effectsSection(report.factors, plots.interactions, plots.matrix.factors),
    orderSection(plots.order, report, trials.open), trials.node, cost(plots.cost, report), plan(content),
  ];
}

export function head({ title, plan: made, report, plots }) {
  const first = plots.order.points[0]?.wall_ns;
  const machine = made.machine ?? {};
  const known = [
    ["Workload", `${made.workload}, scale ${made.scale}`], ["Trials", `${report.done_count} of ${report.trials_count}${report.repeated_count ? `, ${report.repeated_count} repeated` : ""}`],
    ["Order", `${made.kind === "fixed-order" ? "fixed" : `${made.blocks} ${BLOCKS[made.kind] ?? "randomised blocks"}`}, seed ${made.seed}`], ["Estimand", report.estimand], ["Baseline", report.baseline],
    ["Machine", [machine.cpu_model, machine.cpus_count && `${machine.cpus_count} CPUs`].filter(Boolean).join(" · ")],
    ["First trial ended", first && date(first)], ["Profile", made.profile],
  ];
  return el("div", { class: "head" }, el("h1", null, bdi(title)), made.description && el("p", null, bdi(made.description)),
    el("dl", { class: "facts" }, known.filter(([, text]) => text).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, bdi(text))))));
}

export function verdict({ verdict: text }, { doubts: list }) {
  const worst = ["error", "warning", "info"].find((level) => list.some((doubt) => doubt.severity === level));
  return el("div", { class: "verdict", id: "verdict" }, el("p", null, bdi(text)),
    worst ? el("a", { class: `badge ${worst}`, href: "#doubts" }, `${list.length} doubt${list.length > 1 ? "s" : ""}`) : el("span", { class: "badge none" }, "no doubts"));
}

function comparisons(report, choose) {
  const text = "Times of the treatments, and every pair (or each treatment beside the baseline) with its change, 95 % interval and verdict. “Same” means: within the margin; “cannot tell” that more trials are needed.";
  const made = report.comparison;
  return section("comparisons", "Comparisons", text, treatmentPlot(report.treatments, choose),
    made?.pairs.length ? [el("h3", null, report.baseline ? ["Changes beside ", bdi(report.baseline)] : "Changes"), changePlot(made), pairs(made, report.canaries)] : missing(`Not compared: ${report.reason}.`));
}

function pairs(made, canaries) {
  const adjusted = new Map((canaries?.pairs ?? []).map((pair) => [`${pair.a}\n${pair.b}`, pair.change]));
  const held = (pair) => adjusted.get(`${pair.a}\n${pair.b}`);
  const interval = (one) => `${signedPercent(one?.value)}${range(one, signedPercent) ? ` (${range(one, signedPercent)})` : ""}`;
  return table([
    { label: "From", value: (pair) => pair.a, show: (pair) => bdi(pair.a), class: "name" },
    { label: "To", value: (pair) => pair.b, show: (pair) => bdi(pair.b), class: "name" },
    { label: "Change", value: (pair) => pair.change.value, show: (pair) => interval(pair.change), number: true, help: "Relative change of the geometric mean, with its 95 % interval." },
    adjusted.size && { label: "Canaries held equal", value: (pair) => held(pair)?.value, show: (pair) => interval(held(pair)), number: true, help: "The same with what the canaries saw before each trial as covariates." },
    { label: "p", value: (pair) => pair.adjusted_p, show: (pair) => p(pair.adjusted_p), number: true, help: "After Holm, for all pairs." },
    { label: "Verdict", value: (pair) => pair.verdict },
    { label: "Least effect", value: (pair) => pair.detectable, show: (pair) => signedPercent(pair.detectable), number: true, help: "The smallest change that these trials find with a chance of 0.8." },
    { label: "Trials needed", value: (pair) => pair.trials_needed, show: (pair) => count(pair.trials_needed), number: true, help: "Of each treatment, to tell a change of the margin." },
  ].filter(Boolean), made.pairs);
}

// The table of all attempts, its choice of a treatment, and what opens one of them.
export function trialsSection({ plots, report, runs, folder, cut }) {
  const { points } = plots.order;
  const view = el("div");
  const pick = el("select", { id: "trials-pick", on: { change: () => draw() } },
    el("option", { value: "" }, "all"), report.treatments.map((one) => el("option", { value: one.name }, one.name)));
  const canaries = [...new Set(points.flatMap((point) => Object.keys(point.canaries)))];

  function draw() {
    const shown = pick.value ? points.filter((point) => point.treatment === pick.value) : points;
    replace(view, table([
      { label: "Trial", value: (point) => point.number, show: (point) => `${point.number}${point.attempt > 1 ? ` (attempt ${point.attempt})` : ""}`, number: true },
      { label: "Block", value: (point) => point.block, number: true },
      { label: "Treatment", value: (point) => point.treatment, show: (point) => bdi(point.treatment), class: "name" },
      { label: "Ended", value: (point) => point.status, show: (point) => words(point.status) },
      { label: "Time", value: (point) => point.seconds, show: (point) => seconds(point.seconds), number: true },
      { label: "Beside its treatment", value: (point) => point.residual, show: (point) => signedPercent(point.residual), number: true },
      ...canaries.map((name) => ({ label: canary(name), value: (point) => point.canaries[name], show: (point) => signedPercent(point.canaries[name]), number: true, help: "What the canary saw before, over its median." })),
      points.some((point) => point.shape) && { label: "Iterations", value: (point) => point.shape, show: (point) => (point.shape ? `${point.shape}${point.counted_from ? `, from ${point.counted_from + 1}` : ""}` : null), help: "What the series of its iterations looks like, and from which on they count." },
      { label: "Remark", value: (point) => [...point.disturbed, point.reason].filter(Boolean).join("; "), show: (point) => bdi([...point.disturbed, point.reason].filter(Boolean).join("; ")) },
      { label: "Run", value: (point) => point.folder, show: run, class: "mono" },
    ].filter(Boolean), shown, { empty: "No trial has ended." }));
  }

  function run(point) {
    return runs[point.folder] ? el("a", { href: runs[point.folder] }, bdi(point.folder)) : bdi(point.folder);
  }

  function choose(name) {
    pick.value = name;
    draw();
    document.getElementById("trials").scrollIntoView();
    pick.focus({ preventScroll: true });
  }

  draw();
  const without = points.filter((point) => point.status === "finished" && !runs[point.folder]);
  return {
    node: section("trials", "Trials", "Each trial is a run directory below trials/ of the experiment, that show, report and flame open.",
      el("p", { class: "controls" }, el("label", { for: "trials-pick" }, "Treatment "), pick),
      cut && el("p", { class: "note" }, cut),
      without.length > 0 && el("p", { class: "note" }, `${without.length} of ${points.length} have no report yet; it is made by: `, el("code", null, bdi(`pyrometer report ${folder} --runs`))), view),
    choose,
    open: (point) => (runs[point.folder] ? window.location.assign(runs[point.folder]) : choose(point.treatment)),
  };
}

export function cost(made, report) {
  const ends = new Map(report.treatments.map((one) => [one.name, one]));
  const endings = (name) => Object.entries(ends.get(name)?.ends ?? {}).map(([how, times]) => `${times} ${words(how)}`).join(", ");
  return section("cost", "Cost", "What the trials took, launches and the making of tables included.", table([
    { label: "Treatment", value: (one) => one.treatment, show: (one) => bdi(one.treatment), class: "name" },
    { label: "Attempts", value: (one) => one.trials_count, number: true },
    { label: "Each", value: (one) => one.trial_s.value, show: (one) => `${seconds(one.trial_s.value)}${range(one.trial_s, seconds) ? ` (${range(one.trial_s, seconds)})` : ""}`, number: true },
    { label: "Together", value: (one) => one.total_s, show: (one) => seconds(one.total_s), number: true },
    { label: "How trials ended", value: (one) => endings(one.treatment) },
    { label: "Why not finished", value: (one) => ends.get(one.treatment)?.reasons.join("; "), show: (one) => bdi(ends.get(one.treatment)?.reasons.join("; ")) },
  ], made.treatments));
}

export function plan({ plan: made, report }) {
  const value = (one) => (typeof one === "object" && one !== null ? Object.entries(one).map(([name, each]) => `${name} ${each ?? NONE}`).join(", ") : String(one));
  const shown = [
    ["Files", made.files.join(", ")], ["Iterations", `${made.iterations} measured, ${made.warmup} to warm up`], ["Margin", signedPercent(made.margin).replace("+", "± ")],
    ["Longest trial", seconds(made.timeout_s)], ["Split by", made.split.join(", ")], ["Canaries", made.canaries === "none" ? "none" : `before each ${made.canaries}`], ["Guard", value(made.guard)],
    ["Machine", Object.entries(made.machine ?? {}).map(([name, one]) => (name.endsWith("_bytes") ? bytes(one) : `${words(name)}: ${one}`)).join(", ")], ["Pyrometer", made.pyrometer_version],
  ];
  return section("plan", "Plan", "What was declared; the plan itself is experiment.json in the folder.",
    el("dl", { class: "pairs panel" }, shown.filter(([, text]) => text).map(([name, text]) => [el("dt", null, name), el("dd", null, bdi(text))])),
    el("h3", null, "Left out"), table([
      { label: "Treatment", value: (one) => one.name, show: (one) => bdi(one.name), class: "name" }, { label: "Why", value: (one) => one.reason, show: (one) => bdi(one.reason) },
    ], report.left_out, { empty: "Nothing: every combination of the matrix is run." }));
}
