import assert from "node:assert/strict";
import test from "node:test";
import { extent, linear, steps } from "../../src/ui/plot.js";

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
