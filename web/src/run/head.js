// Head of a run's page: what ran, where, when, and with which treatment.
import { el } from "../ui/dom.js";
import { bytes, date, NONE, time } from "../ui/format.js";
import { verdict } from "../ui/summary.js";

export function head(content) {
  const { summary = {}, manifest = {} } = content;
  const run = summary.run ?? {};
  const host = manifest.host ?? run.host ?? {};
  const variant = Object.entries({ ...run.variant, ...manifest.workload?.variant, ...manifest.treatment });
  const started = manifest.started_wall_ns ?? run.started_wall_ns ?? summary.apps?.[0]?.start_wall_ns;
  const ended = manifest.ended_wall_ns;
  const facts = [
    ["Started", date(started)],
    ["Launch to exit", ended && started ? time(ended - started) : null],
    ["Machine", [host.hostname, host.cpu_model, host.cpus_count && `${host.cpus_count} CPUs`, host.memory_bytes && bytes(host.memory_bytes)].filter(Boolean).join(" · ")],
    ...Object.entries(run.machine_facts ?? {}),
    ["Spark", manifest.versions?.spark ?? run.spark_version ?? summary.apps?.[0]?.spark_version],
    ["Application", [...new Set((summary.apps ?? []).map((app) => app.app_name).filter(Boolean))].join(", ")],
    ["Profile", manifest.profile ?? run.profile],
    ["State", stateText(manifest, run)],
    ["Window", windowText(summary.window, summary.elapsed?.total_ns)],
  ];
  return el("div", { class: "head" },
    el("h1", null, el("bdi", null, content.title ?? "Spark run")),
    variant.length > 0 && el("p", { class: "chips" }, variant.map(([name, level]) => el("span", { class: "chip" }, `${name} = ${levelText(level)}${manifest.treatment_origin?.[name] === "workload" ? " (set by the workload)" : ""}`))),
    el("dl", { class: "facts" }, facts.filter(([, text]) => text && text !== NONE).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, el("bdi", null, text))))));
}

function levelText(level) {
  return typeof level === "object" && level !== null ? JSON.stringify(level) : String(level);
}

function stateText(manifest, run) {
  const name = manifest.state ?? run.state;
  const code = manifest.exit?.code ?? run.exit_code;
  const signal = manifest.exit?.signal;
  return name && [name, signal ?? (code === null || code === undefined ? null : `exit ${code}`)].filter(Boolean).join(" · ");
}

// `elapsed`: of a window without iterations the time that the first figure has, too.
function windowText(window, elapsed) {
  if (!window?.name) return null;
  const iterations = window.iterations?.length ? ` (iteration${window.iterations.length > 1 ? "s" : ""} ${window.iterations.join(", ")})` : "";
  const length = iterations ? window.length_ns : elapsed ?? window.length_ns;
  return `${window.name}${iterations}${length ? ` · ${time(length)}` : ""}`;
}

export function runVerdict(summary, next) {
  const found = summary.verdict;
  const text = typeof found === "object" && found !== null ? found.text ?? found.message : found;
  return verdict(text ?? "No verdict: too little was recorded to say where the time went.", summary.doubts ?? [], next);
}
