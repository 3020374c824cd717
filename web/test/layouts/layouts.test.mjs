import assert from "node:assert/strict";
import test from "node:test";
import { allowed, best } from "../../src/layouts/layouts.js";

test("the best of a placement comes with what could be better, or with the reason why there is none", () => {
  const found = { layout: "2×4", could_be: ["1×8", "2×4"], told: "interior optimum: none to be seen" };
  assert.equal(best({ place: "NB", what: "not bound", best: found }), "NB (not bound): best 2×4 (not distinguishable from 1×8); interior optimum: none to be seen");
  assert.equal(best({ place: "1B", what: "one node", best: { ...found, could_be: ["2×4"] } }), "1B (one node): best 2×4; interior optimum: none to be seen");
  assert.equal(best({ place: "1B", what: "one node", best: null, reason: "one layout" }), "1B (one node): one layout");
});

test("executors are shown with the CPUs that the kernel allowed, and by a policy that is not the default", () => {
  const trials = [{ executors: [] }, { executors: [{ cpus: "0", memory: "default" }, { cpus: "1", memory: "bind:0" }, { cpus: null, memory: null }] }];
  assert.equal(allowed({ trials }), "0 | 1 bind:0 | ?");
  assert.equal(allowed({ trials: [{ executors: [] }] }), null);
  assert.equal(allowed({ trials: [] }), null);
});
