// Frames of a view by name: search, self and total, and where a frame is.
import { groupName } from "./boxes.js";

// A regex as typed; as plain text where it is none. Null for nothing.
export function pattern(text) {
  if (!text) return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

// Which boxes match, and the share of the part in view (box `root`) that lies in or under a match.
// `partial`: `frames` are those that are drawn alone.
export function search(view, wanted, root = -1) {
  const known = new Uint8Array(view.frames); // 0 not tried, 1 no, 2 yes
  const matches = (frame, label) => (known[frame] ||= 1 + wanted.test(label())) === 2;
  const hit = new Uint8Array(view.size);
  for (let i = 0; i < view.size; i += 1) {
    const frame = view.frame(i);
    if (frame < view.frames - 1) hit[i] = matches(frame, () => view.name(frame));
    // A folded box matches by the frames that it stands for.
    else hit[i] = wanted.test(view.label(i)) || [...(view.folded?.(i)?.names() ?? [])].some((one) => matches(one, () => view.name(one)));
  }
  const met = view.run || view.least > 0 ? metNames(view, matches) : null;
  const { matched, frames } = view.run ? covered(view, met, wanted, rangeOf(view, root)) : shown(view, hit, root);
  // Where light boxes are left out, their samples count all the same.
  const partial = view.least > 0;
  const all = partial ? sampled(view, met, wanted, root) : matched;
  const whole = root < 0 ? view.sum : view.total[root];
  return { hit, frames, partial, matched: all, share: whole ? all / whole : 0 };
}

// The one box that all matches lie in; -1 where they lie in several.
export function onlyMatch({ hit }, view) {
  const first = hit.indexOf(1);
  return first >= 0 && hit.indexOf(1, view.end[first]) < 0 ? first : -1;
}

// Of the drawn boxes.
function shown(view, hit, root) {
  const [first, last] = root < 0 ? [0, view.size] : [root, view.end[root]];
  let [matched, frames, beyond] = [0, 0, 0];
  for (let i = first; i < last; i += 1) {
    if (!hit[i]) continue;
    frames += 1;
    // A match under a match is there already.
    if (i >= beyond) [matched, beyond] = [matched + view.total[i], view.end[i]];
  }
  return { matched, frames };
}

// For each name whether it matches: a large tree has far fewer names than frames.
const metNames = (view, matches) => Uint8Array.from({ length: view.frames - 1 }, (_, name) => Number(matches(name, () => view.name(name))));

// Of all runs in a range (see `rangeOf`), drawn or not.
function covered(view, met, wanted, [first, last, top]) {
  const { runs: { source, rows, begin, depth, total, end }, model, query } = view;
  const { frame } = model;
  let [matched, frames, beyond] = [0, 0, 0];
  for (let run = first; run < last; run += 1) {
    let hits = 0;
    if (source[run] < 0) hits = Number(wanted.test(groupName(model, query.groups[depth[run]], -1 - source[run])));
    else {
      const stop = begin[run] + rows[run];
      for (let at = begin[run] + (run === first ? top : 0); at < stop; at += 1) hits += met[frame[at]];
    }
    if (!hits) continue;
    frames += hits;
    if (run >= beyond) [matched, beyond] = [matched + total[run], end[run]];
  }
  return { matched, frames };
}

// What matches of box `root` of stacks from the leaf up, by its samples.
function sampled(view, met, wanted, root) {
  const { runs: { source, parent, rows, begin, end, self }, model: { frame }, query } = view;
  if (root < 0) return covered(view, met, wanted, rangeOf(view, root)).matched;
  const leaves = view.from[root];
  if (source[leaves[0]] < 0) return covered(view, met, wanted, [leaves[0], end[leaves[0]], 0]).matched;
  const within = (first, last) => {
    for (let at = first; at <= last; at += 1) if (met[frame[at]]) return true;
    return false;
  };
  const above = view.depth[root] - (query.groups?.length ?? 0); // rows from the leaf to the box
  let matched = 0;
  for (const leaf of leaves) {
    let [run, row] = [leaf, rows[leaf] - 1 - above];
    while (row < 0) {
      run = parent[run];
      row += rows[run];
    }
    while (run >= 0 && source[run] >= 0 && !within(begin[run], begin[run] + row)) {
      run = parent[run];
      row = rows[run] - 1;
    }
    if (run >= 0 && source[run] >= 0) matched += self[leaf];
  }
  return matched;
}

// Runs of box `root`, all for -1: [first, last), and the row of the first with which the box begins.
export function rangeOf(view, root) {
  return root < 0 || !view.run ? [0, view.runs.size, 0] : [view.run[root], view.runs.end[view.run[root]], view.row[root]];
}

// Frames by name: self, and total without counting a recursive frame twice. Of box `root` and what
// is under it, boxes drawn or not.
export function hottest(view, root = -1) {
  const { runs, model } = view;
  const names = model.strings.length;
  const [self, total] = [new Float64Array(names), new Float64Array(names)];
  const [n, selfN] = [new Float64Array(names), new Float64Array(names)];
  const beyond = new Uint32Array(names); // where the outermost box of the name ends
  const place = new Int32Array(names).fill(-1);
  const [first, last, top] = rangeOf(view, root);
  const { source, rows, begin, end, total: weights, n: counts } = runs;
  const { frame: frames } = model;
  for (let run = first; run < last; run += 1) {
    if (source[run] < 0) continue;
    const [weight, count, reach, stop] = [weights[run], counts[run], end[run], begin[run] + rows[run]];
    for (let at = begin[run] + (run === first ? top : 0); at < stop; at += 1) {
      const frame = frames[at];
      place[frame] = at;
      if (run < beyond[frame]) continue;
      total[frame] += weight;
      n[frame] += count;
      beyond[frame] = reach;
    }
    const leaf = frames[stop - 1];
    self[leaf] += runs.self[run];
    selfN[leaf] += runs.selfN[run];
  }
  const list = [];
  for (let frame = 0; frame < names; frame += 1) {
    if (place[frame] >= 0) list.push({ frame, name: view.name(frame), self: self[frame], total: total[frame], n: n[frame], selfN: selfN[frame], kind: model.meta.kinds[model.kind[place[frame]]] });
  }
  return list;
}

// The outermost occurrences of a frame in a range (see `rangeOf`): [run, row] of each.
export function occurrences(view, frame, [first, last, top] = rangeOf(view, -1)) {
  const { runs, model } = view;
  const found = [];
  for (let run = first; run < last;) {
    const begin = runs.begin[run];
    const rows = runs.source[run] < 0 ? 0 : runs.rows[run];
    let row = run === first ? top : 0;
    while (row < rows && model.frame[begin + row] !== frame) row += 1;
    if (row < rows) found.push([run, row]);
    run = row < rows ? runs.end[run] : run + 1;
  }
  return found;
}

const stepOf = (view, i) => view.kind(i) + (view.folded(i)?.name ?? view.label(i));

// The path to box `i`, including the box, so that it can be found in another view.
export function pathOf(view, i) {
  const path = [];
  for (let at = i; at >= 0; at = view.parent[at]) path.push(stepOf(view, at));
  return path.reverse();
}

// Number of the box at the end of a path, or of the last one on it that exists; -1 for none.
export function follow(whole, path) {
  let [view, at] = [whole, -1];
  const below = (step) => {
    const last = at < 0 ? view.size : view.end[at];
    for (let i = at + 1; i < last; i = view.end[i]) if (stepOf(view, i) === step) return i;
    return -1;
  };
  for (const step of path) {
    let next = below(step);
    // A box too light to be drawn appears when its caller fills the width.
    const nearer = next < 0 && at >= 0 ? view.zoom(view.id[at]) : null;
    if (nearer) {
      [view, at] = [nearer, placeOf(nearer, view.id[at])];
      next = below(step);
    }
    if (next < 0) break;
    at = next;
  }
  return at < 0 ? -1 : view.id[at];
}

// Where box number `id` stands in a view; -1 where it does not.
export function placeOf({ id }, wanted) {
  let [low, high] = [0, id.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (id[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return id[low] === wanted ? low : -1;
}
