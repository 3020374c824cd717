// The flame graph's data, without a page: a prefix tree in pre-order, and weights on it by dimension.
//
// The tree is of runs: frames without a branch between them. Columns: frame and kind of all frames,
// runs end to end; run (how many frames each has) and depth (where it begins). Columns of the facts
// (one entry per run × event × dimensions): node (the run), event, weight, n and one index per
// dimension. A subtree is the range [run, end[run]), and as facts stand in the order of runs, what
// it weighs is a range of facts: sums, layout, search and pruning are single passes over typed
// arrays, whatever the number of stacks.
import { stringTable } from "../ui/packed.js";
import { inverted } from "./merge.js";
import { doubled, drawn, effective, links } from "./boxes.js";
import { foldRunners, framesOf } from "./folding.js";

// Above this number of frames, boxes lighter than this share of the part in view are left out.
const MANY = 300_000;
const LIGHT = 1 / 10_000;
// Time of a thread off the CPU comes from its states, where the OS probe saw them, else from wall samples
// that do not run; time on the CPU comes from CPU samples.
export const BOTH = "both";
export const bothOf = (meta) => ["cpu", meta.event_names.includes("state") ? "state" : "wall"];
const RUNNING = "running";

export function loadFlame(meta, columns) {
  const column = (name) => columns[`flame.${name}`];
  const depth = column("depth");
  const run = column("run");
  const node = column("node");
  const model = {
    meta,
    strings: stringTable(column("strings.ends"), column("strings.bytes")),
    ...frames(run, column("deep"), column("frame"), column("kind")), run, depth,
    parent: links(depth).parent,
    node, inOrder: ordered(node), runner: column("runner"),
    event: column("event"), weight: column("weight"), critical: column("critical"), n: column("n"),
    dimension: Object.fromEntries(Object.keys(meta.dimensions).map((name) => [name, column(name)])),
  };
  // The frames of light runs, where they come later: after that, `there` counts all frames.
  model.deepen = (later) => {
    model.frame.set(later["deep.frame"], model.there);
    model.kind.set(later["deep.kind"], model.there);
    model.there = model.frame.length;
  };
  return model;
}

// Frames and kinds, room for all of them, and where those of each run begin: runs that are deep
// behind the others, as their frames come later. `there`: how many have come.
function frames(run, deep, frame, kind) {
  const first = new Uint32Array(run.length);
  let all = 0;
  for (const later of deep ? [0, 1] : [0]) {
    for (let i = 0; i < run.length; i += 1) {
      if (deep && deep[i] !== later) continue;
      first[i] = all;
      all += run[i];
    }
  }
  if (!deep) return { frame, kind, first, there: all };
  const room = { frame: new frame.constructor(all), kind: new kind.constructor(all) };
  room.frame.set(frame);
  room.kind.set(kind);
  return { ...room, first, there: frame.length };
}

// Indices of facts in the order of their runs; null where they are in that order.
function ordered(node) {
  for (let i = 1; i < node.length; i += 1) {
    if (node[i] < node[i - 1]) return Uint32Array.from(node.keys()).sort((a, b) => node[a] - node[b] || a - b);
  }
  return null;
}

// Whether samples of the CPU and of waiting can be shown as one.
export function hasBoth({ meta }) {
  return bothOf(meta).every((name) => meta.event_names.includes(name)) && (meta.dimensions.state?.some((state) => state !== null && state !== RUNNING && state !== "on CPU") ?? false);
}

export function isShown(model, name) {
  const [one, cpu, wall] = [name, ...bothOf(model.meta)].map((event) => model.meta.event_names.indexOf(event));
  if (name !== BOTH) return (fact) => model.event[fact] === one;
  const running = model.meta.dimensions.state.indexOf(RUNNING);
  return (fact) => model.event[fact] === cpu || (model.event[fact] === wall && model.dimension.state[fact] !== running);
}

// What a picture of an event opens with, beside `filters` that hold already: threads that worked for tasks,
// by operator and expression as far as these are known; without such threads, all of them by role.
export function opening(model, { event, filters }) {
  const { meta, dimension, weight } = model;
  const tasks = meta.dimensions.serves?.indexOf("tasks") ?? -1;
  const known = { operator: false, expression: false };
  const shown = isShown(model, event);
  const held = Object.entries(filters).map(([name, allowed]) => [dimension[name], new Set(allowed)]);
  let found = false;
  for (let fact = 0; tasks >= 0 && fact < weight.length; fact += 1) {
    if (!(weight[fact] > 0) || dimension.serves[fact] !== tasks || !shown(fact) || !held.every(([column, allowed]) => allowed.has(column[fact]))) continue;
    found = true;
    for (const name of Object.keys(known)) known[name] ||= meta.dimensions[name] !== undefined && meta.dimensions[name][dimension[name][fact]] !== null;
    if (known.operator && known.expression) break;
  }
  if (found) return { filters: { serves: [tasks] }, groups: known.operator ? Object.keys(known).filter((name) => known[name]) : [] };
  return { filters: {}, groups: meta.dimensions.role?.length > 1 ? ["role"] : [] };
}

