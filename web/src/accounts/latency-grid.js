// Cells of the heat map of I/O latencies: time from left to right, buckets of latency downwards from
// the slowest, how many requests or calls in each. No element is created here.
import { time } from "../ui/format.js";

// Where a kind of latency is measured.
export const KINDS = { block: "at the device", queue: "including the queue", read: "in the call" };

export const seriesName = (one) => [one.host, one.device, one.operation, KINDS[one.kind] ?? one.kind].filter(Boolean).join(" ");

export function processName(one) {
  if (one.others) return `${one.others} others`;
  return one.pid === null ? "unknown process" : `${one.comm ?? "process"} ${one.pid}`;
}

// The grid of a series, for one of its processes or for all (null), as `ui/heat-cells.js` draws it.
export function latencyGrid(meta, columns, series, process) {
  const of = Object.fromEntries(Object.entries(meta.columns).map(([name, column]) => [name, columns[column]]));
  const mine = [];
  for (let i = 0; i < of.count.length; i += 1) {
    if (of.series[i] === series && (process === null || of.process[i] === process)) mine.push(i);
  }
  const [low, high] = mine.reduce(([least, most], i) => [Math.min(least, of.bucket[i]), Math.max(most, of.bucket[i])], [Infinity, 0]);
  const rows = mine.length ? high - low + 1 : 1;
  const cells = new Float64Array(rows * meta.count);
  for (const i of mine) cells[(high - of.bucket[i]) * meta.count + of.cell[i]] += of.count[i];
  const bucketOf = (row) => 2 ** (high - row);
  return {
    within: false, columns: meta.count, rows, columnMs: meta.step_ms, cellMs: meta.step_ms,
    most: cells.reduce((most, count) => Math.max(most, count), 0),
    at: (column, row) => cells[row * meta.count + column],
    line: (row) => row,
    name: (row) => (mine.length ? `from ${time(bucketOf(row))}` : ""),
    bounds: (row) => [bucketOf(row), 2 * bucketOf(row)],
  };
}
