import assert from "node:assert/strict";
import test from "node:test";
import { cpuFacts, memoryFacts, turns } from "../src/hardware.js";
import { makeTrack } from "../src/tracks.js";

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
  const ctx = { set fillStyle(colour) { if (colour.startsWith("rgba")) stripes += 1; }, fillRect: (...box) => drawn.push(box) };
  track.draw(ctx, 100, 30, { from: 40, to: 140 });
  assert.equal(stripes, 1);
  assert.deepEqual(drawn.slice(1).map(([x, y]) => [x, Math.floor(y / 14)]), [[10, 1]]);
});

const NOTHING = { migrations_count: null, moves_count: null, per_s: null, by: null, reason: "not seen" };

test("what could not be counted says why, and a scaled value what it saw", () => {
  const none = cpuFacts({ ipc: { ipc: null, reason: "no PMU" }, cpi: { parts: [], reason: "no PMU" }, placement: NOTHING, energy: [] });
  assert.deepEqual(none.map(([, value, note]) => [value, note]), [["–", "no PMU"], ["–", "no PMU"], ["–", "not seen"]]);
  assert.deepEqual([turns(1), turns(null), turns(0.25)], [null, null, "scaled, seen 25.0 % of the time"]);
  const moved = cpuFacts({ ipc: { ipc: 1.5, running_ratio: 1 }, cpi: { parts: [], reason: "-" }, placement: { ...NOTHING, by: "readings", moves_count: 7, per_s: 3.5, threads_count: 2, cpus_count: 4 }, energy: [{ measure: "energy_package_nj", scope: "node/0", watts: 12.3 }] });
  assert.equal(moved.at(-2)[1], "at least 7");
  assert.deepEqual(moved.at(-1), ["Power, package", "12.3 W", "node/0"]);
});

test("a lower bound is told with every figure that comes from it", () => {
  const share = { value: 0.5, low: 0.4, high: 0.6, n: 9 };
  const rows = memoryFacts({ bandwidth: { total_bytes: 2048, bytes_per_s: 1024, lower_bound: true, read_bytes: 2048, written_bytes: null, source: "cache misses", of: "the followed processes", share_of_attainable: share, attainable_by: "reading, 4 threads", local_ratio: null, reason: "estimated" } });
  assert.ok(rows.every(([, value]) => value.startsWith("at least ")));
  assert.equal(rows.at(-1)[1], "at least 50.0 %");
  assert.deepEqual(memoryFacts({ bandwidth: { total_bytes: null, reason: "no source" } }), [["Memory traffic", "–", "no source"]]);
});
