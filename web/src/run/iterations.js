// Iterations of the workload inside one launch: times, results, page cache, and its own counters.
import { bar } from "../ui/bars.js";
import { el, section } from "../ui/dom.js";
import { count, percent, time, unit, words } from "../ui/format.js";
import { table } from "../ui/table.js";

const HELP = "Executions of the workload within this launch. Warm-up iterations are listed but not counted.";
const ITERATION = { label: "Iteration", value: (item) => item.iteration, show: (item) => `${item.iteration}${item.warmup ? " (warm-up)" : ""}`, number: true };

export function iterationsSection(list) {
  const longest = Math.max(...list.map((item) => item.elapsed_ns ?? 0), 1);
  const total = (name) => (item) => item.totals?.[name] ?? null;
  return section("iterations", "Iterations", HELP, table([
    ITERATION,
    { label: "Elapsed", value: (item) => item.elapsed_ns, show: (item) => bar(item.elapsed_ns, longest, time(item.elapsed_ns)), number: true },
    { label: "Task CPU", value: total("executor_cpu_time_ns"), show: (item) => time(total("executor_cpu_time_ns")(item)), number: true },
    { label: "Task run time", value: total("executor_run_time_ns"), show: (item) => time(total("executor_run_time_ns")(item)), number: true },
    { label: "CPU share", value: share, show: (item) => percent(share(item)), number: true, help: "Task CPU time as a share of task run time." },
    { label: "Result rows", value: (item) => item.result_rows_count, show: (item) => count(item.result_rows_count), number: true },
    { label: "Checksum", value: (item) => item.result_checksum, class: "mono" },
    { label: "Status", value: (item) => item.status, show: (item) => words(item.status) },
  ], list), cacheStates(list), counters(list));
}

// Where a state of the page cache was requested: what was found before the iterations.
function cacheStates(list) {
  const wanted = list.map((item) => item.cache).filter((cache) => cache?.state);
  if (!wanted.length) return null;
  const shares = wanted.map((cache) => cache.resident_ratio).filter((ratio) => ratio !== null && ratio !== undefined);
  const ends = [Math.min(...shares), Math.max(...shares)].map((ratio) => percent(ratio));
  const found = shares.length
    ? `${ends[0] === ends[1] ? ends[0] : `${ends[0]} to ${ends[1]}`} resident before each iteration`
    : `resident share unknown: ${wanted.find((cache) => cache.reason)?.reason ?? "not recorded"}`;
  return el("p", { id: "page-cache" }, `Page cache: ${wanted[0].state}, `, el("bdi", null, found));
}

// Counters of the workload itself, latencies among them, in the units of their names.
function counters(list) {
  const names = [...new Set(list.flatMap((item) => Object.keys(item.counters ?? {})))];
  if (!names.length) return null;
  const columns = names.map((name) => {
    const [, label, kind] = /^(.*?)(?:_(ns|bytes|count|ratio))?$/.exec(name);
    return { label: words(label), value: (item) => item.counters?.[name] ?? null, show: (item) => unit(item.counters?.[name], kind), number: true };
  });
  return el("div", { class: "panel", id: "counters" }, el("h3", null, "Counters of the workload"), table([ITERATION, ...columns], list));
}

function share(item) {
  const run = item.totals?.executor_run_time_ns;
  return run ? item.totals.executor_cpu_time_ns / run : null;
}
