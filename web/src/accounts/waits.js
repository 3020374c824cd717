// Time off the CPU from the scheduler's events, what ended it, and I/O latencies.
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, percent, significant, time } from "../ui/format.js";
import { latencyHeat } from "./latencies.js";
import { KINDS } from "./latency-grid.js";
import { table } from "../ui/table.js";

const TEXT = "How long threads of the application were off the CPU, from the scheduler's events, and how long disk requests and file reads took, in the window.";
const WORDS = { disk_interrupt: "disk (interrupt)", interrupt: "timer or device (interrupt)", nobody_or_several: "unknown or several", other_threads: "other threads", other_processes: "other processes" };

// `timeline` and its packed columns hold latencies over time.
export function waitsSection({ waits, io, io_latency: latencies }, timeline, columns) {
  return section("waits", "Waits", TEXT, offCpu(waits), blockDevices(io?.disks), ioLatencies(latencies, timeline, columns));
}

function offCpu(waits) {
  if (!waits || waits.off_ns === null) return missing(waits?.reason ?? "This summary does not include them.");
  return [
    waits.lost_count ? el("p", { class: "aside" }, `${count(waits.lost_count)} events were lost and are not counted.`) : null,
    table([
      { label: "Threads", value: (row) => row.role },
      ...number("Number", (row) => row.threads_count, count),
      ...["sleeping", "disk", "preempted", "other"].flatMap((kind) => number(kind, (row) => row.kinds.find((one) => one.kind === kind)?.off_ns ?? 0, time)),
      ...number("of which run queue", (row) => row.run_queue_ns, time),
      ...number("Intervals", (row) => row.count, count),
    ], waits.roles, { caption: "Time off the CPU" }),
    table([
      { label: "Threads", value: (row) => row.role },
      { label: "Woken by", value: (row) => WORDS[row.ended_by] ?? row.ended_by },
      ...number("Asleep", (row) => row.asleep_ns, time),
      ...number("Share of the role", (row) => row.share, percent),
      ...number("Times", (row) => row.count, count),
    ], waits.ended_by, { caption: "What ended sleep", first: 20 }),
  ];
}

// A device that lies on others is shown beside them, and says so: its requests are theirs too.
function blockDevices(disks) {
  if (!disks?.devices?.length) return null;
  const several = disks.devices.some((row) => row.host !== null);
  const mean = (label, field) => number(label, (row) => row[field]?.value ?? null, time, (row) => row[field] ? el("span", { title: between(row[field]) }, time(row[field].value)) : "–");
  return table([
    { label: "Device", value: (row) => several ? `${row.device} on ${row.host}` : row.device },
    ...number("Requests", (row) => row.requests_count, count),
    ...number("Read", (row) => row.read_bytes, bytes),
    ...number("Written", (row) => row.written_bytes, bytes),
    ...mean("Mean time of a request", "await_ns"),
    ...mean("of a read", "read_await_ns"),
    ...mean("of a write", "write_await_ns"),
    ...number("Queue depth", (row) => row.queue_depth, significant),
    ...number("Busy", (row) => row.busy_ratio, percent),
    { label: "Note", value: (row) => row.reason ?? (row.lies_on_others ? "lies on other devices: its requests are counted on them again" : "") },
  ], disks.devices, { caption: "Block devices, all programs of the host", first: 12 });
}

function ioLatencies(latencies, timeline, columns) {
  if (!latencies?.length) return el("p", { class: "missing" }, "No I/O latencies were recorded in this window.");
  return [
    table([
      { label: "Requests or calls", value: (row) => `${row.device ?? "calls"} ${row.operation}` },
      { label: "Measured", value: (row) => KINDS[row.kind] ?? row.kind },
      ...number("Count", (row) => row.count, count),
      ...number("Bytes", (row) => row.bytes, bytes),
      ...number("Mean", (row) => row.mean_ns, time),
      ...number("Median", (row) => row.p50_ns.value, time, (row) => between(row.p50_ns)),
      ...number("99 %", (row) => row.p99_ns.value, time, (row) => between(row.p99_ns)),
    ], latencies, { caption: "I/O latencies, in power-of-two buckets" }),
    latencyHeat(timeline?.latencies, columns, timeline?.marks),
  ];
}

function number(label, value, format, show = (row) => format(value(row))) {
  return [{ label, number: true, value, show }];
}

export function between({ low, high }) {
  return low === null ? null : `${time(low)} – ${time(high)}`;
}
