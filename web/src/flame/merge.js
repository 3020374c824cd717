// Trees that are merged from many places of a view: stacks from the leaf up, and callers and callees
// of one frame.
import { doubled, drawn, effective, factsIn } from "./boxes.js";
import { occurrences } from "./frames.js";

// Above this number of places, boxes lighter than this share of the whole are left out.
const MANY = 100_000;
const LIGHT = 1 / 10_000;

// The same samples from the leaf up: what calls a frame stands below it. Groups stay on top.
export function inverted(view) {
  const { runs, groups } = view;
  const out = boxes();
  const places = makePlaces(runs.size);
  const least = runs.size > MANY ? LIGHT * runs.sum : 0;
  const stacks = (first, last, depth) => {
    const leaves = places.size;
    for (let run = first; run < last; run += 1) if (runs.self[run] > 0) places.add(run, runs.rows[run] - 1, run, runs.self[run], runs.selfN[run]);
    merge(view, out, places, numbers(leaves, places.size), depth, up, least, true);
  };
  if (!groups.length) stacks(0, runs.size, 0);
  for (let run = 0; groups.length && run < runs.size;) {
    if (runs.source[run] >= 0) {
      run = runs.end[run];
      continue;
    }
    out.add({ depth: runs.depth[run], frame: -1, kind: 0, group: -1 - runs.source[run], total: runs.total[run], self: 0, n: runs.n[run], from: [run] });
    if (runs.depth[run] === groups.length - 1) stacks(run + 1, runs.end[run], groups.length);
    run += 1;
  }
  return finished(view, out, (i) => out.group[i] < 0, least);
}

// Callers of a frame: its boxes from there up to the root, merged; the frame itself comes first.
// Callees: what it calls, merged. `range` to look in (see `rangeOf` in frames.js), all unless given.
export function callers(view, frame, range) {
  return around(view, frame, range, up);
}

export function callees(view, frame, range) {
  return around(view, frame, range, down);
}

function around(view, frame, range, step) {
  const { runs } = view;
  const out = boxes();
  const found = occurrences(view, frame, range);
  const places = makePlaces(found.length);
  let [sum, samples] = [0, 0];
  for (const [run, row] of found) {
    places.add(run, row, run, runs.total[run], runs.n[run]);
    sum += runs.total[run];
    samples += runs.n[run];
  }
  const least = runs.size > MANY ? LIGHT * sum : 0;
  merge(view, out, places, numbers(0, places.size), 0, step, least, false);
  const facts = factsIn(runs, found.map(([run]) => [runs.start[run], runs.start[runs.end[run]]]));
  return finished({ ...view, groups: [], sum, samples, effective: effective(facts, runs.weight, runs.ticks) }, out, () => false, least);
}

const numbers = (first, last) => Uint32Array.from({ length: last - first }, (_, i) => first + i);

// Places in the tree, each with the run whose facts it stands for, in columns.
function makePlaces(room) {
  let columns = { run: new Int32Array(room + 1), row: new Uint16Array(room + 1), from: new Int32Array(room + 1), weight: new Float64Array(room + 1), n: new Float64Array(room + 1) };
  const places = {
    size: 0,
    ...columns,
    add(run, row, from, weight, n) {
      if (places.size === places.run.length) {
        columns = Object.fromEntries(Object.keys(columns).map((name) => [name, doubled(places[name])]));
        Object.assign(places, columns);
      }
      const at = places.size;
      places.run[at] = run;
      places.row[at] = row;
      places.from[at] = from;
      places.weight[at] = weight;
      places.n[at] = n;
      places.size += 1;
      return at;
    },
  };
  return places;
}

// The place above goes on as the same place: `next` gets it, unless there is none.
function up({ runs }, places, place, next) {
  if (places.row[place] > 0) places.row[place] -= 1;
  else {
    const above = runs.parent[places.run[place]];
    if (above < 0 || runs.source[above] < 0) return;
    places.run[place] = above;
    places.row[place] = runs.rows[above] - 1;
  }
  next.push(place);
}

function down({ runs }, places, place, next) {
  const at = places.run[place];
  if (places.row[place] + 1 < runs.rows[at]) {
    places.row[place] += 1;
    next.push(place);
    return;
  }
  for (let run = at + 1; run < runs.end[at]; run = runs.end[run]) next.push(places.add(run, 0, run, runs.total[run], runs.n[run]));
}

// Boxes of places by frame, and under each what a step on gives.
function merge(view, out, places, list, depth, step, least, own) {
  const { runs, model } = view;
  const flat = (place) => runs.begin[places.run[place]] + places.row[place];
  const alike = new Map();
  for (const place of list) {
    const frame = model.frame[flat(place)];
    let same = alike.get(frame);
    if (!same) alike.set(frame, (same = { frame, count: 0, total: 0, n: 0, most: place }));
    same.count += 1;
    same.total += places.weight[place];
    same.n += places.n[place];
    if (places.weight[place] > places.weight[same.most]) same.most = place;
  }
  const kept = [...alike.values()].filter(({ total }) => total >= least).sort((a, b) => a.frame - b.frame);
  for (const same of kept) Object.assign(same, { list: new Uint32Array(same.count), count: 0 });
  for (const place of list) {
    const same = alike.get(model.frame[flat(place)]);
    if (same.list) {
      same.list[same.count] = place;
      same.count += 1;
    }
  }
  for (const { frame, total, n, most, list: here } of kept) {
    const at = out.add({ depth, frame, kind: model.kind[flat(most)], group: -1, total, n, self: own && depth === view.groups.length ? total : 0, from: Int32Array.from(here, (place) => places.from[place]) });
    const next = [];
    for (const place of here) step(view, places, place, next);
    if (!own) out.self[at] = Math.max(0, total - next.reduce((sum, place) => sum + places.weight[place], 0));
    merge(view, out, places, next, depth + 1, step, least, own);
  }
}

function boxes() {
  const out = { depth: [], frame: [], kind: [], group: [], total: [], self: [], n: [], from: [] };
  out.add = (box) => {
    for (const [name, value] of Object.entries(box)) out[name].push(value);
    return out.depth.length - 1;
  };
  return out;
}

// `own(i)`: box i consists of what was spent in its runs themselves, not under them. `least`: boxes that
// weigh less are left out. Boxes have `from`, the runs whose facts they stand for.
function finished(view, out, own, least) {
  const { runs } = view;
  const size = out.depth.length;
  const x = new Float64Array(size);
  const next = [];
  for (let i = 0; i < size; i += 1) {
    const depth = out.depth[i];
    x[i] = next[depth] ?? 0;
    next[depth] = x[i] + out.total[i];
    next[depth + 1] = x[i];
  }
  const columns = { size, least, from: out.from, x, id: Float64Array.from({ length: size }, (_, i) => i), depth: Uint16Array.from(out.depth), total: Float64Array.from(out.total), self: Float64Array.from(out.self), n: Float64Array.from(out.n) };
  return drawn(view, columns, { group: (i) => out.group[i], frame: (i) => out.frame[i], kind: (i) => out.kind[i], ranges: (i) => Array.from(out.from[i], (run) => [runs.start[run], own(i) ? runs.start[run + 1] : runs.start[runs.end[run]]]) });
}
