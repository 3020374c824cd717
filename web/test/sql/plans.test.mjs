import assert from "node:assert/strict";
import test from "node:test";
import { rails } from "../../src/sql/plans.js";

test("rails: earlier children step right, the last goes on below its parent", () => {
  const nodes = [[0, null], [1, 0], [2, 1], [3, 0], [4, 3]].map(([node_id, parent_node_id]) => ({ node_id, parent_node_id }));
  assert.deepEqual([...rails(nodes).values()], [0, 1, 1, 0, 0]);
});
