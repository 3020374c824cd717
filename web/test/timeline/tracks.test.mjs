import assert from "node:assert/strict";
import test from "node:test";
import { makeTrack } from "../../src/timeline/tracks.js";

const COLUMNS = { start: Float64Array.from([0, 100, 100]), length: Float32Array.from([50, 30, 0]), lane: Uint8Array.from([0, 0, 1]), stage: Uint8Array.from([0, 1, 1]), status: new Uint8Array(3), id: Float64Array.from([7, 8, 9]), row: Uint8Array.from([0, 0, 1]), name: new Uint8Array(3) };
const names = (...keys) => Object.fromEntries(keys.map((key) => [key, key]));

test("a task means its time and itself, or its stage and executor", () => {
  const track = makeTrack({ kind: "tasks", columns: names("start", "length", "lane", "stage", "status", "id"), statuses: ["success"], lanes: [0, 1].map((slot) => ({ executor: "1", host: "h", slot })), stages: [{ stage_id: 3, label: "stage 3" }, { stage_id: 4, label: "stage 4" }] }, COLUMNS, 100);
  assert.deepEqual(track.at(110, 5)[2], { range: [100, 130], focus: [{ task: [8] }, { stage: [4], executor: ["1"] }, { stage: [4] }] });
  // A task too short for the driver's clock still has a time.
  assert.deepEqual(track.at(100, 20)[2].range, [100, 101]);
  assert.equal(track.at(60, 5), null);
});

test("a stage means its time and its samples, and is coloured as its tasks are", () => {
  const stages = [{ stage_id: 5, label: "stage 5", name: "count", status: "success" }, { stage_id: 3, label: "stage 3" }, { stage_id: 4, label: "stage 4" }];
  const track = makeTrack({ kind: "stages", columns: names("start", "length", "lane"), lanes: 2, stages }, COLUMNS, 100, [{ kind: "tasks", stages: [{ label: "stage 3" }, { label: "stage 4" }, { label: "stage 5" }] }]);
  const [title, pairs, meant] = track.at(20, 5, 1);
  assert.equal(title, "stage 5");
  assert.deepEqual(pairs.map(([, value]) => value), ["50.0 ms", "success", "count"]);
  assert.deepEqual(meant, { range: [0, 50], focus: [{ stage: [5] }] });
  assert.equal(track.at(99.5, 5, 1)[0], "stage 3");
  assert.equal(track.at(90, 5, 1), null);
  const drawn = [];
  const ctx = { set fillStyle(colour) { drawn.push(colour); }, fillRect() {}, fillText() {} };
  track.draw(ctx, 10, 30, { from: 0, to: 200 });
  const tasks = makeTrack({ kind: "tasks", columns: names("start", "length", "lane", "stage", "status", "id"), statuses: ["success"], lanes: [{ executor: "1" }, { executor: "1" }], stages: [{}, {}, {}] }, { ...COLUMNS, stage: Uint8Array.from([2, 0, 1]) }, 100);
  const others = [];
  tasks.draw({ set fillStyle(colour) { others.push(colour); }, fillRect() {}, fillText() {} }, 10, 30, { from: 0, to: 200 });
  assert.deepEqual(drawn, others);
});

test("a pause means its time alone", () => {
  const track = makeTrack({ kind: "pauses", columns: names("start", "length", "row", "name"), rows: ["GC pauses", "safepoints"], names: ["young"] }, COLUMNS, 100);
  assert.deepEqual(track.at(110, 5, 1)[2], { range: [100, 130], focus: null });
});
