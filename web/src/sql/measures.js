// What the operators of a plan can be coloured by: what samples say, else what Spark itself counts.
import { bytes, count, gone, short, time } from "../ui/format.js";
import { find } from "./operator.js";
import { isCluster } from "./fold.js";

// Timers of an operator's own work. A pipeline's duration, and a cumulative time, hold what is below.
const OWN = /^(exclusive time|op time|scan time|sort time|time in aggregation build|shuffle write time|fetch wait time|time to (collect|build|broadcast)|broadcast time|build time|time to (initialize|start|run) Python workers|file writing time|task commit time|total time)$/;
const ROWS = /^(number of )?output rows$|^records read$|^shuffle records written$/;
const UNITS = { nsTiming: 1, timing: 1e6 };

// The largest of what an operator says about its data, with what it is.
const SIZES = [
  [/^size of files read$/, "files"], [/^shuffle bytes written$|^num bytes written$/, "shuffled"], [/^written output$/, "written"], [/^data size$|^hashed relation size$|^buffered relation size$/, "in memory"],
];
const SPILL = /^spill size$|^num bytes spilled\b/;

export function ownTime(node) {
  const wanted = isCluster(node) ? /^duration$/ : OWN;
  const timers = (node.metrics ?? []).filter((item) => wanted.test(item.metric) && UNITS[item.metric_type] && !gone(item.value_sum));
  return timers.length ? timers.reduce((sum, item) => sum + item.value_sum * UNITS[item.metric_type], 0) : null;
}

export const outputRows = (node) => find(node, ROWS)?.value_sum ?? null;

// {bytes, what}, or null.
export function size(node) {
  for (const [pattern, what] of SIZES) {
    const found = find(node, pattern);
    if (found && !gone(found.value_sum)) return { bytes: found.value_sum, what };
  }
  return null;
}

export function spilled(node) {
  const found = (node.metrics ?? []).filter((item) => SPILL.test(item.metric) && !gone(item.value_sum));
  return found.length ? found.reduce((sum, item) => sum + item.value_sum, 0) : null;
}

// `parts`: values add up to a whole, so shares are of that; else the longest bar is the largest.
export const MEASURES = {
  cpu: { name: "CPU", title: "CPU of tasks", of: (node) => (node.python_cpu_ns ? (node.on_cpu_ns ?? 0) + node.python_cpu_ns : node.on_cpu_ns), show: time, parts: true, key: "CPU time of tasks and their Python workers, by samples" },
  wait: { name: "Waiting", title: "Tasks waiting", of: (node) => node.off_cpu_ns, show: time, parts: true, key: "time that tasks waited, by samples" },
  time: { name: "Spark's timers", title: "Spark's timer", of: ownTime, show: time, key: "Spark's own timers, summed over tasks; that of a pipeline includes its inputs, and operators without a timer have no colour" },
  rows: { name: "Rows out", title: "Rows out", of: outputRows, show: count, key: "output rows" },
  bytes: { name: "Bytes", title: "Bytes", of: (node) => size(node)?.bytes ?? null, show: bytes, key: "bytes read, shuffled, written or kept in memory" },
};

const SAMPLED = ["cpu", "wait"];

// Names of the measures that a plan has, the best first.
export function available(nodes) {
  const sampled = nodes.some((node) => node.samples_count);
  return Object.keys(MEASURES).filter((name) => (SAMPLED.includes(name) ? sampled : nodes.some((node) => MEASURES[name].of(node) > 0)));
}

// Share of a node for its colour, of the whole or of the largest.
export function sharer(nodes, measure) {
  const values = nodes.map((node) => measure.of(node) ?? 0);
  const all = measure.parts ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  return { all, share: (node) => (all ? (measure.of(node) ?? 0) / all : 0) };
}

// Factors of growth: "× 5 240", in words for a tooltip.
export const factor = (explosion) => `× ${explosion.factor >= 100 ? count(Math.round(explosion.factor)) : Number(explosion.factor.toPrecision(2))}`;
export const growth = (explosion) => `${short(explosion.rows_out_count)} rows out of ${short(explosion.rows_in_count)} in`;
