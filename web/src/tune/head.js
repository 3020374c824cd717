// Head of a tuning's page: what was tuned, at what price, on which machine.
import { bdi, el } from "../ui/dom.js";
import { time } from "../ui/format.js";

const amount = ({ unit }, value) => (unit === "runs" ? `${Number(value.toPrecision(3))} runs` : unit === "seconds" ? time(value * 1e9) : `${Number((value / 3600).toPrecision(3))} core-hours`);

export function head({ title, report }) {
  const { budget, machine } = report;
  const known = [
    ["Job", report.command.join(" ") || `${report.workload}, scale ${report.scale}`],
    ["Objective", `less ${report.objective}`], ["Only if", report.conditions.join("; ")],
    ["Budget", `${amount(budget, budget.amount)}: ${amount(budget, budget.searched)} searched, ${amount(budget, budget.confirmed)} confirmed`],
    ["Space", `${report.space}: ${report.knobs.length} factors`], ["Trials", String(report.trials.length)],
    ["Shared levels", Object.entries(report.shared).map(([name, level]) => `${name}=${level}`).join(", ")],
    ["Machine", [machine.cpu_model, machine.cpus_count && `${machine.cpus_count} CPUs`].filter(Boolean).join(" · ")], ["Seed", String(report.seed)],
  ];
  return el("div", { class: "head" }, el("h1", null, bdi(title)),
    el("dl", { class: "facts" }, known.filter(([, text]) => text).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, bdi(text))))));
}
