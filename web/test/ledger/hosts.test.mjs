import assert from "node:assert/strict";
import test from "node:test";
import { hostFacts } from "../../src/ledger/hosts.js";

const view = (closure_ratio) => ({ rows: [], closure_ratio });

test("a host says how well its clock is known and whether its account closes", () => {
  const one = { host: "w1", observed: true, cpus_count: 4, clock: "messages", bound_ns: 1_800_000, core_view: view(-0.001) };
  const [clock, cpus, closure] = hostFacts(one);
  assert.match(clock, /^clock within ± 1.80 ms$/);
  assert.equal(cpus, "4 CPUs");
  assert.match(closure, /^closure .*0.10 %$/);
  assert.equal(hostFacts({ ...one, clock: "axis", bound_ns: 0 })[0], "its clock is the axis");
  assert.equal(hostFacts({ ...one, tier: "T2" })[2], "probe at T2");
  assert.equal(hostFacts({ ...one, clock: "wall", bound_ns: null })[0], "its clock has no bound");
});

test("what was not observed or is not known is said, and never 0", () => {
  const none = { host: "10.0.0.2", observed: false, cpus_count: null, clock: null, bound_ns: null, core_view: view(null) };
  assert.deepEqual(hostFacts(none), ["not observed: no agent there"]);
  assert.deepEqual(hostFacts({ ...none, clock: "messages", bound_ns: 5 }).slice(1), ["number of CPUs not known", "not observed"]);
  assert.equal(hostFacts({ ...none, observed: true, clock: "messages", bound_ns: 5 })[2], "closure not known");
});
