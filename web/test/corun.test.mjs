import assert from "node:assert/strict";
import test from "node:test";
import { grown, side, slowed } from "../src/corun.js";
import { within } from "../src/experiment-format.js";

test("a slowdown is marked where its interval does not hold one", () => {
  assert.deepEqual([[1.1, 1.2], [0.7, 0.9], [0.9, 1.1], [1, 1.2], [null, null]].map(([low, high]) => side({ low, high })), [" ▲", " ▼", "", "", ""]);
});

test("a cell tells slowdown, interval and verdict, and says where there is no interval", () => {
  const time = { value: 4, low: 3.9, high: 4.1, n: 5 };
  const of = (slowdown) => slowed({ encounter: { alone_s: time, beside_s: time, slowdown, p: 0.01, verdict: "slower", blocks_needed: null } });
  assert.deepEqual(of({ value: 1.5, low: 1.42, high: 1.58, n: 5 }).lines, ["1.50× ▲", "1.42× to 1.58×", "slower"]);
  assert.deepEqual(of({ value: 1.5, low: null, high: null, n: 1 }).lines, ["1.50×", "interval not known", "slower"]);
});

test("what grew most stands first, what is not there is left out, what is not sure says so", () => {
  const row = (what, alone_s, value, sure) => ({ what, alone_s, more_s: { value, low: value - 1, high: value + 1, n: 5 }, share: value / 5, sure });
  const found = grown({ contention: { grown: [row("gc", 1, -2, false), row("disk", 0, 0, false), row("cpus", 0, 4, true), row("waits", 2, 1, false)] } });
  assert.deepEqual(found.map(({ name, remark }) => [name, remark]), [["cpus", ""], ["waits", " ?"], ["gc", " ?"]]);
  assert.deepEqual(found[0].pairs, [["alone", "0 s"], ["of all that grew", "80.0 %"], ["grew for sure", "yes"]]);
  assert.equal(found[2].pairs[1][1], null);
});

test("a value without an interval stands alone", () => {
  assert.deepEqual([within({ value: 2, low: 1, high: 3 }, String), within({ value: 2, low: null, high: null }, String), within(null, String)], ["2 (1 to 3)", "2", null]);
});
