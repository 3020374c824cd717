// The flame graph's data, without a page: a prefix tree in pre-order, and weights on it by dimension.
//
// Columns of the tree (one entry per node): frame, depth, kind. Columns of the facts (one entry per
// node × event × dimensions): node, event, weight, n and one index per dimension. A subtree is the
// range [node, end[node]), so that sums, layout, search and pruning are single passes over typed
// arrays, whatever the number of stacks.
import { stringTable } from "./packed.js";

export function loadFlame(meta, columns) {
  const column = (name) => columns[`flame.${name}`];
  const depth = column("depth");
  const { parent, end } = links(depth);
  return {
    meta,
    strings: stringTable(column("strings.ends"), column("strings.bytes")),
    frame: column("frame"),
    depth,
    kind: column("kind"),
    parent,
    end,
    node: column("node"),
    event: column("event"),
    weight: column("weight"),
    n: column("n"),
    dimension: Object.fromEntries(Object.keys(meta.dimensions).map((name) => [name, column(name)])),
  };
}

// Parent and end of subtree of each node, from the depths in pre-order.
export function links(depth) {
  const size = depth.length;
  const parent = new Int32Array(size).fill(-1);
  const end = new Uint32Array(size).fill(size);
  const open = [];
  for (let i = 0; i < size; i += 1) {
    while (open.length > depth[i]) end[open.pop()] = i;
    if (open.length) parent[i] = open.at(-1);
    open.push(i);
  }
  return { parent, end };
}

// What is asked for: {event, filters: {dimension: [indices]}, group: dimension or null}.
// Returns the tree to draw, laid out: one entry per node that has weight, groups as a first level.
export function makeView(model, query) {
  const chosen = [];
  const event = model.meta.event_names.indexOf(query.event);
  const filters = Object.entries(query.filters ?? {}).filter(([, allowed]) => allowed);
  for (let i = 0; i < model.node.length; i += 1) {
    if (model.event[i] !== event) continue;
    if (filters.every(([name, allowed]) => allowed.includes(model.dimension[name][i]))) chosen.push(i);
  }
  const groups = query.group ? split(chosen, model.dimension[query.group], model.weight) : [{ key: -1, facts: chosen }];
  const out = { source: [], depth: [], self: [], total: [], n: [], what: [], purity: [] };
  const shift = query.group ? 1 : 0;
  for (const group of groups) emit(model, group, shift, query, out);
  return layout(model, out, query);
}

function split(chosen, dimension, weight) {
  const groups = new Map();
  for (const fact of chosen) {
    const key = dimension[fact];
    const group = groups.get(key) ?? groups.set(key, { key, facts: [], total: 0 }).get(key);
    group.facts.push(fact);
    group.total += weight[fact];
  }
  return [...groups.values()].sort((a, b) => b.total - a.total);
}

// Sums of one group on the tree, appended to `out` for nodes that have weight.
function emit(model, group, shift, query, out) {
  const size = model.frame.length;
  const self = new Float64Array(size);
  const samples = new Float64Array(size);
  const kinds = new Map();
  for (const fact of group.facts) {
    const node = model.node[fact];
    self[node] += model.weight[fact];
    samples[node] += model.n[fact];
    const what = model.dimension.what[fact];
    (kinds.get(what) ?? kinds.set(what, new Float64Array(size)).get(what))[node] += model.weight[fact];
  }
  const total = Float64Array.from(self);
  const best = new Float64Array(size);
  const what = new Int16Array(size).fill(-1);
  upwards(model.parent, total);
  upwards(model.parent, samples);
  for (const [index, sums] of kinds) {
    upwards(model.parent, sums);
    for (let i = 0; i < size; i += 1) if (sums[i] > best[i]) [best[i], what[i]] = [sums[i], index];
  }
  if (shift) {
    let [all, n] = [0, 0];
    for (let i = 0; i < size; i = model.end[i]) [all, n] = [all + total[i], n + samples[i]];
    push(out, -1 - group.key, 0, 0, all, n, -1, 0);
  }
  for (let i = 0; i < size; i += 1) {
    if (total[i] <= 0) i = model.end[i] - 1;
    else push(out, i, model.depth[i] + shift, self[i], total[i], samples[i], what[i], best[i] / total[i]);
  }
}

