import assert from "node:assert/strict";
import test from "node:test";
import { available, factor, growth, MEASURES, ownTime, sharer, size, spilled } from "../../src/sql/measures.js";
import { short } from "../../src/ui/format.js";

const node = (name, ...metrics) => ({ name, metrics: metrics.map(([metric, value_sum, metric_type = "sum"]) => ({ metric, value_sum, metric_type })) });

test("without samples a plan is coloured by timers, else by rows, else by bytes", () => {
  const rows = node("Filter", ["number of output rows", 5]);
  const data = node("BroadcastExchange", ["data size", 8, "size"]);
  assert.deepEqual(available([node("Sort", ["sort time", 3, "timing"]), rows]), ["time", "rows"]);
  assert.deepEqual(available([rows, data]), ["rows", "bytes"]);
  assert.deepEqual(available([data]), ["bytes"]);
  assert.deepEqual(available([node("Project")]), []);
  assert.deepEqual(available([{ ...rows, samples_count: 3 }]), ["cpu", "wait", "rows"]);
});

test("timers are in nanoseconds, and hold an operator's own work alone", () => {
  assert.equal(ownTime(node("Exchange", ["shuffle write time", 7, "nsTiming"], ["fetch wait time", 2, "timing"])), 2_000_007);
  assert.equal(ownTime(node("PhotonAgg", ["cumulative time", 90, "nsTiming"], ["exclusive time", 4, "nsTiming"])), 4);
  assert.equal(ownTime(node("Project", ["duration", 5, "timing"])), null);
  assert.equal(ownTime(node("WholeStageCodegen (1)", ["duration", 5, "timing"])), 5_000_000);
});

test("bytes say what they are", () => {
  assert.deepEqual(size(node("Scan parquet", ["size of files read", 9, "size"])), { bytes: 9, what: "files" });
  assert.deepEqual(size(node("Exchange", ["data size", 9, "size"], ["shuffle bytes written", 4, "size"])), { bytes: 4, what: "shuffled" });
  assert.deepEqual(size(node("BroadcastExchange", ["data size", 9, "size"])), { bytes: 9, what: "in memory" });
  assert.equal(size(node("Project")), null);
  assert.equal(spilled(node("Sort", ["spill size", 3, "size"])), 3);
});

test("shares are of the whole for CPU and of the largest for what does not add up", () => {
  const nodes = [{ on_cpu_ns: 3, ...node("A", ["number of output rows", 10]) }, { on_cpu_ns: 1, ...node("B", ["number of output rows", 5]) }];
  assert.equal(sharer(nodes, MEASURES.cpu).share(nodes[0]), 0.75);
  assert.equal(sharer(nodes, MEASURES.rows).share(nodes[1]), 0.5);
});

test("growth is a factor with its rows", () => {
  assert.equal(factor({ factor: 5240.4 }), "× 5 240");
  assert.equal(factor({ factor: 12.34 }), "× 12");
  assert.equal(growth({ rows_out_count: 12_000_000, rows_in_count: 12_000 }), `${short(12_000_000)} rows out of ${short(12_000)} in`);
});
