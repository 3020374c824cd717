import assert from "node:assert/strict";
import test from "node:test";
import { seconds, within } from "../../src/ui/estimates.js";

test("a time of nothing is in the unit of its axis", () => {
  assert.deepEqual([seconds(0), seconds(1.5), seconds(null)], ["0 s", "1.50 s", "–"]);
});

test("a value without an interval stands alone", () => {
  assert.deepEqual([within({ value: 2, low: 1, high: 3 }, String), within({ value: 2, low: null, high: null }, String), within(null, String)], ["2 (1 to 3)", "2", null]);
});
