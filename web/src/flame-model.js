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
  const event = model.meta.event_names.indexOf(query.event);
  const filters = Object.entries(query.filters ?? {}).filter(([, allowed]) => allowed).map(([name, allowed]) => [model.dimension[name], new Set(allowed)]);
  const chosen = [];
  for (let i = 0; i < model.node.length; i += 1) {
    if (model.event[i] === event && filters.every(([column, allowed]) => allowed.has(column[i]))) chosen.push(i);
  }
  const groups = query.group ? split(chosen, model.dimension[query.group], model.weight) : [{ key: -1, facts: chosen }];
  const buffers = { self: new Float64Array(model.frame.length), n: new Float64Array(model.frame.length), sums: new Float64Array(model.frame.length), best: new Float64Array(model.frame.length), what: new Int16Array(model.frame.length) };
  return layout(model, groups.map((group) => part(model, group, query.group ? 1 : 0, buffers)), query);
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

// One group summed on the tree: columns for its nodes that have weight, its own box first.
function part(model, group, shift, { self, n, sums, best, what }) {
  const size = model.frame.length;
  self.fill(0);
  n.fill(0);
  const kinds = new Map();
  for (const fact of group.facts) {
    self[model.node[fact]] += model.weight[fact];
    n[model.node[fact]] += model.n[fact];
    const kind = model.dimension.what[fact];
    (kinds.get(kind) ?? kinds.set(kind, []).get(kind)).push(fact);
  }
  const total = Float64Array.from(self);
  upwards(model.parent, total);
  upwards(model.parent, n);
  best.fill(0);
  what.fill(-1);
  for (const [kind, facts] of kinds) {
    sums.fill(0);
    for (const fact of facts) sums[model.node[fact]] += model.weight[fact];
    upwards(model.parent, sums);
    for (let i = 0; i < size; i += 1) if (sums[i] > best[i]) [best[i], what[i]] = [sums[i], kind];
  }
  let count = shift;
  for (let i = 0; i < size; i += 1) if (total[i] > 0) count += 1;
  const out = columns(count);
  let at = 0;
  if (shift) {
    out.source[0] = -1 - group.key;
    out.what[0] = -1;
    for (let i = 0; i < size; i = model.end[i]) [out.total[0], out.n[0]] = [out.total[0] + total[i], out.n[0] + n[i]];
    at = 1;
  }
  for (let i = 0; i < size; i += 1) {
    if (total[i] <= 0) {
      i = model.end[i] - 1;
      continue;
    }
    out.source[at] = i;
    out.depth[at] = model.depth[i] + shift;
    out.self[at] = self[i];
    out.total[at] = total[i];
    out.n[at] = n[i];
    out.what[at] = what[i];
    out.purity[at] = best[i] / total[i];
    at += 1;
  }
  return out;
}

function upwards(parent, sums) {
  for (let i = sums.length - 1; i >= 0; i -= 1) if (parent[i] >= 0) sums[parent[i]] += sums[i];
}

function columns(size) {
  return { size, source: new Int32Array(size), depth: new Uint16Array(size), self: new Float64Array(size), total: new Float64Array(size), n: new Float64Array(size), what: new Int16Array(size), purity: new Float32Array(size) };
}

function join(parts) {
  if (parts.length === 1) return parts[0];
  const whole = columns(parts.reduce((sum, one) => sum + one.size, 0));
  let at = 0;
  for (const one of parts) {
    for (const name of Object.keys(one)) if (name !== "size") whole[name].set(one[name], at);
    at += one.size;
  }
  return whole;
}

function layout(model, parts, query) {
  const out = join(parts);
  const { size, depth, source, total } = out;
  const { parent, end } = links(depth);
  const x = new Float64Array(size);
  const cursor = [0];
  let [sum, samples] = [0, 0];
  for (let i = 0; i < size; i += 1) {
    const d = depth[i];
    x[i] = cursor[d];
    cursor[d] += total[i];
    cursor[d + 1] = x[i];
    if (d === 0) [sum, samples] = [sum + total[i], samples + out.n[i]];
  }
  return {
    ...out, parent, end, x, sum, samples,
    // Index of the frame's name; the number of names where it is a group's box.
    frame: (i) => (source[i] >= 0 ? model.frame[source[i]] : model.strings.length),
    frames: model.strings.length + 1,
    name: (frame) => model.strings.get(frame),
    label: (i) => (source[i] >= 0 ? model.strings.get(model.frame[source[i]]) : groupName(model, query.group, -1 - source[i])),
    kind: (i) => (source[i] >= 0 ? model.meta.kinds[model.kind[source[i]]] : "group"),
    unit: model.meta.events[query.event]?.unit ?? "ns",
  };
}

export function groupName(model, dimension, index) {
  const value = model.meta.dimensions[dimension][index];
  if (value === null) return { stage: "no stage", iteration: "no iteration", operator: "no operator" }[dimension] ?? "unknown";
  return dimension === "stage" || dimension === "iteration" ? `${dimension} ${value}` : String(value);
}

// Which nodes match, and the share of the part in view that lies in or under a match.
export function search(view, wanted, root = -1) {
  const known = new Uint8Array(view.frames); // 0 not tried, 1 no, 2 yes
  const hit = new Uint8Array(view.size);
  const [first, last] = root < 0 ? [0, view.size] : [root, view.end[root]];
  let [matched, frames, covered] = [0, 0, 0];
  for (let i = 0; i < view.size; i += 1) {
    const frame = view.frame(i);
    const found = frame === view.frames - 1 ? 1 + wanted.test(view.label(i)) : (known[frame] ||= 1 + wanted.test(view.name(frame)));
    if (found === 1) continue;
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

// Frames by name: self, and total without counting a recursive frame twice.
export function hottest(view, root = -1) {
  const self = new Float64Array(view.frames);
  const total = new Float64Array(view.frames);
  const inside = new Uint16Array(view.frames);
  const where = new Int32Array(view.frames).fill(-1);
  const open = [];
  const [first, last] = root < 0 ? [0, view.size] : [root, view.end[root]];
  for (let i = first; i < last; i += 1) {
    while (open.length && view.end[open.at(-1)] <= i) inside[view.frame(open.pop())] -= 1;
    const frame = view.frame(i);
    self[frame] += view.self[i];
    if (!inside[frame]) total[frame] += view.total[i];
    inside[frame] += 1;
    where[frame] = i;
    open.push(i);
  }
  const list = [];
  for (let frame = 0; frame < view.frames - 1; frame += 1) {
    if (where[frame] >= 0) list.push({ name: view.name(frame), self: self[frame], total: total[frame], kind: view.kind(where[frame]) });
  }
  return list;
}
