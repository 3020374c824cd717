import assert from "node:assert/strict";
import test from "node:test";
import { tree } from "../../src/ledger/section.js";

test("ledger rows become a tree even if a parent is missing", () => {
  const roots = tree([{ path: "task", value_ns: 10 }, { path: "task/on_cpu", parent: "task", value_ns: 7 }, { path: "lost/child", parent: "lost", value_ns: null }]);
  assert.deepEqual(roots.map((node) => node.name), ["task", "child"]);
  assert.equal(roots[0].children[0].name, "on_cpu");
});
