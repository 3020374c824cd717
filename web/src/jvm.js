// The JVM's own work: collecting, compiling, stopping; what was allocated, by class.
import { el, missing, section } from "./dom.js";
import { bytes, count, interval, percent, time, unit } from "./format.js";
import { table } from "./table.js";
import { help } from "./tip.js";

const TEXT = "What the JVM did besides running the program, by its own logs and counters, in the window. Its course in time is in the timeline below.";

export function jvmSection(summary) {
  const { jit, code_cache, gc, safepoints } = summary.jvm ?? {};
  if (!summary.jvm) return section("jvm", "The JVM", TEXT, missing("This summary was made without it."));
  return section("jvm", "The JVM", TEXT,
    el("div", { class: "two" },
      panel("Heap", "What was allocated between two pauses, and what young pauses moved to the old generation, by the GC log; the profiler's samples beside the JVM's own counters of the same threads.", facts(heapFacts(gc, summary.memory))),
      panel("Stops", "Safepoints: all Java threads stand still. Reaching is the time from the request until the last of them stood.", facts(stopFacts(safepoints))),
      panel("Compilers", "The JIT compilers, by the JVM's log; CPU of their threads by the kernel's counters.", facts(jitFacts(jit, code_cache)))),
    details("Pauses by cause", gc?.by_cause, gc?.reason, causes),
    details("Phases beside the application", gc?.concurrent, gc?.reason ?? "The collector had none.", phases),
    details("Survivors by age", gc?.ages, gc?.ages_reason ?? gc?.reason, ages),
    details("Safepoints by operation", safepoints?.by_operation, safepoints?.reason, operations),
    details("Compilations by tier", jit?.by_tier, jit?.reason, tiers),
    details("Longest compilations", jit?.longest, jit?.reason, longest),
    details("Optimised code given up, by reason", jit?.deoptimisations.by_reason, jit?.deoptimisations.reason ?? jit?.reason, reasons("reason")),
    details("Optimised code given up, by method", jit?.deoptimisations.methods, jit?.reason ?? "None.", reasons("method")),
    details("Sampled allocation by class", summary.memory?.allocation.sampled?.by_class, summary.memory?.allocation.sampled?.reason, classes),
    details("Objects in use at the end, by class", summary.memory?.live_heap?.by_class, summary.memory?.live_heap?.reason, classes));
}

function panel(title, text, content) {
  return el("div", { class: "panel" }, el("h3", null, title, help(text)), content);
}

// Rows that exist, else why there are none, in a drawer that is opened at need.
function details(title, rows, reason, make) {
  if (!rows?.length) return el("p", { class: "aside" }, `${title}: ${reason ?? "none."}`);
  return el("details", { class: "panel" }, el("summary", null, `${title} (${rows.length})`), make(rows));
}

function facts(rows) {
  return el("table", null, el("tbody", null, rows.map(([label, value, note]) => el("tr", null,
    el("th", { scope: "row" }, label), el("td", { class: "n" }, value), el("td", { class: "aside", style: { "white-space": "normal" } }, note)))));
}

// An estimate with its interval and n in one line.
function told(estimate, name) {
  if (!estimate || estimate.value === null) return null;
  const ends = interval(estimate.low, estimate.high, name);
  return [unit(estimate.value, name), [ends, `n ${count(estimate.n)}`].filter(Boolean).join(", ")];
}

function heapFacts(gc, memory) {
  const flow = (label, item) => {
    const rate = told(item?.bytes_per_s, "bytes/s");
    return [[label, bytes(item?.bytes), item?.reason], ...(rate ? [["… per second", ...rate]] : [])];
  };
  const sampled = memory?.allocation.sampled;
  const ratio = told(sampled?.ratio, "ratio");
  return [
    ...flow("Allocated, by the GC log", gc?.allocation), ...flow("Promoted", gc?.promotion),
    ["Allocated by tasks, counted", bytes(memory?.allocation.allocated_bytes), memory?.allocation.reason],
    ["… by samples", bytes(sampled?.bytes), sampled?.reason ?? told(sampled?.estimate, "bytes")?.[1]],
    ...(ratio ? [["… of the count", ...ratio]] : []),
    ["In use at the end, by samples", bytes(memory?.live_heap?.bytes), memory?.live_heap?.reason],
    ["Native memory not given back, by samples", bytes(memory?.native?.bytes), memory?.native?.reason],
  ];
}

function stopFacts(stops) {
  if (!stops || stops.count === null) return [["Safepoints", "–", stops?.reason]];
  return [
    ["Safepoints", count(stops.count), `${time(stops.total_ns)} in all`],
    ["Reaching, median", ...(told(stops.reaching_p50_ns, "ns") ?? ["–", stops.reason])],
    ["Reaching, 95th percentile", ...(told(stops.reaching_p95_ns, "ns") ?? ["–", stops.reason])],
    ["Reaching, longest", time(stops.reaching_max_ns), null],
  ];
}

function jitFacts(jit, cache) {
  const given = jit?.deoptimisations ?? {};
  return [
    ["Compilations", count(jit?.compilations_count), jit?.reason ?? `${count(jit?.failed_count)} came to nothing`],
    ...(jit?.cpu ?? []).map((item) => [`CPU of ${item.compiler.toUpperCase()}`, time(item.cpu_ns), null]),
    ["Optimised code given up", count(given.invalidated_count), given.reason],
    ["Code of lower tiers given up", count(given.replaced_count), "mostly for that of the next"],
    ["Code cache, most", bytes(cache?.used_bytes), cache?.max_bytes ? `${percent(cache.used_bytes / cache.max_bytes)} of ${bytes(cache.max_bytes)}` : cache?.reason],
  ];
}

const number = (label, key, show = count) => ({ label, value: (row) => row[key], show: (row) => show(row[key]), number: true });
const word = (label, key) => ({ label, value: (row) => row[key] });

const causes = (rows) => table([word("Cause", "cause"), word("Kind", "kind"), number("Pauses", "pauses_count"), number("Total", "pause_total_ns", time), number("Longest", "pause_max_ns", time)], rows);
const phases = (rows) => table([word("Phase", "phase"), number("Count", "count"), number("Total", "total_ns", time), number("Longest", "max_ns", time)], rows);
const ages = (rows) => table([number("Collections survived", "age"), number("Mean bytes after a young pause", "bytes", bytes), number("Pauses", "collections_count")], rows);
const operations = (rows) => table([word("VM operation", "operation"), number("Count", "count"), number("Reaching", "reaching_total_ns", time), number("Total", "total_ns", time)], rows);
const tiers = (rows) => table([number("Tier", "level"), word("Compiler", "compiler"), number("Compilations", "compilations_count"), number("Of running loops", "osr_count"), number("Came to nothing", "failed_count"), number("Until installed, total", "time_ns", time), number("Longest", "max_ns", time)], rows);
const longest = (rows) => table([word("Method", "method"), number("Tier", "level"), number("Until installed", "duration_ns", time), number("Bytecode", "bytecode_bytes", bytes)], rows);
const reasons = (label) => (rows) => table([word(label === "method" ? "Method" : "Reason", "reason"), number("Times", "count")], rows);
const classes = (rows) => table([word("Class", "class_name"), number("Bytes", "bytes", bytes), number("Share", "share", percent), number("Samples", "samples_count")], rows);
