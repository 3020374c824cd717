import assert from "node:assert/strict";
import test from "node:test";
import { makeTrack } from "../../src/timeline/tracks.js";

const TRACK = { kind: "places", cpus: [0, 3], threads: [{ pid: 1, tid: 10 }, { pid: 1, tid: 11 }], step_ms: 10, columns: { time: "time", cpu: "cpu", thread: "thread" } };
const COLUMNS = { time: Float64Array.from([0, 10, 50]), cpu: Uint8Array.from([0, 3, 3]), thread: Uint8Array.from([0, 0, 1]) };

test("a point tells its thread, its CPU and its time", () => {
  const track = makeTrack(TRACK, COLUMNS, 100);
  assert.equal(track.height, 2 * 14 + 2);
  assert.equal(track.at(2, 3, 1)[0], "thread 10 on CPU 0");
  assert.equal(track.at(12, 20, 1)[0], "thread 10 on CPU 3");
  assert.deepEqual(track.at(52, 20, 1)[2], { range: [50, 60], focus: null });
  assert.equal(track.at(30, 3, 1), null);
  assert.equal(track.at(30, 200, 1), null);
});

test("only points in view are drawn, in the row of their CPU", () => {
  const track = makeTrack(TRACK, COLUMNS, 100);
  const drawn = [];
  let stripes = 0;
  const texts = [];
  globalThis.document ??= { documentElement: {} };
  globalThis.getComputedStyle ??= () => ({ getPropertyValue: () => "#000000" });
  const ctx = { set fillStyle(colour) { if (colour.startsWith("rgba")) stripes += 1; }, fillRect: (...box) => (texts.at(-1) === null ? texts.pop() : drawn.push(box)), measureText: () => { texts.push(null); return { width: 20 }; }, fillText: (text) => texts.push(text) };
  track.draw(ctx, 100, 30, { from: 40, to: 140 });
  assert.equal(stripes, 1);
  assert.deepEqual(drawn.slice(1).map(([x, y]) => [x, Math.floor(y / 14)]), [[10, 1]]);
  assert.deepEqual(texts, ["CPU 0", "CPU 3"]);
});

test("CPUs of several nodes say which node they are of", () => {
  const track = makeTrack({ ...TRACK, nodes: [0, 1] }, COLUMNS, 100);
  assert.equal(track.at(2, 3, 1)[0], "thread 10 on CPU 0 (node 0)");
  assert.equal(track.at(12, 20, 1)[0], "thread 10 on CPU 3 (node 1)");
});
