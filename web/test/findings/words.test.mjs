import assert from "node:assert/strict";
import test from "node:test";
import { amount, ends, lacks, mayCopy, nextStep, noise, parted, record, remedyText, within } from "../../src/findings/words.js";

test("a number stands in its unit, with its interval where it has one", () => {
  assert.equal(within({ value: 2e9, low: 1e9, high: 3e9 }, "ns"), "2.00 s (1.00 s to 3.00 s)");
  assert.equal(within({ value: 12, low: 12, high: 12 }, "count"), "12");
  assert.equal(amount(null, "bytes"), "–");
  assert.equal(ends({ value: 1, low: null, high: 2 }, "ratio"), null);
});

test("what is worth it is explained next", () => {
  const next = (...findings) => nextStep({ findings }, "pyrometer flame RUN");
  assert.equal(next({ shown: true }), "pyrometer explain RUN");
  assert.equal(next({ shown: false, may: true }), "pyrometer flame RUN");
  assert.equal(next({ shown: true, muted: "known" }), "pyrometer flame RUN");
  assert.equal(nextStep(null, "pyrometer flame RUN"), "pyrometer flame RUN");
});

test("what counts, what is weaker than the noise, and what is muted stand apart", () => {
  const [a, b, c] = [{ shown: true, muted: null }, { shown: false }, { shown: true, muted: "known" }];
  assert.deepEqual(parted([a, b, c]), { counted: [a], may: [], weak: [b], tried: [], muted: [c] });
});

test("what may be worth it is neither sure nor weak, the largest first", () => {
  const saves = (value) => ({ shown: false, may: true, saving: { elapsed_ns: { value } } });
  const [small, large, weak, muted] = [saves(1e9), saves(2e9), { shown: false, may: false }, { ...saves(3e9), muted: "known" }];
  assert.deepEqual(parted([small, weak, muted, large]), { counted: [], may: [large, small], weak: [weak], tried: [], muted: [muted] });
});

test("what was tried without a gain does not count", () => {
  const [proven, refuted, same] = ["proven", "refuted", "no_difference"].map((verdict) => ({ shown: true, muted: null, proof: { verdict } }));
  assert.deepEqual(parted([proven, refuted, same]), { counted: [proven], may: [], weak: [], tried: [refuted, same], muted: [] });
});

test("noise that is assumed is not called the run's", () => {
  const method = "nothing in this run repeats";
  assert.equal(noise({ noise_ratio: 0.05, noise: { kind: "assumed", method } }), `the noise (5.00 %, assumed: ${method})`);
  assert.equal(noise({ noise_ratio: 0.03, noise: { kind: "measured" } }), "the noise of the run (3.00 %)");
});

test("a remedy is what one types", () => {
  assert.equal(remedyText({ options: ["--conf a=1", "--set b=2"] }), "--conf a=1 --set b=2");
  assert.equal(remedyText({ options: [], before: "x", after: "y" }), "y");
  assert.equal(remedyText({}), "");
});

test("an example is not copied", () => {
  assert.equal(mayCopy({ options: ["--conf a=1"] }), true);
  assert.equal(mayCopy({ options: [], before: "x", after: "y" }), true);
  assert.equal(mayCopy({ options: [], before: "x", after: "y", example: true }), false);
});

test("how a rule fared", () => {
  assert.equal(record({ tried_count: 5, proven_count: 4, error_ratio: 0.12 }), "proven 4 of 5 times, predictions off by up to 12.0 %");
  assert.equal(record({ tried_count: 0 }), null);
});

test("rules that lack the same stand together", () => {
  const found = lacks([{ code: "a", missing: "x", remedy: "r" }, { code: "b", missing: "y", remedy: "r" }, { code: "c", missing: "y", remedy: "r" }]);
  assert.deepEqual(found.map((one) => one.codes), [["b", "c"], ["a"]]);
});
