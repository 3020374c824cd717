// What a run of a recurring job was, and where the bands of its nights end.
import assert from "node:assert/strict";
import test from "node:test";

import { kind, stretches } from "../../src/tune/nights.js";

const run = (keys) => ({ configuration: {}, role: "control", value: 1, given_up: false, failed: null, void: false, ...keys });

test("a run is told by how it ended before what it ran with", () => {
  const step = { configuration: { a: "1" }, role: "step" };
  assert.deepEqual(
    [run({}), run({ ...step }), run({ ...step, role: "incumbent" }), run({ ...step, given_up: true }), run({ ...step, value: null, failed: "exit code 9" }), run({ ...step, value: null, failed: "SIGTERM", void: true }), run({ elsewhere: "B, 8 CPUs" })].map(kind),
    ["baseline", "finished", "winner", "censored", "discarded", "void", "elsewhere"],
  );
});

test("a band ends where nothing was expected and begins anew", () => {
  const runs = [null, 1, 2, null, null, 3].map((one, night) => ({ night, band: one }));
  assert.deepEqual(stretches(runs, "band").map((list) => list.map((one) => one.night)), [[1, 2], [5]]);
  assert.deepEqual(stretches([], "band"), []);
});
