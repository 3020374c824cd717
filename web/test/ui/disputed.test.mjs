import assert from "node:assert/strict";
import test from "node:test";
import { betterByStage, disputeOf, disputeText } from "../../src/ui/disputed.js";

const COLUMN = { field: "stages.totals.input_bytes", stages: [{ app_index: 0, stage_id: 3, stage_attempt: 1, better: 2048 }] };

test("a number is disputed by its place in the summary", () => {
  const summary = { disputed: [COLUMN] };
  assert.equal(disputeOf(summary, "stages.totals.input_bytes"), COLUMN);
  assert.equal(disputeOf(summary, "totals.input_bytes"), null);
  assert.equal(disputeOf({}, "totals.input_bytes"), null);
});

test("the mark says the better number and where it is from, or what is wrong", () => {
  assert.equal(disputeText(46_079_169, "by read calls", "bytes"), "✗ 43.9 MiB by read calls");
  assert.equal(disputeText(0, "by read calls", "bytes"), "✗ 0 B by read calls");
  assert.equal(disputeText(null, "too low", "bytes"), "✗ too low");
});

test("the better number of a stage is that of the attempt", () => {
  const better = betterByStage(COLUMN);
  assert.equal(better({ app_index: 0, stage_id: 3, stage_attempt: 1 }), 2048);
  assert.equal(better({ app_index: 0, stage_id: 3, stage_attempt: 0 }), null);
  assert.equal(betterByStage(null)({ app_index: 0, stage_id: 3, stage_attempt: 1 }), null);
});
