// Head of an experiment's page: what was run, in which order, on which machine.
import { bdi, el } from "../ui/dom.js";
import { date } from "../ui/format.js";

const BLOCKS = { toggle: "JVMs with alternating treatments", duet: "concurrent pairs" };

export function head({ title, plan, report, plots }) {
  const first = plots.order.points[0]?.wall_ns;
  const machine = plan.machine ?? {};
  const known = [
    ["Workload", `${plan.workload}, scale ${plan.scale}`], ["Trials", `${report.done_count} of ${report.trials_count}${report.repeated_count ? `, ${report.repeated_count} repeated` : ""}`],
    ["Order", `${plan.kind === "fixed-order" ? "fixed" : `${plan.blocks} ${BLOCKS[plan.kind] ?? "randomised blocks"}`}, seed ${plan.seed}`], ["Estimand", report.estimand], ["Baseline", report.baseline],
    ["Machine", [machine.cpu_model, machine.cpus_count && `${machine.cpus_count} CPUs`].filter(Boolean).join(" · ")],
    ["First trial ended", first && date(first)], ["Profile", plan.profile],
  ];
  return el("div", { class: "head" }, el("h1", null, bdi(title)), plan.description && el("p", null, bdi(plan.description)),
    el("dl", { class: "facts" }, known.filter(([, text]) => text).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, bdi(text))))));
}
