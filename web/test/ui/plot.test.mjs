import assert from "node:assert/strict";
import test from "node:test";
import { clock, extent, linear, steps } from "../../src/ui/plot.js";

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

test("ticks of long times are whole minutes and hours, those of short ones decimal", () => {
  const seconds = (low, high) => steps(low * 1e9, high * 1e9, 5, clock).map((ns) => ns / 1e9);
  assert.deepEqual(seconds(520, 790), [540, 600, 660, 720, 780]);
  assert.deepEqual(seconds(0, 4 * 3600), [0, 3600, 7200, 10800, 14400]);
  assert.deepEqual(seconds(9, 11), [9, 9.5, 10, 10.5, 11]);
  assert.deepEqual(seconds(0, 20 * 86400), [0, 5, 10, 15, 20].map((days) => days * 86400));
});
