// The JVM itself: garbage collection, JIT compilation, safepoints, and allocation by class.
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, interval, percent, time, unit } from "../ui/format.js";
import { drawer, factPanel } from "../ui/panels.js";
import { table } from "../ui/table.js";

const TEXT = "Garbage collection, JIT compilation and safepoints in the window, from the JVM's logs and counters. The timeline below shows them over time.";

export function jvmSection(summary) {
  const { jit, code_cache, gc, safepoints } = summary.jvm ?? {};
  if (!summary.jvm) return section("jvm", "The JVM", TEXT, missing("This summary does not include it."));
  return section("jvm", "The JVM", TEXT,
    el("div", { class: "two" },
      factPanel("Heap", "Allocation between pauses and promotion to the old generation, from the GC log; the profiler's allocation samples next to the JVM's own counters of the same threads.", heapFacts(gc, summary.memory)),
      factPanel("Safepoints", "At a safepoint all Java threads are stopped. Time to safepoint is from the request until the last thread has stopped.", stopFacts(safepoints)),
      factPanel("JIT compilers", "Compilations from the JVM's log; CPU time of the compiler threads from the kernel's counters.", jitFacts(jit, code_cache))),
    drawer("Pauses by cause", gc?.by_cause, gc?.reason, causes),
    drawer("Concurrent phases", gc?.concurrent, gc?.reason ?? "none.", phases),
    drawer("Survivors by age", gc?.ages, gc?.ages_reason ?? gc?.reason, ages),
    drawer("Safepoints by operation", safepoints?.by_operation, safepoints?.reason, operations),
    drawer("Compilations by tier", jit?.by_tier, jit?.reason, tiers),
    drawer("Longest compilations", jit?.longest, jit?.reason, longest),
    drawer("Deoptimisations by reason", jit?.deoptimisations.by_reason, jit?.deoptimisations.reason ?? jit?.reason, reasons("reason")),
    drawer("Deoptimisations by method", jit?.deoptimisations.methods, jit?.reason ?? "None.", reasons("method")),
    drawer("Sampled allocation by class", summary.memory?.allocation.sampled?.by_class, summary.memory?.allocation.sampled?.reason, classes),
    drawer("Live objects at the end by class", summary.memory?.live_heap?.by_class, summary.memory?.live_heap?.reason, classes));
}

// An estimate with its interval and n.
function estimated(estimate, name) {
  if (!estimate || estimate.value === null) return null;
  const ends = interval(estimate.low, estimate.high, name);
  return [unit(estimate.value, name), [ends, `n ${count(estimate.n)}`].filter(Boolean).join(", ")];
}

function heapFacts(gc, memory) {
  const flow = (label, item) => {
    const rate = estimated(item?.bytes_per_s, "bytes/s");
    return [[label, bytes(item?.bytes), item?.reason], ...(rate ? [["… per second", ...rate]] : [])];
  };
  const sampled = memory?.allocation.sampled;
  const ratio = estimated(sampled?.ratio, "ratio");
  return [
    ...flow("Allocated, by the GC log", gc?.allocation), ...flow("Promoted", gc?.promotion),
    ["Allocated by tasks, counted", bytes(memory?.allocation.allocated_bytes), memory?.allocation.reason],
    ["… by samples", bytes(sampled?.bytes), sampled?.reason ?? estimated(sampled?.estimate, "bytes")?.[1]],
    ...(ratio ? [["… of the count", ...ratio]] : []),
    ["Live at the end, by samples", bytes(memory?.live_heap?.bytes), memory?.live_heap?.reason],
    ["Native memory not freed, by samples", bytes(memory?.native?.bytes), memory?.native?.reason],
  ];
}

function stopFacts(stops) {
  if (!stops || stops.count === null) return [["Safepoints", "–", stops?.reason]];
  return [
    ["Safepoints", count(stops.count), `${time(stops.total_ns)} in all`],
    ["Time to safepoint, median", ...(estimated(stops.reaching_p50_ns, "ns") ?? ["–", stops.reason])],
    ["Time to safepoint, 95th percentile", ...(estimated(stops.reaching_p95_ns, "ns") ?? ["–", stops.reason])],
    ["Time to safepoint, longest", time(stops.reaching_max_ns), null],
  ];
}

function jitFacts(jit, cache) {
  const given = jit?.deoptimisations ?? {};
  return [
    ["Compilations", count(jit?.compilations_count), jit?.reason ?? `${count(jit?.failed_count)} failed`],
    ...(jit?.cpu ?? []).map((item) => [`CPU of ${item.compiler.toUpperCase()}`, time(item.cpu_ns), null]),
    ["Deoptimisations", count(given.invalidated_count), given.reason],
    ["Code of lower tiers discarded", count(given.replaced_count), "mostly replaced by the next tier"],
    ["Code cache, peak", bytes(cache?.used_bytes), cache?.max_bytes ? `${percent(cache.used_bytes / cache.max_bytes)} of ${bytes(cache.max_bytes)}` : cache?.reason],
  ];
}

const number = (label, key, show = count) => ({ label, value: (row) => row[key], show: (row) => show(row[key]), number: true });
const word = (label, key) => ({ label, value: (row) => row[key] });

const causes = (rows) => table([word("Cause", "cause"), word("Kind", "kind"), number("Pauses", "pauses_count"), number("Total", "pause_total_ns", time), number("Longest", "pause_max_ns", time)], rows);
const phases = (rows) => table([word("Phase", "phase"), number("Count", "count"), number("Total", "total_ns", time), number("Longest", "max_ns", time)], rows);
const ages = (rows) => table([number("Collections survived", "age"), number("Mean bytes after a young pause", "bytes", bytes), number("Pauses", "collections_count")], rows);
const operations = (rows) => table([word("VM operation", "operation"), number("Count", "count"), number("Time to safepoint", "reaching_total_ns", time), number("Total", "total_ns", time)], rows);
const tiers = (rows) => table([number("Tier", "level"), word("Compiler", "compiler"), number("Compilations", "compilations_count"), number("OSR (of running loops)", "osr_count"), number("Failed", "failed_count"), number("Total time until installed", "time_ns", time), number("Longest", "max_ns", time)], rows);
const longest = (rows) => table([word("Method", "method"), number("Tier", "level"), number("Time until installed", "duration_ns", time), number("Bytecode", "bytecode_bytes", bytes)], rows);
const reasons = (label) => (rows) => table([word(label === "method" ? "Method" : "Reason", "reason"), number("Times", "count")], rows);
const classes = (rows) => table([word("Class", "class_name"), number("Bytes", "bytes", bytes), number("Share", "share", percent), number("Samples", "samples_count")], rows);
