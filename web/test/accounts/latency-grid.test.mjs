import assert from "node:assert/strict";
import test from "node:test";
import { latencyGrid, processName, seriesName } from "../../src/accounts/latency-grid.js";

const meta = { step_ms: 1000, count: 3, columns: { series: "s", process: "p", cell: "c", bucket: "b", count: "n" } };
const columns = { s: [0, 0, 0, 1], p: [0, 1, 0, 0], c: [0, 0, 2, 1], b: [16, 16, 20, 9], n: [4, 6, 1, 7] };

test("counts lie in their period and bucket, the slowest on top", () => {
  const grid = latencyGrid(meta, columns, 0, null);
  assert.deepEqual([grid.columns, grid.rows, grid.most], [3, 5, 10]);
  assert.equal(grid.at(0, 4), 10);
  assert.equal(grid.at(2, 0), 1);
  assert.deepEqual(grid.bounds(4), [65536, 131072]);
  assert.equal(grid.name(4), "from 65.5 µs");
});

test("one process alone; nothing leaves an empty grid", () => {
  assert.equal(latencyGrid(meta, columns, 0, 1).at(0, 0), 6);
  const none = latencyGrid(meta, columns, 1, 5);
  assert.deepEqual([none.rows, none.most, none.name(0)], [1, 0, ""]);
});

test("series and processes have names", () => {
  assert.equal(seriesName({ kind: "read", device: null, operation: "pread64" }), "pread64 in the call");
  assert.equal(seriesName({ host: "a", kind: "block", device: "vda", operation: "read" }), "a vda read at the device");
  assert.deepEqual([processName({ pid: 7, comm: "fio" }), processName({ others: 3 }), processName({ pid: null, comm: null })], ["fio 7", "3 others", "unknown process"]);
});
