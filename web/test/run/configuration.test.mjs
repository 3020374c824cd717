import assert from "node:assert/strict";
import test from "node:test";
import { executors, matching } from "../../src/run/configuration.js";
import { bytes } from "../../src/ui/format.js";

test("a search finds words in names and values, whatever the case", () => {
  const settings = [{ name: "spark.sql.shuffle.partitions", value: "8" }, { name: "spark.master", value: "yarn" }];
  assert.deepEqual(matching(settings, "SHUFFLE 8").map((item) => item.value), ["8"]);
  assert.deepEqual(matching(settings, " ").length, 2);
  assert.deepEqual(matching(settings, "kubernetes"), []);
});

test("executors in words", () => {
  const group = { executors_count: 3, hosts_count: 2, cores_count: 8, storage_memory_bytes: 19_800_000_000, removed_count: 1 };
  assert.equal(executors(group, { master: "yarn" }), `3 × 8 cores on 2 hosts, ${bytes(19_800_000_000)} for storage each; 1 removed`);
  assert.equal(executors({ executors_count: 1, hosts_count: 1, cores_count: 2, storage_memory_bytes: null, removed_count: 0 }, { master: "local[2]" }), "in the driver: 2 cores");
});
