// Time off the CPU by the scheduler's events, who ended it, and latencies of I/O.
import { el, missing, section } from "./dom.js";
import { bytes, count, percent, time } from "./format.js";
import { latencyHeat } from "./latency-heat.js";
import { KINDS } from "./latency-model.js";
import { table } from "./table.js";

const TEXT = "Every time that a thread of the application left its CPU, until it had one again, by the scheduler's own events; and how long requests to disks and calls that read files took, in the window.";
const WORDS = { disk_interrupt: "disk (its interrupt)", interrupt: "timer or device (an interrupt)", nobody_or_several: "nobody, or several", other_threads: "other threads", other_processes: "other processes" };

// `timeline` and its packed columns hold latencies over time.
export function waitsSection({ waits, io_latency: latencies }, timeline, columns) {
  return section("waits", "Waits", TEXT, offCpu(waits), ioLatencies(latencies, timeline, columns));
}

function offCpu(waits) {
  if (!waits || waits.off_ns === null) return missing(waits?.reason ?? "This summary was made without them.");
  return [
    waits.lost_count ? el("p", { class: "aside" }, `${count(waits.lost_count)} events found no room and are not counted.`) : null,
    table([
      { label: "Threads", value: (row) => row.role },
      ...number("Number", (row) => row.threads_count, count),
      ...["sleeping", "disk", "preempted", "other"].flatMap((kind) => number(kind, (row) => row.kinds.find((one) => one.kind === kind)?.off_ns ?? 0, time)),
      ...number("Of it: run queue", (row) => row.run_queue_ns, time),
      ...number("Intervals", (row) => row.count, count),
    ], waits.roles, { caption: "Time off the CPU" }),
    table([
      { label: "Threads", value: (row) => row.role },
      { label: "Woken by", value: (row) => WORDS[row.ended_by] ?? row.ended_by },
      ...number("Asleep", (row) => row.asleep_ns, time),
      ...number("Share of the role's", (row) => row.share, percent),
      ...number("Times", (row) => row.count, count),
    ], waits.ended_by, { caption: "Who ended sleep", first: 20 }),
  ];
}

function ioLatencies(latencies, timeline, columns) {
  if (!latencies?.length) return el("p", { class: "missing" }, "No latency of I/O was recorded in this window.");
  return [
    table([
      { label: "Requests or calls", value: (row) => `${row.device ?? "calls"} ${row.operation}` },
      { label: "Measured", value: (row) => KINDS[row.kind] ?? row.kind },
      ...number("Count", (row) => row.count, count),
      ...number("Moved", (row) => row.bytes, bytes),
      ...number("Mean", (row) => row.mean_ns, time),
      ...number("Median", (row) => row.p50_ns.value, time, (row) => between(row.p50_ns)),
      ...number("99 %", (row) => row.p99_ns.value, time, (row) => between(row.p99_ns)),
    ], latencies, { caption: "Latencies of I/O, in buckets of powers of two" }),
    latencyHeat(timeline?.latencies, columns, timeline?.marks),
  ];
}

function number(label, value, format, show = (row) => format(value(row))) {
  return [{ label, number: true, value, show }];
}

export function between({ low, high }) {
  return low === null ? null : `${time(low)} – ${time(high)}`;
}