// The query: {event, filters: {dimension: [indices]}, groups: [dimension], weight: "time" or
// "critical", inverted, weights, open}; weights {weight, critical, n} stand in for the model's own, where
// a part of the time is selected. `open`: a set of what is left unfolded (see folding.js); nothing is folded
// without one. Returns boxes to draw, laid out, groups as the first levels.
export function makeView(model, query) {
  const own = query.weights ?? model;
  const weight = query.weight === "critical" ? own.critical : own.weight;
  const shown = isShown(model, query.event);
  const filters = Object.entries(query.filters ?? {}).filter(([, allowed]) => allowed).map(([name, allowed]) => [model.dimension[name], new Set(allowed)]);
  const chosen = new Uint32Array(model.node.length);
  let count = 0;
  for (let place = 0; place < chosen.length; place += 1) {
    const fact = model.inOrder ? model.inOrder[place] : place;
    if (weight[fact] > 0 && shown(fact) && filters.every(([column, allowed]) => allowed.has(column[fact]))) {
      chosen[count] = fact;
      count += 1;
    }
  }
  const groups = query.groups ?? [];
  const runs = sums(model, { groups, weight, own }, chosen.subarray(0, count));
  const unit = model.meta.events[query.event === BOTH ? "cpu" : query.event]?.unit ?? "ns";
  const view = { model, runs, groups, unit, query };
  return query.inverted ? inverted(view) : whole(view);
}

// Runs that weigh something, with their sums; a group is a run of one row.
function sums(model, { groups, weight, own }, chosen) {
  const facts = new Uint32Array(chosen.length);
  const seen = new Uint32Array(model.run.length);
  let [source, depth, start] = [new Int32Array(1024), new Uint16Array(1024), new Uint32Array(1024)];
  let [size, placed, parts] = [0, 0, 0];
  const add = (from, at) => {
    if (size + 1 === source.length) [source, depth, start] = [source, depth, start].map(doubled);
    source[size] = from;
    depth[size] = at;
    start[size] = placed;
    size += 1;
  };
  const grow = (list, level) => {
    if (level < groups.length) {
      for (const group of split(list, model.dimension[groups[level]], weight)) {
        add(-1 - group.key, level);
        grow(group.facts, level + 1);
      }
      return;
    }
    parts += 1;
    const { node, parent, depth: depths } = model;
    const path = [];
    for (let k = 0; k < list.length; k += 1) {
      const fact = list[k];
      for (let run = node[fact]; run >= 0 && seen[run] !== parts; run = parent[run]) {
        seen[run] = parts;
        path.push(run);
      }
      while (path.length) {
        const run = path.pop();
        add(run, depths[run] + level);
      }
      facts[placed] = fact;
      placed += 1;
    }
  };
  grow(chosen, 0);
  start[size] = placed;
  const runs = { size, source: source.subarray(0, size), depth: depth.subarray(0, size), start: start.subarray(0, size + 1), facts, weight };
  Object.assign(runs, links(runs.depth));
  return Object.assign(runs, summed(model, runs, own));
}

// Facts by their value of a dimension, in the order that they had, heaviest first.
function split(chosen, dimension, weight) {
  const groups = new Map();
  for (let k = 0; k < chosen.length; k += 1) {
    const key = dimension[chosen[k]];
    const group = groups.get(key) ?? groups.set(key, { key, count: 0, total: 0 }).get(key);
    group.count += 1;
    group.total += weight[chosen[k]];
  }
  for (const group of groups.values()) Object.assign(group, { facts: new Uint32Array(group.count), count: 0 });
  for (let k = 0; k < chosen.length; k += 1) {
    const group = groups.get(dimension[chosen[k]]);
    group.facts[group.count] = chosen[k];
    group.count += 1;
  }
  return [...groups.values()].sort((a, b) => b.total - a.total);
}

// Ticks of the sampler behind a fact: a thread that sleeps on is one sample of many.
function ticksOf({ meta, event }, own) {
  const steps = meta.event_names.map((name) => meta.events[name]?.step ?? null);
  return (fact) => (steps[event[fact]] ? own.weight[fact] / steps[event[fact]] : own.n[fact]);
}

function summed(model, { size, source, start, facts, weight, parent }, own) {
  const { n } = own;
  const [self, selfN] = [new Float64Array(size), new Float64Array(size)];
  const rows = new Uint16Array(size);
  const begin = new Int32Array(size); // place of the run's first frame; -1 - key of a group
  for (let i = 0; i < size; i += 1) {
    const run = source[i];
    rows[i] = run < 0 ? 1 : model.run[run];
    begin[i] = run < 0 ? run : model.first[run];
    // A group's own facts begin with its first run's.
    if (run < 0) continue;
    for (let k = start[i]; k < start[i + 1]; k += 1) {
      self[i] += weight[facts[k]];
      selfN[i] += n[facts[k]];
    }
  }
  const [total, samples] = [Float64Array.from(self), Float64Array.from(selfN)];
  for (let i = size - 1; i >= 0; i -= 1) {
    if (parent[i] < 0) continue;
    total[parent[i]] += total[i];
    samples[parent[i]] += samples[i];
  }
  const x = new Float64Array(size);
  const next = new Float64Array(size); // where the next child begins
  let [sum, count] = [0, 0];
  for (let i = 0; i < size; i += 1) {
    const above = parent[i];
    x[i] = above < 0 ? sum : next[above];
    next[i] = x[i];
    if (above < 0) [sum, count] = [sum + total[i], count + samples[i]];
    else next[above] += total[i];
  }
  return { rows, begin, self, selfN, total, n: samples, x, sum, samples: count, effective: effective(facts, weight, ticksOf(model, own)), ticks: ticksOf(model, own) };
}

