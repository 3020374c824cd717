// What was known before any trial, what was discarded, and why the winner is faster.
import { bdi, el, missing, section } from "../ui/dom.js";
import { range, seconds, within } from "../ui/estimates.js";
import { gone, percent, signedPercent } from "../ui/format.js";
import { intervalPlot } from "../ui/intervals.js";
import { table } from "../ui/table.js";
import { notVaried } from "./not-varied.js";
import { called } from "./value.js";

const MOST_CAUSES = 12;

export function before(report) {
  const text = "Findings of the first run of the job whose remedy is a level: what could be recommended without a single further run, and whether a trial had it.";
  const others = report.similar.map((one) => el("p", { class: "note" }, bdi(`Known from ${one.job} (${one.of}): ${one.trials} trials, distance ${one.distance.toFixed(2)}${one.differs.length ? `; differs in ${one.differs.join(", ")}` : ""}`)));
  if (!report.before.length) return section("before", "Before any trial", text, missing(report.before_reason), others);
  return section("before", "Before any trial", text, others, table([
    { label: "Change", value: (one) => called(one.levels), show: (one) => bdi(called(one.levels)), class: "name" },
    { label: "Predicted saving", value: (one) => one.saving_ratio.value, show: (one) => within(one.saving_ratio, percent), number: true },
    { label: "Finding", value: (one) => one.title, show: (one) => bdi(`${one.title}: ${one.text}`) },
    { label: "Tried in trial", value: (one) => one.trials.join(", "), show: (one) => one.trials.join(", ") || null },
  ], report.before));
}

const hundredths = (value) => value.toFixed(2);

export function standIns(report) {
  const text = "Cheaper runs that stood for the job while it was searched: what they took of a run, and how far they ranked configurations as the job itself does (Spearman's correlation of those that ran at both). One that misleads is dropped; the confirmation has nothing of them.";
  return section("stand-ins", "Stand-ins", text, table([
    { label: "Stand-in", value: (one) => one.name, show: (one) => bdi(`${one.name}: ${one.summary}`), class: "name" },
    { label: "Of a run", value: (one) => one.share, show: (one) => (gone(one.share) ? null : percent(one.share)), number: true },
    { label: "Rank correlation", value: (one) => one.correlation.value, show: (one) => within(one.correlation, hundredths), number: true },
    { label: "Ran at both", value: (one) => one.correlation.n, number: true },
    { label: "Trials", value: (one) => one.trials, number: true },
    { label: "Not used", value: (one) => one.left_out, show: (one) => (one.left_out ? bdi(one.left_out) : null) },
  ], report.stand_ins, { empty: "None was planned." }), screened(report));
}

function screened({ screened: list = [] }) {
  if (!list.length) return null;
  return [el("h3", null, "Screening"), el("p", { class: "note" }, "What one level of each factor did at a stand-in, averaged over the levels of the others. A dropped factor stays at its default."), table([
    { label: "Factor", value: (one) => one.factor, show: (one) => bdi(`${one.factor}=${one.level}`), class: "name" },
    { label: "Effect", value: (one) => one.effect.value, show: (one) => within(one.effect, signedPercent), number: true },
    { label: "Dropped", value: (one) => one.dropped, show: (one) => (one.dropped ? "yes" : null) },
  ], list)];
}

export function discarded(report) {
  const text = "Configurations that count for nothing, and why: they failed, changed results, or broke a condition.";
  return section("discarded", "Discarded", text, listed(report.discarded), notLaunched(report), notVaried(report.unapplied));
}

function listed(list) {
  return table([
    { label: "Configuration", value: (one) => called(one.configuration), show: (one) => bdi(called(one.configuration)), class: "name" },
    { label: "Why", value: (one) => one.reason, show: (one) => bdi(one.reason) },
    { label: "Trials", value: (one) => one.trials[0], show: (one) => one.trials.join(", "), number: true },
  ], list, { empty: "None." });
}

function notLaunched({ not_launched: list = [] }) {
  if (!list.length) return null;
  return [el("h3", null, "Not launched"), el("p", { class: "note" }, "Configurations of which nothing is known: they would not have fitted, or others had the memory that they need."), listed(list)];
}

export function why(report, runs) {
  const text = "Runs of the confirmation compared: where the time of an iteration went, winner less baseline, by cause along the critical path. The causes add up to the change.";
  const found = report.why;
  const title = report.confirmation?.verdict.outcome === "confirmed" ? "Why it is faster" : "Where the times differ";
  if (!found || found.reason) return section("why", title, text, missing(found ? `Not known: ${found.reason}.` : "Nothing was confirmed."));
  const rows = found.causes.slice(0, MOST_CAUSES).map((one) => ({ name: one.what, estimate: { value: one.seconds, low: one.low, high: one.high, n: null }, remark: "", pairs: [["share of the change", gone(one.share) ? null : percent(one.share)], ["what happened", one.sentence], ["95 %", range(one, signed)]] }));
  return section("why", title, text,
    el("p", { class: "summary" }, `An iteration took ${seconds(found.a_s)}, and takes ${seconds(found.b_s)}.`), found.answer.map((sentence) => el("p", null, bdi(sentence))),
    rows.length ? intervalPlot(title, "Seconds by cause, winner less baseline.", rows, { show: signed, from: 0, bars: true }) : null,
    found.cannot_tell.length > 0 && el("p", { class: "aside" }, found.cannot_tell.join("; ")),
    el("p", { class: "note" }, "Compared: ", places(found.baseline_runs, runs), " with ", places(found.winner_runs, runs)));
}

const signed = (value) => (value > 0 ? `+${seconds(value)}` : seconds(value));

const places = (list, runs) => list.map((place, at) => [at > 0 && ", ", runs[place] ? el("a", { href: runs[place] }, bdi(place)) : bdi(place)]);
