// Runs of a recurring job as a table, the newest first, each with its run directory.
import { bdi, el, section } from "../ui/dom.js";
import { date, gone, signedPercent, significant } from "../ui/format.js";
import { table } from "../ui/table.js";
import { kind, KINDS } from "./nights.js";
import { called, shown } from "./value.js";

export function scheduled({ report, runs, folder }) {
  const place = (one) => one.folder?.split("/").pop() ?? null;
  const run = (one) => (runs[one.folder] ? el("a", { href: runs[one.folder] }, bdi(place(one))) : bdi(place(one)));
  const change = (one) => (one.as_it_is && !gone(one.value) && !one.given_up && !one.elsewhere ? one.value / one.as_it_is.value - 1 : null);
  const without = report.runs.filter((one) => !gone(one.value) && !one.given_up && !runs[one.folder]).length;
  const node = section("runs", "Runs", "Each run is a run directory; those of past nights may be removed.",
    without > 0 && el("p", { class: "note" }, `${without} have no report. To write those that are still there: `, el("code", null, bdi(`pyrometer report ${folder} --runs`))),
    table([
      { label: "Night", value: (one) => one.night, number: true },
      { label: "Began", value: (one) => one.wall_ns, show: (one) => date(one.wall_ns).slice(0, 16), number: true, help: "UTC" },
      { label: "Configuration", value: (one) => called(one.configuration), show: (one) => bdi(called(one.configuration)), class: "name" },
      { label: "It was", value: (one) => KINDS[kind(one)] },
      { label: report.objective, value: (one) => one.value, show: (one) => `${one.given_up ? "> " : ""}${shown(report, one.value)}`, number: true },
      { label: "To the baseline", value: change, show: (one) => (gone(change(one)) ? null : signedPercent(change(one))), number: true, help: "To what the job as it is was expected to take that night: one run, no verdict." },
      { label: "Saved so far", value: (one) => -one.lost_runs, show: (one) => significant(-one.lost_runs), number: true, help: "Time that all runs together had saved by then, in runs of the job as it is; below 0: lost." },
      { label: "Why", value: (one) => one.why, show: (one) => bdi(one.why) },
      { label: "Note", value: (one) => one.failed, show: (one) => bdi(one.failed) },
      { label: "Run", value: (one) => one.folder, show: run, class: "mono" },
    ], [...report.runs].reverse(), { empty: "Nothing has run yet." }));
  return {
    node,
    open: (one) => (runs[one.folder] ? window.location.assign(runs[one.folder]) : document.getElementById("runs").scrollIntoView()),
  };
}
