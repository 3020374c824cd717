import assert from "node:assert/strict";
import test from "node:test";
import { heaviest, loadTimes, rowsOf, scaleFor, spread, touched, weightsIn } from "../../src/flame/times.js";

// Times of facts from lists of [bucket, span, weight] per fact; buckets of 20 ms.
function times(facts, count = 10) {
  const entries = facts.flat();
  return loadTimes({ times: { bucket_ms: 20, count, unplaced: 0 } }, {
    "times.entries": Uint8Array.from(facts, (list) => list.length),
    "times.bucket": Uint16Array.from(entries, ([bucket]) => bucket),
    "times.span": Uint16Array.from(entries, ([, span]) => span),
    "times.weight": Float64Array.from(entries, ([, , weight]) => weight),
    "times.critical": Float64Array.from(entries, ([, , weight]) => weight / 2),
    "times.n": Uint8Array.from(entries, () => 1),
  });
}

const FACTS = [[[0, 0, 5], [3, 0, 7]], [[2, 3, 40]], [[10, 0, 9]]];

test("a selection takes the buckets it touches", () => {
  const all = times(FACTS);
  assert.deepEqual(touched(all, [0, 20]), [0, 1]);
  assert.deepEqual(touched(all, [19, 21]), [0, 2]);
  assert.deepEqual(touched(all, [60, 60.5]), [3, 4]);
  assert.deepEqual(touched(all, [-50, 1e9]), [0, 10]);
});

test("weights of a selection: moments whole, what lasts by its share", () => {
  const found = weightsIn(times(FACTS), [[60, 100]]);
  assert.deepEqual([...found.weight], [7, 20, 0]);
  assert.deepEqual([...found.critical], [3.5, 10, 0]);
  assert.deepEqual([...found.n], [1, 1, 0]);
});

test("several ranges count once where they overlap; none selects nothing", () => {
  assert.deepEqual([...weightsIn(times(FACTS), [[0, 20], [40, 80], [60, 80]]).weight], [12, 20, 0]);
  assert.deepEqual([...weightsIn(times(FACTS), []).weight], [0, 0, 0]);
});

test("the whole run selects every weight that has a time, exactly", () => {
  assert.deepEqual([...weightsIn(times(FACTS), [[0, 200]]).weight], [12, 40, 0]);
});

// Cells told bucket by bucket.
function slowly(all, rowOf, rows, per) {
  const columns = Math.ceil(all.count / per);
  const cells = new Float64Array(rows * columns);
  for (let f = 0; f < all.facts; f += 1) {
    for (let i = all.first[f]; i < all.first[f + 1]; i += 1) {
      for (let b = all.bucket[i]; b <= all.bucket[i] + all.span[i]; b += 1) {
        if (b < all.count && rowOf[f] >= 0) cells[rowOf[f] * columns + Math.floor(b / per)] += all.weight[i] / (all.span[i] + 1);
      }
    }
  }
  return cells;
}

test("random times: cells and selections are sums of buckets", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 200; round += 1) {
    const count = 1 + random(40);
    const facts = Array.from({ length: 1 + random(6) }, () => Array.from({ length: random(5) }, () => {
      const bucket = random(count + 1);
      return [bucket, bucket === count ? 0 : random(count - bucket), 1 + random(1000)];
    }));
    const all = times(facts, count);
    const rowOf = Int32Array.from(facts, () => random(4) - 1);
    const per = 1 + random(7);
    const made = spread(all, rowOf, 3, per);
    const expected = slowly(all, rowOf, 3, per);
    assert.equal(made.columns, Math.ceil(count / per));
    made.cells.forEach((weight, i) => assert.ok(Math.abs(weight - expected[i]) < 1e-6, `${weight} is not ${expected[i]}`));

    // Selections that part the run part the weights.
    const at = random(count + 1) * 20;
    const [left, right, whole] = [[[0, at]], [[at, count * 20]], [[0, count * 20]]].map((ranges) => weightsIn(all, ranges).weight);
    whole.forEach((weight, f) => assert.ok(Math.abs(left[f] + right[f] - weight) < 1e-6));
    const placed = facts.map((list) => list.filter(([bucket]) => bucket < count).reduce((sum, [, , weight]) => sum + weight, 0));
    assert.deepEqual([...whole], placed);
  }
});

const MODEL = {
  meta: { event_names: ["cpu", "alloc"], dimensions: { role: ["gc", "task", "jit"] } },
  event: Uint8Array.from([0, 0, 1, 0]),
  weight: Float64Array.from([5, 3, 100, 4]),
  critical: Float64Array.from([0, 3, 0, 0]),
  dimension: { role: Uint8Array.from([1, 0, 1, 2]) },
};

test("rows are the facts of the event and filters, the lightest values in one", () => {
  const taken = rowsOf(MODEL, { event: "cpu" });
  assert.deepEqual([...taken], [0, 0, -1, 0]);
  assert.deepEqual([...rowsOf(MODEL, { event: "cpu", filters: { role: [1], stage: null } })], [0, -1, -1, -1]);
  const found = heaviest(MODEL, taken, "role", 2);
  assert.deepEqual(found.rows, [[1], [2, 0]]);
  assert.deepEqual([...found.rowOf], [0, 1, -1, 1]);
  assert.deepEqual(heaviest(MODEL, taken, "role", 9, true).rows, [[0]]);
});

test("columns are seconds where they fit, and rows whole buckets", () => {
  const of = (count, bucketMs) => scaleFor({ count, bucketMs }, 400);
  assert.deepEqual(of(5_000, 20), [1e3, 20]);
  assert.deepEqual(of(30_000, 20), [1e4, 200]);
  assert.deepEqual(of(1_000, 100), [1e3, 100]);
  assert.deepEqual(of(5_000, 1_000), [6e4, 1e3]);
});

test("a model without times has none, and says so by its reason", () => {
  assert.equal(loadTimes({ times: { reason: "no clock" } }, {}), null);
  assert.equal(loadTimes({}, {}), null);
});
