// When the weight of each fact of the flame graph was spent, without a page.
//
// One entry per fact and time bucket, ordered by fact: bucket, span (further buckets over which the
// weight lies evenly), weight, critical, n. The bucket after the last holds what has no time.
import { isShown } from "./model.js";

export function loadTimes(meta, columns) {
  if (!meta.times || meta.times.reason) return null;
  const entries = columns["times.entries"];
  const first = new Uint32Array(entries.length + 1); // entries of fact f: first[f] up to first[f + 1]
  for (let f = 0; f < entries.length; f += 1) first[f + 1] = first[f] + entries[f];
  const column = (name) => columns[`times.${name}`];
  return {
    bucketMs: meta.times.bucket_ms, count: meta.times.count, unplaced: meta.times.unplaced, facts: entries.length, first,
    bucket: column("bucket"), span: column("span"), weight: column("weight"), critical: column("critical"), n: column("n"),
  };
}

// The buckets that a range of ms touches, [from, to).
export function touched({ bucketMs, count }, [from, to]) {
  const first = Math.min(count, Math.max(0, Math.floor(from / bucketMs + 1e-6)));
  return [first, Math.min(count, Math.max(first, Math.ceil(to / bucketMs - 1e-6)))];
}

// Weights of every fact within the ranges: {weight, critical, n}, parallel to the facts. `n` counts a
// sample that a range cuts as one.
export function weightsIn(times, ranges) {
  const before = new Uint32Array(times.count + 2); // selected buckets before each
  for (const range of ranges) {
    const [from, to] = touched(times, range);
    before.fill(1, from + 1, to + 1);
  }
  for (let b = 1; b < before.length; b += 1) before[b] += before[b - 1];
  const { first, bucket, span, weight, critical, n, facts } = times;
  const found = { weight: new Float64Array(facts), critical: new Float64Array(facts), n: new Float64Array(facts) };
  for (let f = 0; f < facts; f += 1) {
    for (let i = first[f]; i < first[f + 1]; i += 1) {
      const wide = span[i] + 1;
      const inside = before[bucket[i] + wide] - before[bucket[i]];
      if (!inside) continue;
      const share = inside / wide;
      found.weight[f] += weight[i] * share;
      found.critical[f] += critical[i] * share;
      found.n[f] += n[i];
    }
  }
  return found;
}

// Weight per cell of `per` buckets and row. `rowOf[fact]` is the fact's row, negative for none.
// Returns {cells (row by row), columns}.
export function spread(times, rowOf, rows, per, critical = false) {
  const columns = Math.max(1, Math.ceil(times.count / per));
  const cells = new Float64Array(rows * columns);
  const gained = new Float64Array(rows * (columns + 1)); // by whole cells of lasting samples
  const { first, bucket, span, facts, count } = times;
  const weight = critical ? times.critical : times.weight;
  for (let f = 0; f < facts; f += 1) {
    const row = rowOf[f];
    if (row < 0) continue;
    for (let i = first[f]; i < first[f + 1]; i += 1) {
      const from = bucket[i];
      if (from >= count) continue;
      const last = from + span[i];
      const [a, b] = [(from / per) | 0, (last / per) | 0];
      if (a === b) {
        cells[row * columns + a] += weight[i];
        continue;
      }
      const rate = weight[i] / (span[i] + 1);
      cells[row * columns + a] += rate * ((a + 1) * per - from);
      cells[row * columns + b] += rate * (last + 1 - b * per);
      gained[row * (columns + 1) + a + 1] += rate * per;
      gained[row * (columns + 1) + b] -= rate * per;
    }
  }
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0, sum = 0, peak = 0; column < columns; column += 1) {
      sum += gained[row * (columns + 1) + column];
      peak = Math.max(peak, sum);
      // What differences of floats leave where nothing lasts is no weight.
      if (sum > peak * 1e-9) cells[row * columns + column] += sum;
    }
  }
  return { cells, columns };
}

// Row 0 for facts that a query's event and filters take, -1 for all others.
export function rowsOf(model, query) {
  const shown = isShown(model, query.event);
  const rows = new Int32Array(model.event.length);
  for (const [name, allowed] of Object.entries(query.filters ?? {})) {
    if (!allowed) continue;
    const column = model.dimension[name];
    const refused = new Uint8Array(model.meta.dimensions[name].length).fill(1);
    for (const index of allowed) refused[index] = 0;
    for (let f = 0; f < rows.length; f += 1) if (refused[column[f]]) rows[f] = -1;
  }
  for (let f = 0; f < rows.length; f += 1) if (rows[f] === 0 && !shown(f)) rows[f] = -1;
  return rows;
}

// Facts `taken` (rows of `rowsOf`) by values of a dimension: {rows, rowOf}. Values stand heaviest
// first, at most `most` of them; what is beyond shares a last row.
export function heaviest(model, taken, dimension, most, critical = false) {
  const totals = new Float64Array(model.meta.dimensions[dimension].length);
  const weight = critical ? model.critical : model.weight;
  const values = model.dimension[dimension];
  for (let f = 0; f < taken.length; f += 1) if (taken[f] === 0) totals[values[f]] += weight[f];
  const order = [...totals.keys()].filter((index) => totals[index] > 0).sort((a, b) => totals[b] - totals[a]);
  const kept = order.length > most ? order.slice(0, most - 1) : order;
  const rowOfValue = new Int32Array(totals.length).fill(kept.length);
  kept.forEach((index, row) => { rowOfValue[index] = row; });
  const rowOf = taken.map((row, f) => (row < 0 ? -1 : rowOfValue[values[f]]));
  return { rows: kept.map((index) => [index]).concat(order.length > kept.length ? [order.slice(kept.length)] : []), rowOf };
}

// Lengths of a column and of a row within it, ms: a second in parts of 20 ms, as in FlameScope, or
// longer ones for longer runs. The first whose columns fit and whose rows are whole buckets.
const SCALES = [[1e3, 20], [1e3, 100], [1e3, 200], [1e4, 200], [1e4, 1e3], [6e4, 1e3], [6e4, 5e3], [6e5, 1e4], [36e5, 6e4], [864e5, 36e5]];

export function scaleFor(times, most) {
  const duration = times.count * times.bucketMs;
  return SCALES.find(([column, row]) => row % times.bucketMs === 0 && duration / column <= most) ?? SCALES.at(-1);
}
