// Boxes of a flame graph: what a picture is drawn from, whichever way they were found.

// Parent and end of subtree of each entry, from the depths in pre-order.
export function links(depth) {
  const size = depth.length;
  const parent = new Int32Array(size).fill(-1);
  const end = new Uint32Array(size).fill(size);
  let open = -1; // the latest entry whose subtree may go on
  for (let i = 0; i < size; i += 1) {
    const level = depth[i];
    while (open >= 0 && depth[open] >= level) {
      end[open] = i;
      open = parent[open];
    }
    parent[i] = open;
    open = i;
  }
  return { parent, end };
}

// The same column with room for twice as much.
export function doubled(column) {
  const wider = new column.constructor(column.length * 2);
  wider.set(column);
  return wider;
}

// Samples of one weight that would give shares as precise as these do (Kish 1965, Survey Sampling,
// 11.7): ticks of the CPU and of waiting differ in weight. Equal weights: their number.
export function effective(facts, weight, ticks) {
  let [sum, squares] = [0, 0];
  for (let k = 0; k < facts.length; k += 1) {
    const fact = facts[k];
    sum += weight[fact];
    squares += (weight[fact] * weight[fact]) / (ticks(fact) || 1);
  }
  return squares ? (sum * sum) / squares : 0;
}

// A view of boxes {size, depth, x, total, self, n, id}; `of` gives for box i its group (index of the
// dimension's value, -1: a frame), frame, kind and the ranges of its facts; boxes of
// one key(i) have the same, and what is found of them is kept in `known`.
export function drawn(view, boxes, of) {
  const { model, runs, groups, unit } = view;
  const names = model.strings.length;
  const { known = new Map(), key = (i) => i } = of;
  const folded = of.folded ?? (() => null);
  const isFrame = (i) => of.group(i) < 0 && !folded(i);
  const frame = (i) => (isFrame(i) ? of.frame(i) : names);
  const name = (index) => (index < 0 ? "…" : model.strings.get(index)); // … : comes later
  return {
    ...boxes, ...links(boxes.depth), model, runs, unit, frame,
    query: view.query,
    sum: view.sum ?? runs.sum, samples: view.samples ?? runs.samples, effective: view.effective ?? runs.effective,
    // The same for what lies in and under box `root` (-1: all): what a share of it is known from.
    effectiveOf: (root) => (root < 0 ? view.effective ?? runs.effective : effective(factsIn(runs, of.ranges(root)), runs.weight, runs.ticks)),
    zoom: of.zoom ?? (() => null),
    // What a box folds, if it does: {name, frames, names()}; see folding.js.
    folded, unfold: of.unfold ?? (() => null), again: of.again ?? null,
    frames: names + 1,
    name,
    label: (i) => {
      if (of.group(i) >= 0) return groupName(model, groups[boxes.depth[i]], of.group(i));
      const runner = folded(i);
      return runner ? `${runner.name} (${runner.frames} frames)` : name(of.frame(i));
    },
    kind: (i) => (isFrame(i) ? model.meta.kinds[of.kind(i)] : "group"),
    // Value of a dimension that has most weight in box i: {index, share}; -1 where there is none.
    dominant: (i, dimension) => {
      const cache = known.get(dimension) ?? known.set(dimension, new Map()).get(dimension);
      return cache.get(key(i)) ?? cache.set(key(i), heaviest(view, of.ranges(i), dimension)).get(key(i));
    },
  };
}

// Facts of ranges [first, last).
export function factsIn({ facts }, ranges) {
  if (ranges.length === 1) return facts.subarray(...ranges[0]);
  const found = new Uint32Array(ranges.reduce((sum, [first, last]) => sum + last - first, 0));
  let size = 0;
  for (const [first, last] of ranges) {
    found.set(facts.subarray(first, last), size);
    size += last - first;
  }
  return found;
}

function heaviest({ model, runs }, ranges, dimension) {
  const column = model.dimension[dimension];
  if (!column) return { index: -1, share: 0 };
  const weights = new Float64Array(model.meta.dimensions[dimension].length);
  if (weights.length === 1) return { index: 0, share: 1 };
  let whole = 0;
  for (const [first, last] of ranges) {
    for (let k = first; k < last; k += 1) {
      const fact = runs.facts[k];
      weights[column[fact]] += runs.weight[fact];
      whole += runs.weight[fact];
    }
  }
  let index = 0;
  for (let value = 1; value < weights.length; value += 1) if (weights[value] > weights[index]) index = value;
  return { index, share: whole ? weights[index] / whole : 0 };
}

const NUMBERED = { stage: "stage", iteration: "iteration", sql: "SQL", job: "job", task: "task", executor: "executor" };
const NONE = { stage: "no stage", iteration: "no iteration", sql: "no SQL", operator: "no operator", expression: "no expression", job: "no job", task: "no task", executor: "no executor", wait: "not waiting" };

export function groupName(model, dimension, index) {
  const value = model.meta.dimensions[dimension][index];
  if (value === null) return NONE[dimension] ?? "unknown";
  return dimension in NUMBERED ? `${NUMBERED[dimension]} ${value}` : String(value);
}
