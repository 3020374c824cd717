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
    critical: column("critical"),
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

// The same stacks from the leaf up: what calls a frame stands below it. Made once, when asked for.
export function inverted(model) {
  model.upended ??= upend(model);
  return model.upended;
}

function upend(model) {
  const width = model.strings.length + 1;
  const known = new Map(); // (parent, frame) -> node, in order of appearance
  const [frame, kind, children, leaf] = [[], [], [[]], new Map()];
  for (const node of new Set(model.node)) {
    let at = -1;
    for (let i = node; i >= 0; i = model.parent[i]) {
      const key = (at + 1) * width + model.frame[i];
      let next = known.get(key);
      if (next === undefined) {
        next = frame.length;
        known.set(key, next);
        children[at + 1].push(next);
        children.push([]);
        frame.push(model.frame[i]);
        kind.push(model.kind[i]);
      }
      at = next;
    }
    leaf.set(node, at);
  }
  const order = new Uint32Array(frame.length); // node by appearance -> place in pre-order
  const depth = new Uint16Array(frame.length);
  const made = { frame: new Uint32Array(frame.length), kind: new Uint8Array(frame.length) };
  const open = [[...children[0]].sort((a, b) => frame[b] - frame[a])];
  for (let place = 0; open.length;) {
    const next = open.at(-1).pop();
    if (next === undefined) {
      open.pop();
      continue;
    }
    order[next] = place;
    depth[place] = open.length - 1;
    made.frame[place] = frame[next];
    made.kind[place] = kind[next];
    place += 1;
    open.push(children[next + 1].sort((a, b) => frame[b] - frame[a]));
  }
  return { ...model, ...made, depth, ...links(depth), fromLeaf: true, node: Uint32Array.from(model.node, (node) => order[leaf.get(node)]) };
}

// What is asked for: {event, filters: {dimension: [indices]}, groups: [dimension], weight:
// "time" or "critical", inverted}. Returns the tree to draw, laid out: one entry per node that has
// weight, groups as its first levels in the order asked for.
export function makeView(whole, query) {
  const model = query.inverted ? inverted(whole) : whole;
  const event = model.meta.event_names.indexOf(query.event);
  const weight = query.weight === "critical" ? model.critical : model.weight;
  const filters = Object.entries(query.filters ?? {}).filter(([, allowed]) => allowed).map(([name, allowed]) => [model.dimension[name], new Set(allowed)]);
  const chosen = [];
  for (let i = 0; i < model.node.length; i += 1) {
    if (model.event[i] === event && weight[i] > 0 && filters.every(([column, allowed]) => allowed.has(column[i]))) chosen.push(i);
  }
  const groups = query.groups ?? [];
  const buffers = { weight, self: new Float64Array(model.frame.length), n: new Float64Array(model.frame.length), sums: new Float64Array(model.frame.length), best: new Float64Array(model.frame.length), what: new Int16Array(model.frame.length) };
  const parts = (facts, level) => level === groups.length
    ? [part(model, facts, level, buffers)]
    : split(facts, model.dimension[groups[level]], weight).flatMap((group) => [box(model, group, level), ...parts(group.facts, level + 1)]);
  return layout(model, parts(chosen, 0), { ...query, groups });
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

// The box of a group.
function box(model, group, level) {
  const out = columns(1);
  out.source[0] = -1 - group.key;
  out.depth[0] = level;
  out.what[0] = -1;
  out.total[0] = group.total;
  for (const fact of group.facts) out.n[0] += model.n[fact];
  return out;
}

// Facts summed on the tree: columns for its nodes that have weight.
function part(model, facts, shift, { weight, self, n, sums, best, what }) {
  const size = model.frame.length;
  self.fill(0);
  n.fill(0);
  const kinds = new Map();
  for (const fact of facts) {
    self[model.node[fact]] += weight[fact];
    n[model.node[fact]] += model.n[fact];
    const kind = model.dimension.what[fact];
    (kinds.get(kind) ?? kinds.set(kind, []).get(kind)).push(fact);
  }
  const total = Float64Array.from(self);
  upwards(model.parent, total);
  upwards(model.parent, n);
  best.fill(0);
  what.fill(-1);
  for (const [kind, same] of kinds) {
    sums.fill(0);
    for (const fact of same) sums[model.node[fact]] += weight[fact];
    upwards(model.parent, sums);
    for (let i = 0; i < size; i += 1) if (sums[i] > best[i]) [best[i], what[i]] = [sums[i], kind];
  }
  let count = 0;
  for (let i = 0; i < size; i += 1) if (total[i] > 0) count += 1;
  const out = columns(count);
  let at = 0;
  for (let i = 0; i < size; i += 1) {
    if (total[i] <= 0) {
      i = model.end[i] - 1;
      continue;
    }
    out.source[at] = i;
    out.depth[at] = model.depth[i] + shift;
    out.self[at] = model.fromLeaf ? (model.depth[i] ? 0 : total[i]) : self[i];
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
    label: (i) => (source[i] >= 0 ? model.strings.get(model.frame[source[i]]) : groupName(model, query.groups[depth[i]], -1 - source[i])),
    kind: (i) => (source[i] >= 0 ? model.meta.kinds[model.kind[source[i]]] : "group"),
    unit: model.meta.events[query.event]?.unit ?? "ns",
  };
}

export function groupName(model, dimension, index) {
  const value = model.meta.dimensions[dimension][index];
  if (value === null) return { stage: "no stage", iteration: "no iteration", sql: "no SQL", operator: "no operator", expression: "no expression" }[dimension] ?? "unknown";
  const numbered = { stage: "stage", iteration: "iteration", sql: "SQL" }[dimension];
  return numbered ? `${numbered} ${value}` : String(value);
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
