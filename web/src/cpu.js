// What CPU was spent on: by category, by operator, by thread role.
import { el, missing, section } from "./dom.js";
import { count, interval, percent, time, wilson, words } from "./format.js";
import { named } from "./colours.js";
import { facts, help, tipOn } from "./tip.js";

export function cpuSection(summary) {
  return section("cpu", "What the CPU was spent on", "CPU time of task threads by kind of work and by SQL operator, from the profiler's samples; CPU time of the whole process by thread role, from the kernel's counters.",
    el("div", { class: "three" }, categories(summary), operators(summary), roles(summary.cpu)));
}

export function panel(title, text, list, reason) {
  return el("div", { class: "panel" }, el("h3", null, title, help(text)), list.length ? el("div", { class: "hbars" }, list) : missing(reason));
}

const NO_SAMPLES = "The profiler took no samples in this run (profile “full” does), so CPU cannot be divided.";

function categories(summary) {
  const list = [...(summary.categories ?? [])].filter((item) => item.on_cpu_ns !== null || item.share !== null).sort((a, b) => (b.on_cpu_ns ?? b.share) - (a.on_cpu_ns ?? a.share));
  const most = list[0]?.estimate?.high ?? list[0]?.on_cpu_ns ?? list[0]?.share ?? 1;
  return panel("By kind of work", "Each on-CPU sample of a task thread has one category, told by its stack. The thin line is the 95 % interval.",
    list.map((item) => row(words(item.category), item.on_cpu_ns, item.share, most, item.estimate, named(item.category))), NO_SAMPLES);
}

function operators(summary) {
  const list = byName(summary.operators ?? []).slice(0, 14);
  const most = Math.max(1, ...list.map((item) => Math.max(item.estimate.high ?? item.on_cpu_ns, item.python_cpu_ns)));
  const rows = list.map((item) => [
    row(item.name, item.on_cpu_ns, item.share, most, item.estimate, "var(--accent)", [
      ["samples of it", item.hits], ["stages", item.stages.join(", ")], ["SQL executions", item.executions.join(", ")], ["waiting", item.off_cpu_ns ? time(item.off_cpu_ns) : null],
    ]),
    item.python_cpu_ns > 0 && row("… in Python workers", item.python_cpu_ns, null, most, null, named("python")),
    item.expressions.slice(0, 3).map((part) => el("p", { class: "expression" }, el("code", null, part.expression), ` ${time(part.on_cpu_ns)} · ${percent(part.share)}`)),
  ]);
  const unmapped = summary.unmapped?.on_cpu_ns;
  if (list.length && unmapped) rows.push(row("no operator", unmapped, summary.unmapped.ratio, most, null, "#a9adb3"));
  return panel("By SQL operator", "Samples whose stack tells the operator that they ran for, over all SQL executions of the window. What could not be told is “no operator”. CPU of the Python workers that an operator drove is measured apart, by the kernel's clocks.", rows, NO_SAMPLES);
}

// Operators of the same name in all executions of the window, as one: the plans tell them apart.
export function byName(operators) {
  const found = new Map();
  for (const item of operators) {
    if (!item.on_cpu_ns && !item.python_cpu_ns) continue;
    const sum = found.get(item.operator) ?? found.set(item.operator, { name: item.operator, on_cpu_ns: 0, python_cpu_ns: 0, off_cpu_ns: 0, share: 0, hits: 0, n: item.on_cpu?.n, stages: new Set(), executions: new Set(), expressions: new Map() }).get(item.operator);
    sum.on_cpu_ns += item.on_cpu_ns ?? 0;
    sum.python_cpu_ns += item.python_cpu_ns ?? 0;
    sum.off_cpu_ns += item.off_cpu_ns ?? 0;
    sum.share += item.share_of_task_cpu ?? 0;
    sum.hits += item.samples_count ?? 0;
    if (item.on_cpu_ns && item.on_cpu?.n !== sum.n) sum.n = null;
    for (const stage of item.stage_ids ?? []) sum.stages.add(stage);
    if (item.sql_id !== null && item.sql_id !== undefined) sum.executions.add(item.sql_id);
    // Each execution numbers its columns anew.
    for (const part of item.expressions ?? []) {
      const text = part.expression.replace(/#\d+L?/g, "");
      sum.expressions.set(text, (sum.expressions.get(text) ?? 0) + part.on_cpu_ns);
    }
  }
  const both = (sum) => sum.on_cpu_ns + sum.python_cpu_ns;
  return [...found.values()].sort((a, b) => both(b) - both(a)).map((sum) => {
    // The share's interval, by the samples of all of them among the same n.
    const [low, high] = sum.n && sum.share ? wilson(sum.hits, sum.n).map((p) => (p * sum.on_cpu_ns) / sum.share) : [null, null];
    return {
      ...sum, estimate: { low, high, n: sum.n }, stages: [...sum.stages], executions: [...sum.executions],
      expressions: [...sum.expressions].map(([expression, ns]) => ({ expression, on_cpu_ns: ns, share: ns / sum.on_cpu_ns })).sort((a, b) => b.on_cpu_ns - a.on_cpu_ns),
    };
  });
}

function roles(cpu) {
  const list = [...(cpu?.roles ?? [])].sort((a, b) => b.cpu_ns - a.cpu_ns);
  const total = list.reduce((sum, item) => sum + item.cpu_ns, 0) || 1;
  return panel("By thread role", "CPU time of every thread of the application's processes, as the kernel counts it. Spark's own metrics see the task threads only.",
    list.map((item) => row(words(item.role), item.cpu_ns, item.cpu_ns / total, list[0].cpu_ns, null, named(item.role), [
      ["threads", count(item.threads_count)], ["waited for a CPU", item.run_delay_ns === null || item.run_delay_ns === undefined ? null : time(item.run_delay_ns)],
    ])), cpu?.reason ?? "The OS probe did not run, so only the task CPU that Spark counts is known.");
}

export function row(name, value, share, most, estimate, colour, more = []) {
  const at = (amount) => `${Math.max(0, Math.min(100, (amount / most) * 100))}%`;
  const whisker = estimate?.low !== undefined && estimate?.low !== null && estimate.high !== estimate.low
    ? el("span", { class: "whisker", style: { left: at(estimate.low), width: `calc(${at(estimate.high)} - ${at(estimate.low)})` } }) : null;
  const node = el("div", { class: "hbar", tabindex: "0" },
    el("span", { class: "name" }, el("bdi", null, name)),
    el("span", { class: "track" }, el("span", { class: "fill", style: { width: at(value ?? share), background: colour } }), whisker),
    el("span", { class: "value" }, time(value)),
    el("span", { class: "share" }, percent(share)));
  return tipOn(node, () => facts(name, [["CPU", time(value)], ["share", percent(share)], ["95 % interval", estimate ? interval(estimate.low, estimate.high, "ns") : null], ["of samples", estimate?.n], ...more]));
}