function upwards(parent, sums) {
  for (let i = sums.length - 1; i >= 0; i -= 1) if (parent[i] >= 0) sums[parent[i]] += sums[i];
}

function push(out, source, depth, self, total, n, what, purity) {
  out.source.push(source);
  out.depth.push(depth);
  out.self.push(self);
  out.total.push(total);
  out.n.push(n);
  out.what.push(what);
  out.purity.push(purity);
}

function layout(model, out, query) {
  const size = out.source.length;
  const depth = Uint16Array.from(out.depth);
  const { parent, end } = links(depth);
  const total = Float64Array.from(out.total);
  const x = new Float64Array(size);
  const cursor = [0];
  let [sum, samples, deepest] = [0, 0, 0];
  for (let i = 0; i < size; i += 1) {
    const d = depth[i];
    x[i] = cursor[d];
    cursor[d] += total[i];
    cursor[d + 1] = x[i];
    if (d === 0) [sum, samples] = [sum + total[i], samples + out.n[i]];
    deepest = Math.max(deepest, d);
  }
  const label = (i) => {
    const source = out.source[i];
    return source >= 0 ? model.strings.get(model.frame[source]) : groupName(model, query.group, -1 - source);
  };
  return {
    size, depth, parent, end, total, x, sum, samples, deepest, label,
    self: Float64Array.from(out.self),
    n: Float64Array.from(out.n),
    what: Int16Array.from(out.what),
    purity: Float32Array.from(out.purity),
    frame: (i) => (out.source[i] >= 0 ? model.frame[out.source[i]] : -1),
    kind: (i) => (out.source[i] >= 0 ? model.meta.kinds[model.kind[out.source[i]]] : "group"),
    unit: model.meta.events[query.event]?.unit ?? "ns",
  };
}

export function groupName(model, dimension, index) {
  const value = model.meta.dimensions[dimension][index];
  if (value === null) return { stage: "no stage", iteration: "no iteration", operator: "no operator" }[dimension] ?? "unknown";
  return dimension === "stage" || dimension === "iteration" ? `${dimension} ${value}` : String(value);
}

// Which nodes match, and the share of the part in view that lies in or under a match.
export function search(view, pattern, root = -1) {
  const names = new Map();
  const hit = new Uint8Array(view.size);
  const [first, last] = root < 0 ? [0, view.size] : [root, view.end[root]];
  let [matched, frames, covered] = [0, 0, 0];
  for (let i = 0; i < view.size; i += 1) {
    const text = view.label(i);
    let found = names.get(text);
    if (found === undefined) names.set(text, (found = pattern.test(text)));
    if (!found) continue;
    hit[i] = 1;
    if (i < first || i >= last) continue;
    frames += 1;
    // A match under a match is there already.
    if (i >= covered) [matched, covered] = [matched + view.total[i], view.end[i]];
  }
  const whole = root < 0 ? view.sum : view.total[root];
  return { hit, frames, matched, share: whole ? matched / whole : 0 };
}

// A regex as typed; as plain text where it is none. Null for nothing.
export function pattern(text) {
  if (!text) return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

// Heaviest frames by name: self, and total without counting a recursive frame twice.
export function hottest(view, root = -1) {
  const found = new Map();
  const open = [];
  const inside = new Map();
  const [first, last] = root < 0 ? [0, view.size] : [root, view.end[root]];
  for (let i = first; i < last; i += 1) {
    while (open.length && view.end[open.at(-1)] <= i) {
      const name = view.label(open.pop());
      inside.set(name, inside.get(name) - 1);
    }
    const name = view.label(i);
    const entry = found.get(name) ?? found.set(name, { name, self: 0, total: 0, kind: view.kind(i), what: view.what[i] }).get(name);
    entry.self += view.self[i];
    if (!inside.get(name)) entry.total += view.total[i];
    inside.set(name, (inside.get(name) ?? 0) + 1);
    open.push(i);
  }
  return [...found.values()].filter((entry) => entry.kind !== "group");
}
