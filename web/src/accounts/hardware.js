// Hardware counters: instructions per cycle, where cycles went, memory traffic, migrations.
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, percent, rate, time } from "../ui/format.js";
import { drawer, factPanel } from "../ui/panels.js";
import { table } from "../ui/table.js";

const TEXT = "CPU and scheduler counters of the application's threads, and memory controller counters of the machine, in the window. A counter that was multiplexed is scaled up, and says for what part of the time it was running. The timeline below shows the CPU of each task thread over time.";

export function hardwareSection(summary) {
  const found = summary.hardware;
  if (!found) return section("hardware", "Counters", TEXT, missing("This summary does not include it."));
  if (!found.counters.length && found.bandwidth.total_bytes === null && !found.placement.threads.length) return section("hardware", "Counters", TEXT, missing(found.reason));
  return section("hardware", "Counters", TEXT,
    found.reason && el("p", { class: "aside" }, `No hardware counters: ${found.reason}`),
    el("div", { class: "two" },
      factPanel("CPU", "Instructions per cycle of all threads of the application, and where the cycles went if the CPU has counters for it.", cpuFacts(found)),
      factPanel("Memory", "Bytes moved between memory and caches, compared with the bandwidth that the host card measured.", memoryFacts(found))),
    counters(found.counters),
    drawer("By stage", found.stages, "no counter was read during a task.", stages),
    drawer("By operator, from the CPU samples between two readings", found.operators, "needs hardware counters and CPU samples.", operators),
    drawer("Longest tasks", found.tasks, "no counter was read during a task.", tasks),
    drawer("Memory traffic by node and link", [...found.bandwidth.nodes, ...found.bandwidth.links], found.bandwidth.reason, traffic),
    drawer("CPU time of task threads by NUMA node", found.placement.nodes ?? [], found.placement.nodes_reason, nodes),
    drawer("CPUs of task threads", found.placement.threads, found.placement.reason, threads),
    drawer("Not counted", found.not_counted, "nothing: every counter that was requested works.", refused));
}

export function number(value, places = 2) {
  return value === null || value === undefined ? null : value.toFixed(places);
}

// For what part of the time a scaled counter was running; null for one that always was.
export function turns(ratio) {
  return ratio === null || ratio === undefined || ratio >= 1 ? null : `scaled, running ${percent(ratio)} of the time`;
}

export function cpuFacts({ ipc, cpi, placement, energy }) {
  const moved = placement.by === "readings" ? `at least ${count(placement.moves_count)}` : count(placement.migrations_count);
  return [
    ["Instructions per cycle", number(ipc.ipc) ?? "–", ipc.reason ?? turns(ipc.running_ratio)],
    ...(cpi.parts.length ? cpi.parts.map((part) => [`… ${part.part}`, percent(part.share), part.cpi === null ? null : `${number(part.cpi)} cycles per instruction`]) : [["Where cycles went", "–", cpi.reason]]),
    ...(cpi.source ? [["… by", cpi.model, cpi.source]] : []),
    placement.per_s === null ? ["CPU migrations", "–", placement.reason] : ["CPU migrations", moved, `${number(placement.per_s, 1)} a second, ${placement.threads_count} threads on ${placement.cpus_count} CPUs`],
    ...energy.filter((one) => one.watts !== null).map((one) => [`Power, ${one.measure.replace(/^energy_|_nj$/g, "")}`, `${number(one.watts, 1)} W`, one.scope]),
  ];
}

export function memoryFacts({ bandwidth }) {
  if (bandwidth.total_bytes === null) return [["Memory traffic", "–", bandwidth.reason]];
  const bound = bandwidth.lower_bound ? "at least " : "";
  const share = bandwidth.share_of_attainable;
  return [
    ["Moved", `${bound}${bytes(bandwidth.total_bytes)}`, `${bandwidth.of}, by ${bandwidth.source}`],
    ...(bandwidth.read_bytes !== null && bandwidth.written_bytes !== null ? [["… read", bytes(bandwidth.read_bytes)], ["… written", bytes(bandwidth.written_bytes)]] : []),
    ["… per second", `${bound}${rate(bandwidth.bytes_per_s)}`, bandwidth.reason],
    ...(share ? [["Share of the measured bandwidth", `${bound}${percent(share.value)}`, `${percent(share.low)} – ${percent(share.high)}, n ${share.n}; ${bandwidth.attainable_by}`]] : []),
    ...(bandwidth.local_ratio === null ? [] : [["Local to the node", percent(bandwidth.local_ratio), bandwidth.local_by]]),
  ];
}

