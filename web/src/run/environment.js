// Environment: machine, versions, probes, cost of measuring, changes to the configuration.
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, date, percent, time, words } from "../ui/format.js";
import { table } from "../ui/table.js";
import { applications } from "./configuration.js";

export function environmentSection(content) {
  const { summary = {}, manifest = {} } = content;
  const host = manifest.host ?? summary.run?.host ?? {};
  const overlay = manifest.conf_overlay ?? summary.run?.conf_overlay ?? [];
  const reason = "Not recorded in this run.";
  if (!manifest.run_id && !overlay.length) return section("environment", "Environment", "Versions, executors and settings of the application, as its event log has them.", applications(summary.apps) ?? missing("The event log names no application."));
  return section("environment", "Environment and cost of measuring", "Versions, executors and settings of the application, the machine, what Pyrometer changed in the Spark configuration, and what measuring cost.",
    applications(summary.apps),
    el("div", { class: "two" },
      panel("Machine", pairs([
        ["Host", host.hostname], ["CPU", host.cpu_model], ["CPUs", count(host.cpus_count)], ["Memory", host.memory_bytes === undefined ? null : bytes(host.memory_bytes)],
        ["Swap", host.swap_bytes === undefined ? null : bytes(host.swap_bytes)], ["Kernel", host.kernel], ["Virtualised", host.virtualised],
        ...Object.entries(host.card ?? {}).map(([name, value]) => [words(name), plain(value)]),
      ], reason)),
      panel("Versions and command", pairs([
        ...Object.entries(manifest.versions ?? {}), ["Pyrometer", manifest.pyrometer_version], ["Run", manifest.run_id ?? summary.run?.run_dir],
        ["Command", (manifest.workload?.command ?? []).join(" ") || null], ["Scale", manifest.workload?.scale], ["Created", date(manifest.created_wall_ns)],
      ], reason))),
    el("h3", null, "Probes"),
    table([
      { label: "Probe", value: (p) => (p.executor_id ? `${p.name} on ${p.host}` : p.name) }, { label: "Tier", value: (p) => p.tier }, { label: "Requested", value: (p) => p.asked },
      { label: "Obtained", value: (p) => p.got, show: (p) => p.got ?? el("span", { class: "bad" }, "nothing") },
      { label: "Dropped", value: (p) => p.dropped, show: (p) => count(p.dropped), number: true },
      { label: "CPU", value: (p) => p.own_cpu_ns, show: (p) => time(p.own_cpu_ns), number: true, help: "CPU time used by the probe itself." },
      { label: "Note", value: (p) => p.reason },
    ], manifest.probes ?? [], { empty: reason }),
    el("h3", null, "Cost of measuring"),
    table([
      { label: "Instrument", value: (i) => (i.host ? `${i.name} on ${i.host}` : i.name) },
      { label: "CPU", value: (i) => i.cpu_ns, show: (i) => time(i.cpu_ns), number: true },
      { label: "Share of process CPU", value: (i) => i.share_of_process_cpu, show: (i) => percent(i.share_of_process_cpu), number: true },
      { label: "Note", value: (i) => i.reason },
    ], summary.instruments ?? [], { empty: "The CPU time of the instruments is unknown for this run." }),
    el("h3", null, "Changes to the Spark configuration"),
    table([
      { label: "Setting", value: (o) => o.key, class: "mono" }, { label: "Value", value: (o) => o.value, class: "mono wrap" },
      { label: "How", value: (o) => o.how, show: (o) => words(o.how) }, { label: "Why", value: (o) => o.reason },
    ], overlay, { empty: manifest.run_id ? "None." : reason }));
}

function panel(title, body) {
  return el("div", { class: "panel" }, el("h3", null, title), body);
}

function pairs(list, reason) {
  const known = list.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== "–");
  if (!known.length) return missing(reason);
  return el("dl", { class: "pairs" }, known.map(([name, value]) => [el("dt", null, name), el("dd", null, el("bdi", null, plain(value)))]));
}

function plain(value) {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
