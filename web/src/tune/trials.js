// The trials of a search as a table, each with its run.
import { bdi, el, section } from "../ui/dom.js";
import { seconds } from "../ui/estimates.js";
import { signedPercent, time, words } from "../ui/format.js";
import { table } from "../ui/table.js";
import { called, shown } from "./value.js";

export function trials({ report, runs, folder }) {
  const run = (one) => (runs[one.folder] ? el("a", { href: runs[one.folder] }, bdi(place(one))) : bdi(place(one)));
  const place = (one) => one.folder?.split("/").pop() ?? null;
  const without = report.trials.filter((one) => one.status === "finished" && !runs[one.folder]).length;
  const cheap = report.trials.some((one) => one.fidelity !== "full");
  const node = section("trials", "Trials", "Each trial is a run directory; pyrometer show, report and flame open it.",
    without > 0 && el("p", { class: "note" }, `${without} have no report yet. To write them: `, el("code", null, bdi(`pyrometer report ${folder} --runs`))),
    table([
      { label: "Trial", value: (one) => one.trial, number: true },
      { label: "Block", value: (one) => one.block, number: true },
      { label: "Configuration", value: (one) => called(one.configuration), show: (one) => bdi(called(one.configuration)), class: "name" },
      cheap && { label: "Fidelity", value: (one) => one.fidelity },
      { label: "Status", value: (one) => one.status, show: (one) => words(one.status) },
      { label: report.objective, value: (one) => one.value, show: (one) => `${one.status === "gave up" ? "> " : ""}${shown(report, one.value)}`, number: true },
      { label: "Change", value: (one) => one.change, show: (one) => signedPercent(one.change), number: true, help: "Against the mean of the baseline's trials: one trial, not a confirmation." },
      { label: "Core time", value: (one) => one.cost_core_s, show: (one) => time(one.cost_core_s * 1e9), number: true },
      { label: "Peak memory", value: (one) => one.metrics.peak_memory, show: (one) => (one.metrics.peak_memory ? `${(one.metrics.peak_memory / 2 ** 30).toFixed(2)} GiB` : null), number: true },
      { label: "CPU", value: (one) => one.metrics.core_seconds, show: (one) => (one.metrics.core_seconds ? seconds(one.metrics.core_seconds) : null), number: true, help: "CPU time of all processes in an iteration." },
      { label: "Asked because", value: (one) => one.why, show: (one) => bdi(one.why) },
      { label: "Note", value: (one) => one.failed, show: (one) => bdi([one.failed, ...one.disturbed].filter(Boolean).join("; ")) },
      { label: "Run", value: (one) => one.folder, show: run, class: "mono" },
    ].filter(Boolean), report.trials, { empty: "No trial was asked for yet." }));
  return {
    node,
    open: (one) => (runs[one.folder] ? window.location.assign(runs[one.folder]) : document.getElementById("trials").scrollIntoView()),
  };
}
