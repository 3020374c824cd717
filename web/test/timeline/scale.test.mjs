import assert from "node:assert/strict";
import test from "node:test";
import { means } from "../../src/timeline/numbers.js";
import { capacityOf, rounds, topOf, valued } from "../../src/timeline/scale.js";
import { makeTrack } from "../../src/timeline/tracks.js";

// What a track draws, as far as the tests ask.
function drawing() {
  const seen = { texts: [], dashed: [], dash: [] };
  const ctx = {
    fillText: (text, x, y) => seen.texts.push([text, y]), measureText: (text) => ({ width: text.length * 6 }),
    setLineDash: (dash) => { seen.dash = dash; }, moveTo: (x, y) => seen.dash.length && seen.dashed.push(y), lineTo: (x, y) => seen.dash.length && seen.dashed.push(y),
    fillRect() {}, beginPath() {}, stroke() {}, fill() {}, closePath() {},
  };
  return { ctx, seen };
}

globalThis.document ??= { documentElement: {} };
globalThis.getComputedStyle ??= () => ({ getPropertyValue: () => "#000000" });

const AXIS = { from: 0, to: 400, x: (ms, width) => (ms / 400) * width };

test("capacity is a labelled line, and a full host reaches it", () => {
  const columns = { user: Float32Array.from([1.5, 1.5, 1.5, 1.5]), system: Float32Array.from([0.5, 0.5, 0.5, 0.5]) };
  const track = makeTrack({ kind: "stack", unit: "CPUs", series: [{ label: "user", value: "user" }, { label: "system", value: "system" }], capacity: { label: "2 CPUs", value: 2 } }, columns, 100);
  const { ctx, seen } = drawing();
  track.draw(ctx, 100, 107, AXIS);
  assert.ok(seen.texts.some(([text]) => text === "2 CPUs"));
  // The stack ends where the line is: 2 of 2 CPUs, within the room above it.
  const y = 107 - 1 - (2 / topOf(2, { most: 2 })) * (107 - 5);
  assert.ok(seen.dashed.length && seen.dashed.every((at) => Math.abs(at - y) < 1e-9));
  assert.ok(y > 4);
  // The axis has its unit.
  assert.ok(seen.texts.some(([text]) => text === "1 CPU"));
});

test("capacity may change with time, and what goes beyond it is drawn", () => {
  const columns = { slots: Float32Array.from([0, 2, 4, 2]), running: Float32Array.from([0, 2, 5, 1]) };
  const capacity = capacityOf({ label: "slots", value: "slots" }, columns);
  assert.deepEqual([0, 1, 2, 3].map(capacity.at), [0, 2, 4, 2]);
  assert.equal(capacity.most, 4);
  assert.ok(topOf(5, capacity) > 5);
  assert.equal(capacityOf(null, columns), null);
  assert.equal(valued(1.5, "CPUs"), "1.5 CPUs");
  assert.equal(valued(20, "count"), "20");
});

test("an axis has round values in the unit that they are shown in, at least one", () => {
  const GIB = 2 ** 30;
  assert.deepEqual(rounds(23 * GIB, 3, "bytes").map((value) => valued(value, "bytes")), ["8.00 GiB", "16.0 GiB"]);
  assert.deepEqual(rounds(120 * 2 ** 20, 2, "bytes/s").map((value) => valued(value, "bytes/s")), ["64.0 MiB/s"]);
  assert.deepEqual(rounds(415, 2, "/s"), [200, 400]);
  for (let top = 1; top < 1e4; top *= 1.07) for (const name of ["count", "bytes"]) assert.ok(rounds(top, 1, name).length >= 1, `${top} ${name}`);
  // The label of a line at the top is inside the picture.
  const { ctx, seen } = drawing();
  const columns = { running: Float32Array.from([0, 1, 1, 0]) };
  makeTrack({ kind: "series", unit: "count", series: [{ label: "running tasks", value: "running" }] }, columns, 100).draw(ctx, 100, 72, AXIS);
  assert.ok(seen.texts.length && seen.texts.every(([, y]) => y >= 10 && y <= 72));
});

test("a stack has a gap where nothing was read, and does not fall to nothing", () => {
  const columns = { a: Float32Array.from([2, 2, NaN, NaN]) };
  const { ctx } = drawing();
  const points = [];
  ctx.lineTo = (x, y) => points.push([x, y]);
  makeTrack({ kind: "stack", unit: "bytes", series: [{ label: "a", value: "a" }] }, columns, 100).draw(ctx, 100, 72, AXIS);
  assert.equal(points.length, 4);
  assert.ok(points.every(([x]) => x < 50));
});

test("the table has means over equal parts, and nothing where nothing was read", () => {
  const data = Float32Array.from([1, 3, NaN, 5]);
  assert.deepEqual(means(data, 100, 0, 400, 4), [1, 3, NaN, 5]);
  assert.deepEqual(means(data, 100, 0, 400, 2), [2, 5]);
  assert.deepEqual(means(data, 100, 50, 150, 1), [2]);
  assert.deepEqual(means(data, 100, 200, 300, 1), [NaN]);
});

test("without a pointer the legend has the means of what is in view", () => {
  const columns = { a: Float32Array.from([1, 3, 5, 7]) };
  const track = makeTrack({ kind: "series", unit: "bytes", series: [{ label: "used", value: "a" }] }, columns, 100);
  assert.equal(track.legend(null)[0].value, "");
  track.draw(drawing().ctx, 100, 72, { ...AXIS, from: 200, to: 400 });
  assert.equal(track.legend(null)[0].value, "mean 6 B");
  assert.equal(track.legend(110)[0].value, "3 B");
});
