import assert from "node:assert/strict";
import test from "node:test";
import { belowOf, fromLink, segments, stageKey, tasksOf, toLink, TOP, viewOf } from "../../src/ledger/model.js";

const walk = {
  columns: ["path", "value_ns", "low_ns", "high_ns", "n", "method"],
  methods: ["exact", "sampled"],
  stages: [{ app_index: 0, stage_id: 3, stage_attempt: 1 }],
  below: [{ app_index: 0, stage_id: 3, stage_attempt: 1, tasks: [{ task_attempt_id: 45, operators: { Sort: [["on_cpu", 5, 4, 6, 2, 1]] } }, { task_attempt_id: 46, operators: { Sort: [["on_cpu", 9, 8, 10, 3, 1], ["waiting", 2, 1, 3, 1, 1]] } }, { rest: true }], operators: [{ label: "Sort" }], slowest: null }],
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

test("tasks stand in the order of their time in an operator", () => {
  assert.deepEqual(tasksOf(walk.below[0], "Sort").map((task) => [task.task_attempt_id, task.view.total_ns]), [[46, 11], [45, 5]]);
  assert.deepEqual(tasksOf(walk.below[0], "Scan"), []);
});

test("who ended waits is told with names", () => {
  assert.deepEqual(viewOf({ rows: [], ended_by: [["gc", 7, 2]] }, walk).ended_by, [{ path: "gc", value_ns: 7, n: 2 }]);
});

test("a link leads back to where it was made", () => {
  const key = stageKey(walk.stages[0]);
  assert.equal(belowOf(walk, key), walk.below[0]);
  const places = [{ what: "tasks", task: 46 }, { what: "operators" }, { what: "operators", operator: "Sort" }, { what: "operators", operator: "Sort", task: 45 }];
  for (const at of places.map((place) => ({ ...TOP, stage: key, ...place }))) assert.deepEqual(fromLink(toLink(at), walk), at);
});

test("a link to what is not there leads to the nearest that is", () => {
  assert.equal(fromLink("#flame?x=1", walk), null);
  assert.deepEqual(fromLink("#ledger?stage=0%3A9.0&what=tasks", walk), TOP);
  assert.deepEqual(fromLink("#ledger?stage=0%3A3.1&what=slowest&task=7", walk), { ...TOP, stage: "0:3.1", what: "tasks" });
  assert.deepEqual(fromLink("#ledger?stage=0%3A3.1&what=operators&operator=Gone", walk), { ...TOP, stage: "0:3.1", what: "operators" });
});
