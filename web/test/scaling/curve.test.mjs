import assert from "node:assert/strict";
import test from "node:test";
import { fittedSpeedups, stacked } from "../../src/scaling/curve.js";

test("rows of the ledger stand on each other, and a row that a level lacks is empty there", () => {
  const level = (ledger) => ({ ledger_s: Object.fromEntries(Object.entries(ledger).map(([row, value]) => [row, { value }])) });
  const found = stacked([level({ cpu: 3, idle: 1 }), level({ cpu: 4, queue: 2 })]);
  assert.deepEqual(found, [
    { row: "cpu", spans: [[0, 3], [0, 4]] },
    { row: "idle", spans: [[3, 4], [4, 4]] },
    { row: "queue", spans: [[4, 4], [4, 6]] },
  ]);
  assert.deepEqual(stacked([]), []);
});

test("a law's speed-up follows from measured times and residuals", () => {
  const fit = {
    levels: [{ p: 1, value: { value: 10 } }, { p: 4, value: { value: 4 } }],
    laws: [{ name: "amdahl", residuals: [{ p: 1, ratio: 0 }, { p: 4, ratio: 0.25 }] }, { name: "usl", residuals: [] }],
  };
  assert.deepEqual(fittedSpeedups(fit), [{ name: "amdahl", points: [[1, 1], [4, 3.125]] }]);
});
