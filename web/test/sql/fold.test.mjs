import assert from "node:assert/strict";
import test from "node:test";
import { fold, frames } from "../../src/sql/fold.js";

const node = (node_id, parent_node_id, name, more = {}) => ({ node_id, parent_node_id, name, metrics: [], stage_ids: [], ...more });

test("wrappers fold into their child, which takes over their time, stages and metrics", () => {
  const plan = [
    node(0, null, "AdaptiveSparkPlan"), node(1, 0, "ResultQueryStage"), node(2, 1, "HashAggregate", { on_cpu_ns: 10, stage_ids: [7] }),
    node(3, 2, "InputAdapter", { on_cpu_ns: 5, samples_count: 2, stage_ids: [6], metrics: [{ metric: "m" }] }), node(4, 3, "ShuffleQueryStage"), node(5, 4, "Exchange", { on_cpu_ns: 1, samples_count: 1, stage_ids: [7] }),
  ];
  const folded = fold(plan);
  assert.deepEqual(folded.map(({ name, parent_node_id }) => [name, parent_node_id]), [["HashAggregate", null], ["Exchange", 2]]);
  const exchange = folded[1];
  assert.deepEqual([exchange.on_cpu_ns, exchange.samples_count, exchange.stage_ids, exchange.metrics.length, exchange.wrappers], [6, 3, [6, 7], 1, ["InputAdapter", "ShuffleQueryStage"]]);
  assert.equal(folded.reduce((sum, one) => sum + one.on_cpu_ns, 0), 16, "no time is lost");
});

test("a wrapper without a child stays, and a cached plan's stage is a wrapper", () => {
  assert.deepEqual(fold([node(0, null, "Union"), node(1, 0, "ShuffleQueryStage"), node(2, 0, "TableCacheQueryStage"), node(3, 2, "InMemoryTableScan")]).map((one) => one.name), ["Union", "ShuffleQueryStage", "InMemoryTableScan"]);
});

test("operators of a cluster stand in its frame; what feeds it does not", () => {
  const plan = [
    node(0, null, "WholeStageCodegen (2)"), node(1, 0, "Project", { codegen_stage_id: 2 }), node(2, 1, "SortMergeJoin", { codegen_stage_id: 2 }),
    node(3, 2, "InputAdapter"), node(4, 3, "WholeStageCodegen (1)"), node(5, 4, "Sort", { codegen_stage_id: 1 }), node(6, 2, "Exchange"),
  ];
  assert.deepEqual([...frames(fold(plan))], [[0, null], [1, 0], [2, 0], [4, null], [5, 4], [6, null]]);
});
