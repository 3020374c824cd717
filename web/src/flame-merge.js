// Trees that are merged from many places of a view: stacks from the leaf up, and callers and callees
// of one frame.
import { drawn } from "./flame-boxes.js";
import { occurrences } from "./flame-table.js";

// Above this number of places, boxes lighter than this share of the whole are left out.
const MANY = 100_000;
const LIGHT = 1 / 10_000;

// The same samples from the leaf up: what calls a frame stands below it. Groups stay on top.
export function inverted(view) {
  const { runs, groups } = view;
  const out = boxes();
  const leaves = (first, last) => {
    const places = [];
    for (let run = first; run < last; run += 1) {
      if (runs.self[run] > 0) places.push({ run, row: runs.rows[run] - 1, from: run, weight: runs.self[run], n: runs.selfN[run] });
    }
    return places;
  };
  const least = runs.size > MANY ? LIGHT * runs.sum : 0;
  const stacks = (first, last, depth) => merge(view, out, leaves(first, last), depth, up, least, true);
  if (!groups.length) stacks(0, runs.size, 0);
  for (let run = 0; groups.length && run < runs.size;) {
    if (runs.source[run] >= 0) {
      run = runs.end[run];
      continue;
    }
    out.add({ depth: runs.depth[run], frame: -1, kind: 0, group: -1 - runs.source[run], total: runs.total[run], self: 0, n: runs.n[run], ranges: [[runs.start[run], runs.start[runs.end[run]]]] });
    if (runs.depth[run] === groups.length - 1) stacks(run + 1, runs.end[run], groups.length);
    run += 1;
  }
  return finished(view, out);
}

// Callers of a frame: its boxes from there up to the root, merged; the frame itself comes first.
// Callees: what it calls, merged. `range` [first, last) of runs to look in, all unless given.
export function callers(view, frame, range) {
  return around(view, frame, range, up);
}

export function callees(view, frame, range) {
  return around(view, frame, range, down);
}

function around(view, frame, range, step) {
  const { runs } = view;
  const out = boxes();
  const places = occurrences(view, frame, range).map(([run, row]) => ({ run, row, from: run, weight: runs.total[run], n: runs.n[run] }));
  const sum = places.reduce((whole, { weight }) => whole + weight, 0);
  merge(view, out, places, 0, step, places.length > MANY / 10 || runs.size > MANY ? LIGHT * sum : 0, false);
  return finished({ ...view, groups: [], sum, samples: places.reduce((whole, { n }) => whole + n, 0) }, out);
}

// The place above, or none; places are moved, not copied.
function up(view, place) {
  const { runs } = view;
  if (place.row > 0) place.row -= 1;
  else {
    place.run = runs.parent[place.run];
    if (place.run < 0 || runs.source[place.run] < 0) return [];
    place.row = runs.rows[place.run] - 1;
  }
  return [place];
}

function down(view, place) {
  const { runs } = view;
  if (place.row + 1 < runs.rows[place.run]) {
    place.row += 1;
    return [place];
  }
  const found = [];
  for (let run = place.run + 1; run < runs.end[place.run]; run = runs.end[run]) found.push({ run, row: 0, from: run, weight: runs.total[run], n: runs.n[run] });
  return found;
}

// Boxes of places by frame, and under each what a step on gives.
function merge(view, out, places, depth, step, least, own) {
  const { runs, model } = view;
  const flat = (place) => runs.begin[place.run] + place.row;
  const alike = new Map();
  for (const place of places) {
    const frame = model.frame[flat(place)];
    const same = alike.get(frame);
    if (same) same.push(place);
    else alike.set(frame, [place]);
  }
  for (const [frame, same] of [...alike].sort(([a], [b]) => a - b)) {
    let [total, n, most] = [0, 0, same[0]];
    for (const place of same) {
      total += place.weight;
      n += place.n;
      if (place.weight > most.weight) most = place;
    }
    if (total < least) continue;
    const ranges = same.map(({ from }) => [runs.start[from], own ? runs.start[from + 1] : runs.start[runs.end[from]]]);
    const box = { depth, frame, kind: model.kind[flat(most)], group: -1, total, n, ranges, self: own ? (depth === view.groups.length ? total : 0) : null };
    const at = out.add(box);
    let below = 0;
    const next = [];
    for (const place of same) {
      for (const moved of step(view, place)) {
        below += moved.weight;
        next.push(moved);
      }
    }
    if (!own) out.self[at] = Math.max(0, total - below);
    merge(view, out, next, depth + 1, step, least, own);
  }
}

function boxes() {
  const out = { depth: [], frame: [], kind: [], group: [], total: [], self: [], n: [], ranges: [] };
  out.add = (box) => {
    for (const [name, value] of Object.entries(box)) out[name].push(value);
    return out.depth.length - 1;
  };
  return out;
}

function finished(view, out) {
  const size = out.depth.length;
  const x = new Float64Array(size);
  const next = [];
  for (let i = 0; i < size; i += 1) {
    const depth = out.depth[i];
    x[i] = next[depth] ?? 0;
    next[depth] = x[i] + out.total[i];
    next[depth + 1] = x[i];
  }
  const columns = { size, x, id: Float64Array.from({ length: size }, (_, i) => i), depth: Uint16Array.from(out.depth), total: Float64Array.from(out.total), self: Float64Array.from(out.self), n: Float64Array.from(out.n) };
  return drawn(view, columns, { group: (i) => out.group[i], frame: (i) => out.frame[i], kind: (i) => out.kind[i], ranges: (i) => out.ranges[i] });
}
