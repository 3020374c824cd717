import assert from "node:assert/strict";
import test from "node:test";
import { severalHosts, sumOf, takes, used } from "../../src/run/hosts.js";

const one = { host: "w1", slots_ns: 8e9, used_ns: 2e9, totals: { jvm_gc_time_ns: 5 }, failed: { totals: { jvm_gc_time_ns: 2 } } };

test("sums of a host are of all its attempts, and what is not known is not 0", () => {
  assert.equal(sumOf(one, "jvm_gc_time_ns"), 7);
  assert.equal(sumOf(one, "input_bytes"), null);
  assert.equal(used(one), 0.25);
  assert.equal(used({ ...one, used_ns: null, slots_ns: null }), null);
});

test("a host that cannot be compared has no ratio, and one that can has its interval", () => {
  assert.equal(takes(null), null);
  assert.deepEqual(takes({ value: 2, low: null, high: null }), ["2.00 ×", false]);
});

test("one host has no section of hosts", () => {
  assert.equal(severalHosts({ hosts: { hosts: [one] } }), false);
  assert.equal(severalHosts({}), false);
  assert.equal(severalHosts({ hosts: { hosts: [one, one] } }), true);
});
