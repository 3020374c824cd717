import assert from "node:assert/strict";
import test from "node:test";
import { seconds } from "../src/experiment-format.js";
import { grids, shade } from "../src/experiment-matrix.js";
import { extent, linear, steps } from "../src/plot.js";

test("scales reach both ends, and a single value does not divide by nothing", () => {
  const x = linear(2, 4, 100, 300);
  assert.deepEqual([x(2), x(3), x(4)], [100, 200, 300]);
  assert.equal(linear(5, 5, 0, 10)(5), 0);
  const [low, high] = extent([3, null, 3]);
  assert.ok(low < 3 && high > 3);
  assert.deepEqual(extent([]), [0, 1]);
});

test("ticks are round and lie inside", () => {
  assert.deepEqual(steps(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  for (const [low, high] of [[-0.031, 0.042], [17.2, 17.9], [1e-9, 3e-9], [0, 1e6]]) {
    const found = steps(low, high, 6);
    assert.ok(found.length >= 2 && found.length <= 8, `${low} ${high} ${found}`);
    assert.ok(found.every((value) => value >= low - 1e-12 && value <= high + 1e-12));
  }
});

test("colours tell less from more, and nothing close to one", () => {
  const limits = [0.01, 0.03, 0.1];
  assert.equal(shade(1.005, limits), null);
  assert.equal(shade(null, limits), null);
  assert.notEqual(shade(0.95, limits), shade(1.05, limits));
  assert.equal(shade(1.5, limits), shade(1.11, limits));
  assert.equal(shade(2, []), null);
});

test("a third factor makes a grid for each of its levels", () => {
  const cells = ["1", "2"].flatMap((a) => ["x", "y"].flatMap((b) => ["p", "q"].map((c) => ({ treatment: a + b + c, levels: { a, b, c } }))));
  const { rows, columns, parts } = grids({ factors: { a: ["1", "2"], b: ["x", "y"], c: ["p", "q"] }, cells });
  assert.deepEqual([rows, columns], ["a", "b"]);
  assert.deepEqual(parts.map(({ title, cells: own }) => [title, own.length]), [["c = p", 4], ["c = q", 4]]);
});

test("a time of nothing is in the unit of its axis", () => {
  assert.deepEqual([seconds(0), seconds(1.5), seconds(null)], ["0 s", "1.50 s", "–"]);
});
