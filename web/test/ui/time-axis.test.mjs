import assert from "node:assert/strict";
import test from "node:test";
import { clock, makeAxis, ticks } from "../../src/ui/time-axis.js";

test("the axis stays inside the run", () => {
  const axis = makeAxis(1000);
  axis.set(-500, 100);
  assert.ok(axis.from >= 0 && axis.to <= 1000);
  axis.set(400, 600);
  axis.zoom(0.5, 500);
  assert.deepEqual([axis.from, axis.to], [450, 550]);
  axis.pan(100);
  assert.deepEqual([axis.from, axis.to], [900, 1000]);
  axis.zoom(1e9);
  assert.deepEqual([axis.from, axis.to], [0, 1000]);
  axis.set(500, 500);
  assert.equal(axis.to - axis.from, 1);
  assert.equal(axis.at(axis.x(500.2, 800), 800), 500.2);
});

test("ticks are round, inside, and not too many", () => {
  for (const [from, to] of [[0, 40_000], [12_345, 12_400], [0, 8.64e7], [0, 5]]) {
    const found = ticks(from, to, 1000);
    assert.ok(found.length >= 2 && found.length <= 12, `${found.length}`);
    assert.ok(found.every(({ ms }) => ms >= from && ms <= to));
    assert.equal(new Set(found.map(({ label }) => label)).size, found.length);
  }
  assert.equal(clock(83_000, 1000), "1 min 23 s");
});
