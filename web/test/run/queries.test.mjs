import assert from "node:assert/strict";
import test from "node:test";
import { counts } from "../../src/run/queries.js";

test("counts of a query read as words, and nothing counted is nothing", () => {
  assert.equal(counts({ joins: 2, subqueries: 1, sort_merge_joins: 1, unions: 0 }), "2 joins, 1 subquery, 1 sort merge join");
  assert.equal(counts({ unions: 0 }), null);
  assert.equal(counts(null), null);
});