function counters(rows) {
  if (!rows.length) return null;
  return drawer("Counters", rows, null, () => table([
    { label: "counter", value: (row) => row.event + (row.user_only ? ":u" : "") },
    { label: "kind", value: (row) => row.kind },
    { label: "counted", number: true, value: (row) => row.value, show: (row) => (row.event === "task-clock" ? time(row.value) : count(row.value)) },
    { label: "scaled", number: true, help: "Extrapolated to the whole time.", value: (row) => (turns(row.running_ratio) ? row.scaled : null), show: (row) => (turns(row.running_ratio) ? count(Math.round(row.scaled)) : null) },
    { label: "running", number: true, value: (row) => row.running_ratio, show: (row) => percent(row.running_ratio) },
  ], rows, { caption: "Counters of all threads of the application" }), true);
}

const IPC = { label: "instr. per cycle", number: true, value: (row) => row.ipc, show: (row) => number(row.ipc) };
const of = (event, label = event) => ({ label, number: true, value: (row) => row.counts[event] ?? null, show: (row) => (row.counts[event] === undefined ? null : count(Math.round(row.counts[event]))) });
const COUNTED = { label: "covered", number: true, help: "Share of the time that lies between two readings of the counters.", value: (row) => row.counted_ratio, show: (row) => percent(row.counted_ratio) };

function stages(rows) {
  return table([
    { label: "stage", number: true, value: (row) => row.stage_id, show: (row) => `${row.stage_id}.${row.stage_attempt}` },
    { label: "tasks", number: true, value: (row) => row.tasks_count },
    IPC,
    { label: "tasks' mean", number: true, value: (row) => row.task_ipc?.value ?? null, show: (row) => row.task_ipc && `${number(row.task_ipc.value)} (${number(row.task_ipc.low) ?? "–"} – ${number(row.task_ipc.high) ?? "–"})` },
    of("LLC-load-misses"), of("cpu-migrations", "migrations"), of("context-switches"), of("page-faults"), COUNTED,
  ], rows);
}

function tasks(rows) {
  return table([
    { label: "task", number: true, value: (row) => row.task_attempt_id },
    { label: "stage", number: true, value: (row) => row.stage_id, show: (row) => `${row.stage_id}.${row.stage_attempt}` },
    { label: "time", number: true, value: (row) => row.duration_ns, show: (row) => time(row.duration_ns) },
    IPC, of("LLC-load-misses"), of("cpu-migrations", "migrations"), of("context-switches"), of("page-faults"), COUNTED,
  ], rows);
}

function operators(rows) {
  return table([
    { label: "operator", value: (row) => row.operator },
    { label: "instr. per cycle", number: true, value: (row) => row.ipc.value, show: (row) => number(row.ipc.value) },
    { label: "95 %", number: true, value: (row) => row.ipc.low, show: (row) => (row.ipc.low === null ? null : `${number(row.ipc.low)} – ${number(row.ipc.high)}`) },
    { label: "n", number: true, value: (row) => row.ipc.n },
  ], rows);
}

function traffic(rows) {
  return table([
    { label: "where", value: (row) => row.scope },
    { label: "read", number: true, value: (row) => row.read_bytes, show: (row) => bytes(row.read_bytes) },
    { label: "written", number: true, value: (row) => row.written_bytes, show: (row) => bytes(row.written_bytes) },
    { label: "total", number: true, value: (row) => row.total_bytes, show: (row) => bytes(row.total_bytes) },
    { label: "per second", number: true, value: (row) => row.bytes_per_s, show: (row) => rate(row.bytes_per_s) },
  ], rows);
}

function nodes(rows) {
  return table([
    { label: "node", value: (row) => (row.host === null ? `${row.node}` : `${row.node} of ${row.host}`) },
    { label: "CPUs", number: true, value: (row) => row.cpus_count },
    { label: "CPU time", number: true, value: (row) => row.cpu_ns.value, show: (row) => time(row.cpu_ns.value) },
    { label: "bounds", number: true, value: (row) => row.cpu_ns.low, show: (row) => `${time(row.cpu_ns.low)} – ${time(row.cpu_ns.high)}` },
    { label: "share", number: true, value: (row) => row.share, show: (row) => percent(row.share) },
  ], rows);
}

function threads(rows) {
  return table([
    { label: "thread", number: true, value: (row) => row.tid },
    { label: "process", number: true, value: (row) => row.pid },
    { label: "CPUs", number: true, value: (row) => row.cpus_count },
    { label: "moves observed", number: true, value: (row) => row.moves_count },
    { label: "nodes", value: (row) => (row.nodes ?? []).map((one) => `${one.node}: ${percent(one.share)}`).join(", ") || null },
    { label: "moves between nodes", number: true, help: "At least: two moves between two readings are not seen.", value: (row) => row.node_moves_count ?? null },
    { label: "migrations counted", number: true, value: (row) => row.migrations_count, show: (row) => count(row.migrations_count) },
  ], rows);
}

function refused(rows) {
  return table([
    { label: "counter", value: (row) => row.event },
    { label: "why", value: (row) => row.reason },
    { label: "what to do", value: (row) => row.remedy },
  ], rows);
}