// All boxes of a view, or those worth drawing where there are many.
function whole(view) {
  const { runs, model } = view;
  let frames = 0;
  const offset = new Float64Array(runs.size + 1); // number of the first box of each run
  for (let i = 0; i < runs.size; i += 1) offset[i + 1] = frames += runs.rows[i];
  const many = frames > MANY;
  const known = new Map();
  const { open } = view.query;
  const fold = open ? foldRunners(model, runs, open) : null;
  const top = (i) => (fold?.top[i] === i ? i : -1);
  const make = (root) => {
    const found = expand(runs, offset, root, many ? LIGHT : 0, fold);
    const at = (i) => runs.begin[found.run[i]] + found.row[i];
    const folded = (i) => (found.row[i] ? -1 : top(found.run[i]));
    return drawn(view, found, {
      folded: fold && ((i) => {
        const run = folded(i);
        return run < 0 ? null : { name: model.meta.runners?.[fold.kind.get(run) - 1] ?? "runners", frames: fold.deep.get(run), names: () => framesOf(model, runs, fold, run) };
      }),
      // The view again with box `id` and its neighbours unfolded; null if it is not folded.
      unfold: (id) => {
        const run = id < 0 || !fold ? -1 : runOf(offset, runs.size, id);
        if (run < 0 || fold.top[run] < 0 || id - offset[run] >= fold.cut[run]) return null;
        open.add(fold.top[run]);
        return whole(view);
      },
      again: () => whole(view),
      known,
      key: (i) => found.run[i],
      group: (i) => (runs.source[found.run[i]] < 0 ? -1 - runs.source[found.run[i]] : -1),
      frame: (i) => (at(i) < model.there ? model.frame[at(i)] : -1),
      kind: (i) => model.kind[at(i)],
      ranges: (i) => [[runs.start[found.run[i]], runs.start[runs.end[found.run[i]]]]],
      // The same view with the boxes that are worth drawing where box number `id` fills the width;
      // null where these are the ones of the whole (id -1).
      zoom: (id) => (many && id >= 0 ? make(id) : null),
    });
  };
  return make(-1);
}

// The run in which a box of a number lies.
function runOf(offset, size, id) {
  let [low, high] = [0, size];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (offset[middle] <= id) low = middle;
    else high = middle;
  }
  return low;
}

// Boxes of runs in pre-order: the ancestors of box `root`, and what lies under it.
function expand(runs, offset, root, light, fold) {
  const rootRun = root < 0 ? -1 : runOf(offset, runs.size, root);
  const least = light * (rootRun < 0 ? runs.sum : runs.total[rootRun]);
  const kept = [];
  for (let i = rootRun < 0 ? -1 : runs.parent[rootRun]; i >= 0; i = runs.parent[i]) kept.push(i);
  kept.reverse();
  const last = rootRun < 0 ? runs.size : runs.end[rootRun];
  for (let i = Math.max(0, rootRun); i < last;) {
    if (runs.total[i] < least) i = runs.end[i];
    else {
      kept.push(i);
      i += 1;
    }
  }
  // Of a folded run the box of its top, if it is one, and the rows after.
  const from = (i) => (fold ? fold.cut[i] : 0);
  const isTop = (i) => Number(fold?.top[i] === i);
  const size = kept.reduce((sum, i) => sum + runs.rows[i] - from(i) + isTop(i), 0);
  const out = { size, run: new Int32Array(size), row: new Uint16Array(size), id: new Float64Array(size), depth: new Uint16Array(size), x: new Float64Array(size), total: new Float64Array(size), self: new Float64Array(size), n: new Float64Array(size) };
  let at = 0;
  for (const i of kept) {
    const put = (row, depth) => {
      out.run[at] = i;
      out.row[at] = row;
      out.id[at] = offset[i] + row;
      out.depth[at] = depth;
      out.x[at] = runs.x[i];
      out.total[at] = runs.total[i];
      out.n[at] = runs.n[i];
      at += 1;
    };
    if (isTop(i)) {
      put(0, runs.depth[i] - (runs.parent[i] < 0 ? 0 : fold.gone[runs.parent[i]]));
      out.self[at - 1] = fold.self.get(i) ?? 0;
    }
    for (let row = from(i); row < runs.rows[i]; row += 1) put(row, runs.depth[i] + row - (fold ? fold.gone[i] : 0));
    if (from(i) < runs.rows[i]) out.self[at - 1] = runs.self[i];
  }
  return out;
}
