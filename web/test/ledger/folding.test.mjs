import assert from "node:assert/strict";
import test from "node:test";
import { folded, startsClosed, tree } from "../../src/ledger/folding.js";

const row = (path, value_ns, method = "exact") => ({ path, parent: path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : null, value_ns, method });

test("ledger rows become a tree even if a parent is missing", () => {
  const roots = tree([{ path: "task", value_ns: 10 }, { path: "task/on_cpu", parent: "task", value_ns: 7 }, { path: "lost/child", parent: "lost", value_ns: null }]);
  assert.deepEqual(roots.map((node) => node.name), ["task", "child"]);
  assert.equal(roots[0].children[0].name, "on_cpu");
});

test("rows below half a per cent stand in one line with their sum, what is unknown stays", () => {
  const nodes = folded(tree([row("task", 900), row("gc", 4), row("jit", 0), row("vm", null), row("steal", -3), row("idle", 96)]), 1000);
  assert.deepEqual(nodes.map((node) => (node.rest ? node.children.map((child) => child.name) : node.name)), ["task", "vm", "idle", ["gc", "jit", "steal"]]);
  assert.equal(nodes.at(-1).value, 1);
});

test("one small row alone stays, and five per mille is not small", () => {
  assert.ok(folded(tree([row("task", 990), row("gc", 4)]), 1000).every((node) => !node.rest));
  assert.ok(folded(tree([row("task", 990), row("gc", 5), row("jit", 5)]), 1000).every((node) => !node.rest));
});

test("shares of samples and parts that are all small are closed at first", () => {
  const [sampled, small, large] = tree([row("decode", 500, "sampled"), row("decode/Scan", 500, "sampled"), row("kernel", 8), row("kernel/a", 4), row("kernel/b", 4), row("task", 400), row("task/on_cpu", 390)]);
  assert.deepEqual([sampled, small, large].map((node) => startsClosed(node, 1000)), [true, true, false]);
});
