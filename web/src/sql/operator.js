// One operator of a plan: its time with interval, the expressions it was spent on, Spark's metrics.
import { el } from "../ui/dom.js";
import { gone, interval, metric, percent, time } from "../ui/format.js";
import { table } from "../ui/table.js";

const ATTRIBUTED = { line: "line of generated code", method: "generated method", frames: "its own class" };

export function find(node, pattern) {
  return (node.metrics ?? []).find((item) => pattern.test(item.metric));
}

// CPU of task threads and of the Python workers that the node drove.
const cpu = (node) => (node.on_cpu_ns ?? 0) + (node.python_cpu_ns ?? 0);

// `sampled`: what the samples say about the operator, if any do; `nodes`: the whole plan; `exploded`:
// how its rows grew, if they did.
export function details(node, sampled, nodes, exploded = null) {
  const all = nodes.reduce((sum, other) => sum + cpu(other), 0);
  const timer = timers(node);
  return [
    el("h4", null, el("bdi", null, node.name)),
    exploded && el("p", null, exploded),
    el("dl", { class: "pairs" }, [
      ["CPU of tasks", !gone(node.on_cpu_ns) || cpu(node) ? `${time(cpu(node))}${all ? ` · ${percent(cpu(node) / all)} of the plan` : ""}` : null],
      ["… in Python workers", node.python_cpu_ns ? time(node.python_cpu_ns) : null],
      ["95 % interval", sampled?.on_cpu && !gone(sampled.on_cpu.low) ? interval(sampled.on_cpu.low, sampled.on_cpu.high, "ns") : null],
      ["Tasks waiting", !gone(node.off_cpu_ns) ? time(node.off_cpu_ns) : null],
      ["Samples", node.samples_count],
      ["Attributed by", attribution(sampled?.samples_by)],
      ["Spark's own timer", timer],
      ["Stages", (node.stage_ids ?? []).join(", ") || null],
      ["Wrapped in", node.wrappers?.join(", ")],
    ].filter(([, value]) => !gone(value)).map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
    el("pre", null, node.simple_string ?? node.name),
    sampled?.expressions?.length > 0 && table([
      { label: "Expression", value: (item) => item.expression, show: (item) => el("bdi", { class: "mono" }, item.expression) },
      { label: "CPU", value: (item) => item.on_cpu_ns, show: (item) => time(item.on_cpu_ns), number: true },
      { label: "Share", value: (item) => item.share, show: (item) => percent(item.share), number: true, help: "Share of the operator's CPU time." },
    ], sampled.expressions),
    (node.metrics ?? []).length > 0
      ? table([
        { label: "Metric", value: (item) => item.metric },
        { label: "Sum", value: (item) => item.value_sum, show: (item) => metric(item.value_sum, item.metric_type), number: true },
        { label: "Min", value: (item) => item.value_min, show: (item) => metric(item.value_min, item.metric_type), number: true, help: "Smallest update by one task." },
        { label: "Max", value: (item) => item.value_max, show: (item) => metric(item.value_max, item.metric_type), number: true, help: "Largest update by one task." },
      ], node.metrics)
      : el("p", { class: "missing" }, "Spark records no metrics for this operator."),
  ];
}

function attribution(samples) {
  const parts = Object.entries(samples ?? {}).filter(([, n]) => n > 0);
  const sum = parts.reduce((total, [, n]) => total + n, 0);
  return parts.length ? parts.map(([name, n]) => `${ATTRIBUTED[name] ?? name} ${percent(n / sum)}`).join(" · ") : null;
}

function timers(node) {
  const found = find(node, /^(duration|exclusive time|sort time|scan time|time in aggregation build|shuffle write time)$/);
  if (!found || gone(found.value_sum)) return null;
  return `${found.metric} ${metric(found.value_sum, found.metric_type)} (wall time of all tasks${found.metric === "duration" ? ", with its inputs" : ""})`;
}
