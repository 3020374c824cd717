// One operator of a plan: its time with interval, the expressions it was spent on, Spark's metrics.
import { el } from "./dom.js";
import { interval, metric, percent, time } from "./format.js";
import { table } from "./table.js";

const TOLD = { line: "line of generated code", method: "generated method", frames: "class of its own" };

export function find(node, pattern) {
  return (node.metrics ?? []).find((item) => pattern.test(item.metric));
}

// `told`: what the samples say of the operator, where any does; `nodes`: the whole plan.
export function details(node, told, nodes) {
  const all = nodes.reduce((sum, other) => sum + (other.on_cpu_ns ?? 0), 0);
  const timer = timers(node);
  return [
    el("h4", null, el("bdi", null, node.name)),
    el("dl", { class: "pairs" }, [
      ["CPU of tasks", known(node.on_cpu_ns) ? `${time(node.on_cpu_ns)}${all ? ` · ${percent(node.on_cpu_ns / all)} of the plan` : ""}` : "not sampled"],
      ["95 % interval", told?.on_cpu && known(told.on_cpu.low) ? interval(told.on_cpu.low, told.on_cpu.high, "ns") : null],
      ["Tasks waiting", known(node.off_cpu_ns) ? time(node.off_cpu_ns) : null],
      ["Samples", node.samples_count],
      ["Told by", how(told?.samples_by)],
      ["Spark's own timer", timer && `${timer} (wall time; holds what lies below, too)`],
      ["Stages", (node.stage_ids ?? []).join(", ") || null],
    ].filter(([, value]) => known(value)).map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
    el("pre", null, node.simple_string ?? node.name),
    told?.expressions?.length > 0 && table([
      { label: "Expression", value: (item) => item.expression, show: (item) => el("bdi", { class: "mono" }, item.expression) },
      { label: "CPU", value: (item) => item.on_cpu_ns, show: (item) => time(item.on_cpu_ns), number: true },
      { label: "Of it", value: (item) => item.share, show: (item) => percent(item.share), number: true, help: "Share of the operator's CPU." },
    ], told.expressions),
    (node.metrics ?? []).length > 0
      ? table([
        { label: "Metric", value: (item) => item.metric },
        { label: "Sum", value: (item) => item.value_sum, show: (item) => metric(item.value_sum, item.metric_type), number: true },
        { label: "Least", value: (item) => item.value_min, show: (item) => metric(item.value_min, item.metric_type), number: true, help: "Smallest update by one task." },
        { label: "Most", value: (item) => item.value_max, show: (item) => metric(item.value_max, item.metric_type), number: true, help: "Largest update by one task." },
      ], node.metrics)
      : el("p", { class: "missing" }, "Spark counts no metrics here."),
  ];
}

function known(value) {
  return value !== null && value !== undefined;
}

function how(samples) {
  const parts = Object.entries(samples ?? {}).filter(([, n]) => n > 0);
  const sum = parts.reduce((total, [, n]) => total + n, 0);
  return parts.length ? parts.map(([name, n]) => `${TOLD[name] ?? name} ${percent(n / sum)}`).join(" · ") : null;
}

function timers(node) {
  const found = find(node, /^(duration|sort time|scan time|time in aggregation build|shuffle write time)$/);
  return found && known(found.value_sum) ? `${found.metric} ${metric(found.value_sum, found.metric_type)}` : null;
}
