// The difference of two profiles, without a page: one tree of the stacks of both sides.
import { time } from "../../ui/format.js";
import { stringTable } from "../../ui/packed.js";
import { links } from "../boxes.js";

export const EVENTS = { cpu: ["CPU", "Time on a CPU, sampled."], wall: ["Wall", "Wall time of tasks, running or waiting, sampled."] };
export const SAME = "no significant difference";
export const TOO_FEW = "too few samples";
// Whether a verdict says that something changed.
export const isChange = (verdict) => verdict !== SAME && verdict !== TOO_FEW;

// Columns of the tree, and per event those of its nodes.
export function loadDifference({ events, verdicts }, columns) {
  const column = (name) => columns[`difference.${name}`];
  const sidesOf = (event) => Object.fromEntries(["a", "b", "low", "high", "a_n", "b_n", "verdict"].map((name) => [name, column(`${event}.${name}`)]));
  const depth = column("depth");
  return { frame: column("frame"), depth, ...links(depth), strings: stringTable(column("strings.ends"), column("strings.bytes")), verdicts, sides: Object.fromEntries(events.map((event) => [event, sidesOf(event)])) };
}

// Boxes as wide as A, B or both: what a canvas draws.
export function differenceView(model, event, width) {
  const { frame, depth, parent, end, strings } = model;
  const { a, b } = model.sides[event];
  const total = width === "both" ? a.map((value, i) => value + b[i]) : Float64Array.from(width === "a" ? a : b);
  const size = frame.length;
  const x = new Float64Array(size);
  const next = new Float64Array(size); // where the next child begins
  let sum = 0;
  for (let i = 0; i < size; i += 1) {
    const above = parent[i];
    x[i] = above < 0 ? sum : next[above];
    next[i] = x[i];
    if (above < 0) sum += total[i];
    else next[above] += total[i];
  }
  const name = (index) => strings.get(index);
  return { size, depth, parent, end, x, total, sum, frames: strings.length + 1, frame: (i) => frame[i], name, label: (i) => name(frame[i]), kind: () => "frame" };
}

// Change of a box: B less A or, with sides swapped, A less B.
export function changeOf(model, event, i, swapped) {
  const side = model.sides[event];
  const [sign, low, high] = swapped ? [-1, -side.high[i], -side.low[i]] : [1, side.low[i], side.high[i]];
  return { a: side.a[i], b: side.b[i], change: sign * (side.b[i] - side.a[i]), low, high, samples: [side.a_n[i], side.b_n[i]], verdict: model.verdicts[side.verdict[i]] };
}

// Time per iteration of one side, over all roots.
export function differenceSum(model, event, name) {
  const column = model.sides[event][name];
  let sum = 0;
  for (let i = 0; i < column.length; i = model.end[i]) sum += column[i];
  return sum;
}

export const signed = (ns) => `${ns > 0 ? "+" : ""}${time(ns)}`;
