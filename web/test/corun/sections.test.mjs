import assert from "node:assert/strict";
import test from "node:test";
import { describeSlowdown, direction, growth } from "../../src/corun/sections.js";

test("a slowdown is marked where its interval does not hold one", () => {
  assert.deepEqual([[1.1, 1.2], [0.7, 0.9], [0.9, 1.1], [1, 1.2], [null, null]].map(([low, high]) => direction({ low, high })), [" ▲", " ▼", "", "", ""]);
});

test("a cell has slowdown, interval and verdict, and says where there is no interval", () => {
  const time = { value: 4, low: 3.9, high: 4.1, n: 5 };
  const of = (slowdown) => describeSlowdown({ encounter: { alone_s: time, beside_s: time, slowdown, p: 0.01, verdict: "slower", blocks_needed: null } });
  assert.deepEqual(of({ value: 1.5, low: 1.42, high: 1.58, n: 5 }).lines, ["1.50× ▲", "1.42× to 1.58×", "slower"]);
  assert.deepEqual(of({ value: 1.5, low: null, high: null, n: 1 }).lines, ["1.50×", "interval unknown", "slower"]);
});

test("what grew most stands first, what is not there is left out, what is not significant is marked", () => {
  const row = (what, alone_s, value, sure) => ({ what, alone_s, more_s: { value, low: value - 1, high: value + 1, n: 5 }, share: value / 5, sure });
  const found = growth({ contention: { grown: [row("gc", 1, -2, false), row("disk", 0, 0, false), row("cpus", 0, 4, true), row("waits", 2, 1, false)] } });
  assert.deepEqual(found.map(({ name, remark }) => [name, remark]), [["cpus", ""], ["waits", " ?"], ["gc", " ?"]]);
  assert.deepEqual(found[0].pairs, [["alone", "0 s"], ["share of all growth", "80.0 %"], ["significant", "yes"]]);
  assert.equal(found[2].pairs[1][1], null);
});
