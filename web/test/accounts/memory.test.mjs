import assert from "node:assert/strict";
import test from "node:test";
import { nodes } from "../../src/accounts/memory.js";

test("memory is told by node only of a run that was about nodes", () => {
  assert.deepEqual(nodes(null), []);
  const numa = { nodes: [{ node: 1, executors_bytes: 1 << 20, given_pages_count: 9, other_node_pages_count: 2 }], bound_ratio: null, reason: "no executor is bound to nodes" };
  const [first, bound] = nodes(numa);
  assert.deepEqual(first.slice(0, 2), ["Executors on node 1", "1.00 MiB"]);
  assert.match(first[3], /9 pages in the run, 2 of them/);
  assert.deepEqual(bound.slice(1, 3), ["–", "no executor is bound to nodes"]);
});
