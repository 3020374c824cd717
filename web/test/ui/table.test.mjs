import assert from "node:assert/strict";
import test from "node:test";
import { sorted } from "../../src/ui/table.js";

test("every sort puts missing values last", () => {
  const rows = [{ v: 3 }, { v: null }, { v: 10 }, {}, { v: 2 }];
  const column = { value: (row) => row.v };
  assert.deepEqual(sorted(rows, column, false).map((row) => row.v), [2, 3, 10, null, undefined]);
  assert.deepEqual(sorted(rows, column, true).map((row) => row.v), [10, 3, 2, null, undefined]);
  assert.deepEqual(sorted([{ v: "s10" }, { v: "s9" }], column, false).map((row) => row.v), ["s9", "s10"]);
});
