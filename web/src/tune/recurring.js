// Head of a recurring job's page: what runs, what is promised, what it runs with by now.
import { bdi, el } from "../ui/dom.js";
import { date, percent } from "../ui/format.js";
import { called } from "./value.js";

export function head({ title, report }) {
  const { machine, runs } = report;
  const known = [
    ["Job", report.command.join(" ") || `${report.workload}, scale ${report.scale}`],
    ["Runs with", Object.keys(report.incumbent).length ? called(report.incumbent) : "as it is"],
    ["Promise", `all runs together at most ${percent(report.risk)} more than as it is, from run ${report.over_runs} on`],
    ["Given up at", `${report.limit} times the job's time`], ["Space", report.space],
    ["Nights", runs.length ? `${date(runs[0].wall_ns)} to ${date(runs.at(-1).wall_ns)}` : ""],
    ["Machine", [machine.cpu_model, machine.cpus_count && `${machine.cpus_count} CPUs`].filter(Boolean).join(" · ")],
  ];
  return el("div", { class: "head" }, el("h1", null, bdi(title)),
    el("dl", { class: "facts" }, known.filter(([, text]) => text).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, bdi(text))))));
}

export const next = (report) => report.next;
