// What perf counters tell: instructions per cycle, where cycles went, memory traffic, migrations.
import { el, missing, section } from "./dom.js";
import { bytes, count, percent, time } from "./format.js";
import { table } from "./table.js";
import { help } from "./tip.js";

const TEXT = "Counters of the CPU and of the scheduler for the application's threads, and of the memory controllers for the machine, in the window. A counter that took turns with others on the hardware is scaled up, and says what part of the time it saw. The CPU of each task thread over time is in the timeline below.";

export function hardwareSection(summary) {
  const found = summary.hardware;
  if (!found) return section("hardware", "Counters", TEXT, missing("This summary was made without it."));
  if (!found.counters.length && found.bandwidth.total_bytes === null && !found.placement.threads.length) return section("hardware", "Counters", TEXT, missing(found.reason));
  return section("hardware", "Counters", TEXT,
    found.reason && el("p", { class: "aside" }, `No hardware counters: ${found.reason}`),
    el("div", { class: "two" },
      panel("CPU", "Instructions per cycle of all threads of the application, and what the cycles went to where the CPU has counters for it.", cpuFacts(found)),
      panel("Memory", "Bytes that moved between memory and caches, beside what the host card says that this machine can move.", memoryFacts(found))),
    counters(found.counters),
    details("By stage", found.stages, "No reading of a counter lies in a task.", stages),
    details("By operator, from the CPU samples between two readings", found.operators, "Needs hardware counters and CPU samples.", operators),
    details("Longest tasks", found.tasks, "No reading of a counter lies in a task.", tasks),
    details("Memory traffic by node and link", [...found.bandwidth.nodes, ...found.bandwidth.links], found.bandwidth.reason, traffic),
    details("CPUs of task threads", found.placement.threads, found.placement.reason, threads),
    details("Not counted", found.not_counted, "Everything that was tried is counted.", refused));
}

function panel(title, text, rows) {
  return el("div", { class: "panel" }, el("h3", null, title, help(text)), el("table", null, el("tbody", null, rows.map(([label, value, note]) => el("tr", null,
    el("th", { scope: "row" }, label), el("td", { class: "n" }, value), el("td", { class: "aside", style: { "white-space": "normal" } }, note))))));
}

function details(title, rows, reason, make) {
  if (!rows?.length) return el("p", { class: "aside" }, `${title}: ${reason ?? "none."}`);
  return el("details", { class: "panel" }, el("summary", null, `${title} (${rows.length})`), make(rows));
}

export function number(value, places = 2) {
  return value === null || value === undefined ? null : value.toFixed(places);
}

// What part of the time a scaled counter saw; nothing of one that never left the hardware.
export function turns(ratio) {
  return ratio === null || ratio === undefined || ratio >= 1 ? null : `scaled, seen ${percent(ratio)} of the time`;
}

export function cpuFacts({ ipc, cpi, placement, energy }) {
  const moved = placement.by === "readings" ? `at least ${count(placement.moves_count)}` : count(placement.migrations_count);
  return [
    ["Instructions per cycle", number(ipc.ipc) ?? "–", ipc.reason ?? turns(ipc.running_ratio)],
    ...(cpi.parts.length ? cpi.parts.map((part) => [`… ${part.part}`, percent(part.share), part.cpi === null ? null : `${number(part.cpi)} cycles per instruction`]) : [["Where cycles went", "–", cpi.reason]]),
    ...(cpi.source ? [["… by", cpi.model, cpi.source]] : []),
    placement.per_s === null ? ["Moves between CPUs", "–", placement.reason] : ["Moves between CPUs", moved, `${number(placement.per_s, 1)} a second, ${placement.threads_count} threads on ${placement.cpus_count} CPUs`],
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
    ["… per second", `${bound}${bytes(bandwidth.bytes_per_s)}/s`, bandwidth.reason],
    ...(share ? [["Of what this machine can move", `${bound}${percent(share.value)}`, `${percent(share.low)} – ${percent(share.high)}, n ${share.n}; ${bandwidth.attainable_by}`]] : []),
    ...(bandwidth.local_ratio === null ? [] : [["Local to the node", percent(bandwidth.local_ratio), bandwidth.local_by]]),
  ];
}

function counters(rows) {
  if (!rows.length) return null;
  return el("details", { class: "panel", open: true }, el("summary", null, `Counters (${rows.length})`), table([
    { label: "counter", value: (row) => row.event + (row.user_only ? ":u" : "") },
    { label: "kind", value: (row) => row.kind },
    { label: "counted", number: true, value: (row) => row.value, show: (row) => (row.event === "task-clock" ? time(row.value) : count(row.value)) },
    { label: "scaled", number: true, help: "What it would have counted had it been on the hardware all the time.", value: (row) => (turns(row.running_ratio) ? row.scaled : null), show: (row) => (turns(row.running_ratio) ? count(Math.round(row.scaled)) : null) },
    { label: "on the hardware", number: true, value: (row) => row.running_ratio, show: (row) => percent(row.running_ratio) },
  ], rows, { caption: "Counters of all threads of the application" }));
}

const IPC = { label: "instr. per cycle", number: true, value: (row) => row.ipc, show: (row) => number(row.ipc) };
const of = (event, label = event) => ({ label, number: true, value: (row) => row.counts[event] ?? null, show: (row) => (row.counts[event] === undefined ? null : count(Math.round(row.counts[event]))) });
const COUNTED = { label: "covered", number: true, help: "Part of the time that lies between two readings of the counters.", value: (row) => row.counted_ratio, show: (row) => percent(row.counted_ratio) };

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
    { label: "in all", number: true, value: (row) => row.total_bytes, show: (row) => bytes(row.total_bytes) },
    { label: "per second", number: true, value: (row) => row.bytes_per_s, show: (row) => bytes(row.bytes_per_s) },
  ], rows);
}

function threads(rows) {
  return table([
    { label: "thread", number: true, value: (row) => row.tid },
    { label: "process", number: true, value: (row) => row.pid },
    { label: "CPUs", number: true, value: (row) => row.cpus_count },
    { label: "moves seen", number: true, value: (row) => row.moves_count },
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
