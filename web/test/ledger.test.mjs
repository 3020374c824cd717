import assert from "node:assert/strict";
import test from "node:test";
import { belowOf, fromLink, segments, stageKey, toLink, viewOf } from "../src/ledger-model.js";

const walk = {
  columns: ["path", "value_ns", "low_ns", "high_ns", "n", "method"],
  methods: ["exact", "sampled"],
  stages: [{ app_index: 0, stage_id: 3, stage_attempt: 1 }],
  below: [{ app_index: 0, stage_id: 3, stage_attempt: 1, tasks: [{ task_attempt_id: 46 }], slowest: null }],
};
const packed = { total_ns: 100, rows: [["task", 90, null, null, 2, 0], ["task/on_cpu", 60, null, null, 2, 0], ["task/on_cpu/decode", 20, 10, 30, 4, 1], ["task/waiting", 20, 15, 25, 9, 1], ["scheduler_delay", 10, null, null, 2, 0]] };

test("packed rows have names, methods and parents again", () => {
  const view = viewOf(packed, walk);
  assert.equal(view.total_ns, 100);
  assert.deepEqual(view.rows[2], { path: "task/on_cpu/decode", value_ns: 20, low_ns: 10, high_ns: 30, n: 4, method: "sampled", parent: "task/on_cpu" });
  assert.equal(view.rows[0].parent, null);
});

test("no time stands in a bar twice", () => {
  const { rows } = viewOf(packed, walk);
  assert.deepEqual(segments(rows).map((part) => [part.path, part.value]), [["task/on_cpu", 60], ["task/waiting", 20], ["scheduler_delay", 10]]);
  assert.deepEqual(segments(rows, 1).map((part) => part.path), ["task", "scheduler_delay"]);
  assert.deepEqual(segments(rows, 3).map((part) => part.value), [20, 20, 10]);
});

test("a link leads back to where it was made", () => {
  const key = stageKey(walk.stages[0]);
  assert.equal(belowOf(walk, key), walk.below[0]);
  for (const at of [{ stage: key, what: "tasks", task: 46 }, { stage: key, what: "operators", task: null }]) assert.deepEqual(fromLink(toLink(at), walk), at);
});

test("a link to what is not there leads to the nearest that is", () => {
  assert.equal(fromLink("#flame?x=1", walk), null);
  assert.deepEqual(fromLink("#ledger?stage=0%3A9.0&what=tasks", walk), { stage: null, what: null, task: null });
  assert.deepEqual(fromLink("#ledger?stage=0%3A3.1&what=slowest&task=7", walk), { stage: "0:3.1", what: "tasks", task: null });
});
