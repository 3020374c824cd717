// Runners that stacks begin with (thread pools, Spark's task runner) as one box: what stands there is the
// same in every stack of its kind and decides nothing. Only drawing folds; sums, search and numbers of
// boxes are those of the whole tree, so a link or a search leads to a folded frame.

// Where runners begin a stack: for each run `top`, the run whose box stands for them (-1: none), `cut`, how
// many of its first rows are folded, and `gone`, how many rows are not drawn from the root down to what
// is left of it. For each top `deep`, its frames in the longest stack, and `kind` of runner; `self`, what
// was spent in folded frames themselves. Null where nothing is folded. `open` holds tops to leave as they are.
export function foldRunners(model, runs, open) {
  const { runner } = model;
  const { size, source, begin, rows, parent, self: own } = runs;
  if (!runner) return null;
  const [top, cut, gone] = [new Int32Array(size).fill(-1), new Uint16Array(size), new Uint16Array(size)];
  const [deep, kind, self] = [new Map(), new Map(), new Map()];
  const reach = new Uint16Array(size); // folded rows from the top down to the end of the run's
  for (let i = 0; i < size; i += 1) {
    if (source[i] < 0) continue;
    const above = parent[i];
    const first = above < 0 || source[above] < 0;
    if (!first && (top[above] < 0 || cut[above] < rows[above])) continue;
    let [k, of] = [0, 0];
    while (k < rows[i] && begin[i] + k < model.there && runner[model.frame[begin[i] + k]]) {
      of = Math.max(of, runner[model.frame[begin[i] + k]]);
      k += 1;
    }
    if (!k) continue;
    const root = first ? i : top[above];
    [top[i], cut[i], reach[i]] = [root, k, k + (first ? 0 : reach[above])];
    deep.set(root, Math.max(deep.get(root) ?? 0, reach[i]));
    kind.set(root, Math.max(kind.get(root) ?? 0, of));
    if (k === rows[i]) self.set(root, (self.get(root) ?? 0) + own[i]);
  }
  let folded = 0;
  for (let i = 0; i < size; i += 1) {
    const above = parent[i];
    if (top[i] >= 0 && (deep.get(top[i]) < 2 || open.has(top[i]))) [top[i], cut[i]] = [-1, 0];
    gone[i] = (above < 0 ? 0 : gone[above]) + (top[i] < 0 ? 0 : cut[i] - Number(top[i] === i));
    folded += cut[i];
  }
  return folded ? { top, cut, gone, deep, kind, self } : null;
}

// Names of the frames that the box of top `i` stands for.
export function framesOf(model, runs, { top, cut }, i) {
  const found = new Set();
  for (let run = i; run < runs.end[i]; run += 1) {
    if (top[run] !== i) continue;
    for (let row = 0; row < cut[run]; row += 1) found.add(model.frame[runs.begin[run] + row]);
  }
  return found;
}
