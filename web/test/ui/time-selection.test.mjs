import assert from "node:assert/strict";
import test from "node:test";
import { labelOf, makeSelection, merged, rangesFromText, rangesToText } from "../../src/ui/time-selection.js";

test("ranges are merged, kept in order and restored from an address", () => {
  assert.deepEqual(merged([[5, 9], [1, 2], [8, 12], [3, 3]]), [[1, 2], [5, 12]]);
  const text = rangesToText([[1500.0004, 2000], [3000, 61_000.25]]);
  assert.equal(text, "1.5-2,3-61.00025");
  assert.deepEqual(rangesFromText(text), [[1500, 2000], [3000, 61_000.25]]);
  assert.deepEqual(rangesFromText("nonsense,5-4,-3,1e9-2"), []);
  assert.deepEqual(rangesFromText(null), []);
});

test("a selection calls its listeners, and forgets its focus with its time", () => {
  const selection = makeSelection();
  let calls = 0;
  selection.onChange(() => { calls += 1; });
  selection.set([[0, 10]], [{ task: [7] }, { stage: [3] }]);
  assert.deepEqual(selection.filters({ task: [null, 5, 7], stage: [3] }), { task: [2] });
  assert.deepEqual(selection.filters({ task: [5], stage: [3] }), { task: [] });
  assert.deepEqual(selection.filters({ task: [null], stage: [null, 3] }), { stage: [1] });
  assert.deepEqual(selection.filters({ role: ["gc"] }), {});
  selection.set([[0, 10]], [JSON.parse('{"__proto__": [1]}'), { constructor: [1] }]);
  assert.equal(selection.restriction({ role: ["gc"] }), null);
  assert.equal(labelOf({ task: [7] }), "task 7");
  assert.equal(labelOf({ thread: ["a", "b"], role: [null] }), "2 values of thread, role unknown");
  selection.add([5, 20]);
  assert.deepEqual([selection.ranges, selection.focus], [[[0, 20]], null]);
  selection.clear();
  assert.ok(selection.empty);
  assert.equal(calls, 4);
});
