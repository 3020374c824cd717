import assert from "node:assert/strict";
import test from "node:test";
import { grids, shade } from "../../src/experiment/matrix.js";

test("colours tell less from more, and nothing close to one", () => {
  const limits = [0.01, 0.03, 0.1];
  assert.equal(shade(1.005, limits), null);
  assert.equal(shade(null, limits), null);
  assert.notEqual(shade(0.95, limits), shade(1.05, limits));
  assert.equal(shade(1.5, limits), shade(1.11, limits));
  assert.equal(shade(2, []), null);
});

test("a third factor makes a grid for each of its levels", () => {
  const cells = ["1", "2"].flatMap((a) => ["x", "y"].flatMap((b) => ["p", "q"].map((c) => ({ treatment: a + b + c, levels: { a, b, c } }))));
  const { rows, columns, parts } = grids({ factors: { a: ["1", "2"], b: ["x", "y"], c: ["p", "q"] }, cells });
  assert.deepEqual([rows, columns], ["a", "b"]);
  assert.deepEqual(parts.map(({ title, cells: own }) => [title, own.length]), [["c = p", 4], ["c = q", 4]]);
});
