// Tasks of one stage: quantiles as on Spark's own page, the slowest beside the median, sums by place.
// What is not known is left out of the page's data, and shown as a dash.
import { bar } from "../ui/bars.js";
import { el, svg } from "../ui/dom.js";
import { count, gone, significant, time, unit, words } from "../ui/format.js";
import { axisBelow, drawing, linear, reach, steps, words as label } from "../ui/plot.js";
import { table } from "../ui/table.js";
import { facts } from "../ui/tip.js";

const NAMES = {
  duration_ns: "Duration", executor_run_time_ns: "Run time", executor_cpu_time_ns: "CPU time", jvm_gc_time_ns: "GC time", scheduler_delay_ns: "Scheduler delay",
  executor_deserialize_time_ns: "Task deserialisation", result_serialization_time_ns: "Result serialisation", shuffle_fetch_wait_time_ns: "Shuffle fetch wait", shuffle_write_time_ns: "Shuffle write time",
  input_bytes: "Input", input_records_count: "Input records", shuffle_read_bytes: "Shuffle read", shuffle_read_records_count: "Shuffle read records",
  shuffle_written_bytes: "Shuffle write", shuffle_written_records_count: "Shuffle write records", output_bytes: "Output", memory_spilled_bytes: "Spilled (in memory)", disk_spilled_bytes: "Spilled (on disk)", peak_execution_memory_bytes: "Peak execution memory",
};
const QUANTILES = [["min", "Min"], ["p25", "25 %"], ["median", "Median"], ["p75", "75 %"], ["max", "Max"]];

const kind = (measure) => /_(ns|bytes|count)$/.exec(measure)?.[1];
const nameOf = (measure) => NAMES[measure] ?? words(measure);
const shown = (measure) => (value) => unit(value, kind(measure));

export function taskDetails(stage, name) {
  const { quantiles, slowest, executors, executors_count: places, hosts, hosts_count: machines } = stage.tasks;
  const medians = new Map(quantiles.map((item) => [item.measure, item.median]));
  return [
    el("h4", null, `Tasks of stage ${name}: ${count(stage.tasks_count)} succeeded`),
    el("div", { class: "two" }, el("div", null, table([
      { label: "Measure", value: (item) => nameOf(item.measure) },
      ...QUANTILES.map(([key, title]) => ({ label: title, value: (item) => item[key], show: (item) => shown(item.measure)(item[key]), number: true })),
    ], quantiles, { empty: "No task of this stage succeeded." })), spreads(quantiles, name)),
    slowest.length > 1 && [el("h4", null, "Slowest tasks, beside the median"), table(slowColumns(slowest, medians), slowest)],
    executors.length > 0 && [el("h4", null, "By executor"), places > executors.length && el("p", { class: "note" }, `The ${executors.length} with most task time of ${count(places)}.`), groups(executors, "Executor", (item) => item.executor_id, machines > 1)],
    machines > 1 && places > machines && [el("h4", null, "By host"), machines > hosts.length && el("p", { class: "note" }, `The ${hosts.length} with most task time of ${count(machines)}.`), groups(hosts, "Host", (item) => item.host, false)],
  ];
}

function slowColumns(tasks, medians) {
  const beside = (measure, item) => {
    const [value, median] = [item[measure], medians.get(measure)];
    return [shown(measure)(value), value > 0 && median > 0 && el("span", { class: "aside" }, ` ${significant(value / median)} ×`)];
  };
  const measures = Object.keys(NAMES).filter((measure) => tasks.some((item) => item[measure] > 0));
  return [
    { label: "Task", value: (item) => item.task_attempt_id, show: (item) => `${item.task_attempt_id}${item.speculative ? " (speculative)" : ""}`, number: true, help: "Spark's task id; the partition is beside it." },
    { label: "Index", value: (item) => item.task_index, number: true },
    ...measures.map((measure) => ({ label: nameOf(measure), value: (item) => item[measure], show: (item) => beside(measure, item), number: true, help: "× is times the median of the stage's tasks." })),
    { label: "Executor", value: (item) => item.executor_id }, { label: "Host", value: (item) => item.host }, { label: "Locality", value: (item) => item.locality },
  ];
}

function groups(list, title, name, hosts) {
  const most = Math.max(1, ...list.map((item) => item.executor_run_time_ns ?? 0));
  const sums = ["jvm_gc_time_ns", "input_bytes", "shuffle_read_bytes", "shuffle_written_bytes", "disk_spilled_bytes"].filter((measure) => list.some((item) => item[measure] > 0));
  return table([
    { label: title, value: name, show: (item) => el("bdi", null, name(item) ?? "–") },
    ...(hosts ? [{ label: "Host", value: (item) => item.host, show: (item) => el("bdi", null, item.host ?? "–") }] : []),
    { label: "Tasks", value: (item) => item.tasks_count, show: (item) => [count(item.tasks_count), item.failed_tasks_count > 0 && el("span", { class: "bad" }, ` +${count(item.failed_tasks_count)} failed or killed`)], number: true },
    { label: "Run time", value: (item) => item.executor_run_time_ns, show: (item) => bar(item.executor_run_time_ns, most, time(item.executor_run_time_ns)), number: true, help: "Sum over its successful tasks." },
    { label: "Median task", value: (item) => item.median_ns, show: (item) => time(item.median_ns), number: true },
    { label: "Longest task", value: (item) => item.max_ns, show: (item) => time(item.max_ns), number: true },
    ...sums.map((measure) => ({ label: nameOf(measure), value: (item) => item[measure], show: (item) => shown(measure)(item[measure]), number: true })),
  ], list);
}

const [LEFT, WIDTH, ROW] = [150, 560, 26];

// Box plots of the times, on one axis; the table beside it has the numbers.
function spreads(quantiles, name) {
  const times = quantiles.filter((item) => kind(item.measure) === "ns" && !gone(item.max));
  if (!times.length) return null;
  const most = Math.max(...times.map((item) => item.max));
  const x = linear(0, most, LEFT, WIDTH - 20);
  const bottom = times.length * ROW + 10;
  const row = (item, at) => {
    const y = at * ROW + ROW / 2 + 4;
    return {
      node: svg("g", null, label(LEFT - 10, y + 4, nameOf(item.measure), null, "end"),
        svg("line", { x1: x(item.min), x2: x(item.max), y1: y, y2: y, class: "range" }),
        svg("rect", { x: x(item.p25), width: Math.max(1, x(item.p75) - x(item.p25)), y: y - 7, height: 14, class: "spread" }),
        svg("line", { x1: x(item.median), x2: x(item.median), y1: y - 7, y2: y + 7, class: "median" })),
      label: `${nameOf(item.measure)}: ${QUANTILES.map(([key, title]) => `${title} ${time(item[key])}`).join(", ")}`,
      tip: () => facts(nameOf(item.measure), QUANTILES.map(([key, title]) => [title, time(item[key])])),
    };
  };
  return el("div", null, drawing(`Times of the tasks of stage ${name}`, "Line: shortest to longest task; box: middle half; thick line: median.", WIDTH, bottom + 24, axisBelow(x, steps(0, most, 4), 4, bottom, time), reach(times.map(row))),
    el("p", { class: "note" }, "Line: shortest to longest task; box: the middle half; thick line: median."));
}
