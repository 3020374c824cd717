import assert from "node:assert/strict";
import test from "node:test";
import { changeOf, differenceView, loadDifference } from "../../../src/flame/difference/model.js";

// main ─ read, join; read is only in A, join only in B and called twice as long.
const names = ["join", "main", "read"];
const bytes = new TextEncoder().encode(names.join(""));
const side = { a: [10, 0, 10], b: [20, 20, 0], low: [8, 15, -12], high: [12, 25, -8], a_n: [100, 0, 100], b_n: [200, 200, 0], verdict: [1, 3, 2] };
const columns = {
  "difference.strings.ends": Uint32Array.from([4, 8, 12]),
  "difference.strings.bytes": bytes,
  "difference.frame": Uint8Array.from([1, 0, 2]),
  "difference.depth": Uint8Array.from([0, 1, 1]),
  ...Object.fromEntries(Object.entries(side).map(([name, values]) => [`difference.cpu.${name}`, Float64Array.from(values)])),
};
const model = loadDifference({ events: ["cpu"], verdicts: ["no significant difference", "slower", "only in A", "only in B"] }, columns);

test("boxes are as wide as the side that is asked for, and children never wider than their parent", () => {
  for (const [width, totals] of [["a", [10, 0, 10]], ["b", [20, 20, 0]], ["both", [30, 20, 10]]]) {
    const view = differenceView(model, "cpu", width);
    assert.deepEqual([...view.total], totals);
    assert.equal(view.sum, totals[0]);
    assert.deepEqual([...view.x], [0, 0, totals[1]]);
  }
  assert.equal(differenceView(model, "cpu", "b").label(1), "join");
});

test("sides swapped, a change has the other sign and its interval turns with it", () => {
  const { change, low, high, verdict } = changeOf(model, "cpu", 2, false);
  assert.deepEqual([change, low, high, verdict], [-10, -12, -8, "only in A"]);
  const back = changeOf(model, "cpu", 2, true);
  assert.deepEqual([back.change, back.low, back.high], [10, 8, 12]);
});
