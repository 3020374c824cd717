import assert from "node:assert/strict";
import test from "node:test";
import { cpuFacts, memoryFacts, turns } from "../../src/accounts/hardware.js";

const NOTHING = { migrations_count: null, moves_count: null, per_s: null, by: null, reason: "not seen" };

test("what could not be counted says why, and a scaled value for what part of the time it ran", () => {
  const none = cpuFacts({ ipc: { ipc: null, reason: "no PMU" }, cpi: { parts: [], reason: "no PMU" }, placement: NOTHING, energy: [] });
  assert.deepEqual(none.map(([, value, note]) => [value, note]), [["–", "no PMU"], ["–", "no PMU"], ["–", "not seen"]]);
  assert.deepEqual([turns(1), turns(null), turns(0.25)], [null, null, "scaled, running 25.0 % of the time"]);
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
