// Where levels lie in drawings of a tuning, and how configurations are called.
import assert from "node:assert/strict";
import test from "node:test";

import { brief, called, number, scale } from "../../src/tune/value.js";

test("a configuration is called by its levels in order", () => {
  assert.equal(called({ b: "1", a: "x" }), "a=x, b=1");
  assert.equal(called({}), "baseline");
});

test("levels are numbers where they are some", () => {
  assert.deepEqual(["2g", "200", "0.5", "g1", "-1"].map(number), [2 * 2 ** 30, 200, 0.5, null, -1]);
});

test("what is not set lies at its default", () => {
  const found = scale({ kind: "int", low: 1, high: 100, log: true, default: "10", levels: [] }, ["1", undefined], 0, 200);
  assert.deepEqual([found.at("1"), Math.round(found.at(undefined)), found.at("100")], [0, 100, 200]);
});

test("what is not set and has no known default has a place of its own", () => {
  const found = scale({ kind: "size", low: 1024, high: 2048, log: false, default: null, levels: [] }, ["1k", undefined], 0, 200);
  assert.equal(found.at(undefined), 0);
  assert.equal(found.at("1k"), 30);
  assert.equal(found.ticks[0][0], "not set");
});

test("a level that is no number of a logarithmic factor has a place of its own", () => {
  const found = scale({ kind: "size", low: 1024, high: 2048, log: true, default: "1k", levels: [] }, ["-1", "2k"], 0, 200);
  assert.equal(found.at("-1"), 0);
  assert.equal(found.ticks[0][0], "-1");
});

test("choices lie apart in their order", () => {
  const found = scale({ kind: "choice", levels: ["g1", "parallel", "z"], default: "g1" }, ["z"], 0, 100);
  assert.deepEqual([found.at(undefined), found.at("parallel"), found.at("z")], [0, 50, 100]);
});

test("factors of Spark are brief", () => {
  assert.equal(brief("spark.sql.shuffle.partitions"), "shuffle.partitions");
  assert.equal(brief("spark.serializer"), "serializer");
});
