// The trials of an experiment as a table, and what they cost.
import { bdi, el, replace, section } from "../ui/dom.js";
import { seconds, within } from "../ui/estimates.js";
import { signedPercent, words } from "../ui/format.js";
import { table } from "../ui/table.js";
import { hostsInWords, slowest } from "./hosts.js";
import { canary } from "./order.js";

// The table of all attempts with a choice of the treatment: {node, choose(treatment), open(point)}.
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
      { label: "Status", value: (point) => point.status, show: (point) => words(point.status) },
      { label: "Time", value: (point) => point.seconds, show: (point) => seconds(point.seconds), number: true },
      { label: "Deviation", value: (point) => point.residual, show: (point) => signedPercent(point.residual), number: true, help: "From the geometric mean of its treatment." },
      ...canaries.map((name) => ({ label: canary(name), value: (point) => point.canaries[name], show: (point) => signedPercent(point.canaries[name]), number: true, help: "The canary before the trial, relative to its median." })),
      points.some((point) => point.shape) && { label: "Iterations", value: (point) => point.shape, show: (point) => (point.shape ? `${point.shape}${point.counted_from ? `, from ${point.counted_from + 1}` : ""}` : null), help: "Shape of the series of iterations, and the first one that counts." },
      points.some((point) => point.hosts?.length) && { label: "Hosts", value: (point) => slowest(point.hosts), show: (point) => bdi(hostsInWords(point.hosts)), help: "Canaries of the cluster's hosts before the trial's executors began there, each relative to the host's own median: of each host the measure by which it was slowest." },
      { label: "Note", value: (point) => [...point.disturbed, point.reason].filter(Boolean).join("; "), show: (point) => bdi([...point.disturbed, point.reason].filter(Boolean).join("; ")) },
      { label: "Run", value: (point) => point.folder, show: run, class: "mono" },
    ].filter(Boolean), shown, { empty: "No trial has ended yet." }));
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
    node: section("trials", "Trials", "Each trial is a run directory under trials/; pyrometer show, report and flame open it.",
      el("p", { class: "controls" }, el("label", { for: "trials-pick" }, "Treatment "), pick),
      cut && el("p", { class: "note" }, cut),
      without.length > 0 && el("p", { class: "note" }, `${without.length} of ${points.length} have no report yet. To write them: `, el("code", null, bdi(`pyrometer report ${folder} --runs`))), view),
    choose,
    open: (point) => (runs[point.folder] ? window.location.assign(runs[point.folder]) : choose(point.treatment)),
  };
}

export function cost(totals, report) {
  const ends = new Map(report.treatments.map((one) => [one.name, one]));
  const endings = (name) => Object.entries(ends.get(name)?.ends ?? {}).map(([how, times]) => `${times} ${words(how)}`).join(", ");
  return section("cost", "Cost", "Time that the trials took, including launch and ingest.", table([
    { label: "Treatment", value: (one) => one.treatment, show: (one) => bdi(one.treatment), class: "name" },
    { label: "Attempts", value: (one) => one.trials_count, number: true },
    { label: "Per trial", value: (one) => one.trial_s.value, show: (one) => within(one.trial_s, seconds), number: true },
    { label: "Total", value: (one) => one.total_s, show: (one) => seconds(one.total_s), number: true },
    { label: "Status", value: (one) => endings(one.treatment) },
    { label: "Why not finished", value: (one) => ends.get(one.treatment)?.reasons.join("; "), show: (one) => bdi(ends.get(one.treatment)?.reasons.join("; ")) },
  ], totals.treatments));
}
