// What CPU was spent on: by category, by operator, by thread role.
import { barPanel, cpuBar } from "../ui/bars.js";
import { named, NEUTRAL } from "../ui/colours.js";
import { el, section } from "../ui/dom.js";
import { count, percent, time, wilson, words } from "../ui/format.js";

export function cpuSection(summary) {
  return section("cpu", "What the CPU was spent on", "CPU time of tasks by kind of work and by SQL operator, from the profiler's samples, both with the Python workers of the tasks; CPU time of whole processes by thread role, from the kernel's counters.",
    el("div", { class: "three" }, categories(summary), operators(summary), roles(summary.cpu)));
}

const NO_SAMPLES = "The profiler took no samples in this run, so its CPU time cannot be broken down; profile “full” takes them.";

function categories(summary) {
  const list = [...(summary.categories ?? [])].filter((item) => item.on_cpu_ns !== null || item.share !== null).sort((a, b) => (b.on_cpu_ns ?? b.share) - (a.on_cpu_ns ?? a.share));
  const most = list[0]?.estimate?.high ?? list[0]?.on_cpu_ns ?? list[0]?.share ?? 1;
  return barPanel("By kind of work", `Each CPU sample of a task thread falls into one category, by its stack. The thin line is the 95 % interval. ${base(summary)}`,
    list.map((item) => cpuBar(words(item.category), item.on_cpu_ns, item.share, most, item.estimate, named(item.category))), NO_SAMPLES);
}

// What shares of operators and of kinds of work are of.
function base({ cpu_base: of }) {
  return of?.total_ns ? `Shares are of the CPU time of ${of.name}: ${time(of.total_ns)}.` : "Shares are of task CPU time.";
}

function operators(summary) {
  const list = byName(summary.operators ?? []).slice(0, 14);
  const most = Math.max(1, ...list.map((item) => item.estimate.high ?? item.cpu_ns));
  const rows = list.map((item) => [
    cpuBar(item.name, item.cpu_ns, item.share, most, item.estimate, "var(--accent)", [
      ["of this operator", item.hits], ["stages", item.stages.join(", ")], ["SQL executions", item.executions.join(", ")], ["waiting", item.off_cpu_ns ? time(item.off_cpu_ns) : null],
    ]),
    item.python_cpu_ns > 0 && cpuBar("… in Python workers", item.python_cpu_ns, (item.share * item.python_cpu_ns) / item.cpu_ns, most, null, named("python")),
    item.expressions.slice(0, 3).map((part) => el("p", { class: "expression" }, el("code", null, part.expression), ` ${time(part.on_cpu_ns)} · ${percent(part.share)}`)),
  ]);
  const rest = summary.unmapped ?? {};
  const unmapped = (rest.on_cpu_ns ?? 0) + (rest.python_cpu_ns ?? 0);
  if (list.length && unmapped) rows.push(cpuBar("no operator", unmapped, rest.share_with_workers ?? rest.ratio, most, null, NEUTRAL));
  return barPanel("By SQL operator", `CPU samples attributed to an operator by their stack, over all SQL executions of the window; “no operator” is the rest. The CPU time of the Python workers that an operator drives is part of it, counted by the kernel. ${base(summary)}`, rows, NO_SAMPLES);
}

// Operators of the same name in all executions of the window, merged: the plans list them separately.
export function byName(operators) {
  const found = new Map();
  for (const item of operators) {
    if (!item.on_cpu_ns && !item.python_cpu_ns) continue;
    const sum = found.get(item.operator) ?? found.set(item.operator, { name: item.operator, on_cpu_ns: 0, python_cpu_ns: 0, off_cpu_ns: 0, share: 0, threads: 0, hits: 0, n: item.on_cpu?.n, stages: new Set(), executions: new Set(), expressions: new Map() }).get(item.operator);
    sum.on_cpu_ns += item.on_cpu_ns ?? 0;
    sum.python_cpu_ns += item.python_cpu_ns ?? 0;
    sum.off_cpu_ns += item.off_cpu_ns ?? 0;
    sum.threads += item.share_of_task_cpu ?? 0;
    sum.share += item.share_with_workers ?? item.share_of_task_cpu ?? 0;
    sum.hits += item.samples_count ?? 0;
    if (item.on_cpu_ns && item.on_cpu?.n !== sum.n) sum.n = null;
    for (const stage of item.stage_ids ?? []) sum.stages.add(stage);
    if (item.sql_id !== null && item.sql_id !== undefined) sum.executions.add(item.sql_id);
    // Each execution numbers its columns again.
    for (const part of item.expressions ?? []) {
      const text = part.expression.replace(/#\d+L?/g, "");
      sum.expressions.set(text, (sum.expressions.get(text) ?? 0) + part.on_cpu_ns);
    }
  }
  const both = (sum) => sum.on_cpu_ns + sum.python_cpu_ns;
  return [...found.values()].sort((a, b) => both(b) - both(a)).map((sum) => {
    // The interval of the share of task threads, by the samples of all of them among the same n; what workers used is counted.
    const [low, high] = sum.n && sum.threads ? wilson(sum.hits, sum.n).map((p) => (p * sum.on_cpu_ns) / sum.threads + sum.python_cpu_ns) : [null, null];
    return {
      ...sum, cpu_ns: both(sum), estimate: { low, high, n: sum.n }, stages: [...sum.stages], executions: [...sum.executions],
      expressions: [...sum.expressions].map(([expression, ns]) => ({ expression, on_cpu_ns: ns, share: ns / sum.on_cpu_ns })).sort((a, b) => b.on_cpu_ns - a.on_cpu_ns),
    };
  });
}

function roles(cpu) {
  const list = [...(cpu?.roles ?? [])].sort((a, b) => b.cpu_ns - a.cpu_ns);
  const total = list.reduce((sum, item) => sum + item.cpu_ns, 0) || 1;
  return barPanel("By thread role", "CPU time of every thread of the application's processes, counted by the kernel. Spark's own metrics cover the task threads only.",
    list.map((item) => cpuBar(words(item.role), item.cpu_ns, item.cpu_ns / total, list[0].cpu_ns, null, named(item.role), [
      ["threads", count(item.threads_count)], ["waited for a CPU", item.run_delay_ns === null || item.run_delay_ns === undefined ? null : time(item.run_delay_ns)],
    ])), cpu?.reason ?? "The OS probe did not run, so only the task CPU time that Spark counts is known.");
}
