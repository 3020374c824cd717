import assert from "node:assert/strict";
import test from "node:test";
import { causesOf, drawn, stageName } from "../../src/ledger/path.js";

const stretch = (start_ns, end_ns, kind, stage_id = null, stage_attempt = 0) => ({ app_index: 0, start_ns, end_ns, kind, stage_id, stage_attempt });

test("parts of the bar cover it in order, without holes", () => {
  const parts = drawn([stretch(0, 100, "driver"), stretch(100, 900, "stage", 7), stretch(900, 1000, "driver")], 1000, 500);
  assert.deepEqual(parts.map(({ x, width, kind, stage }) => [x, width, kind, stage]), [[0, 50, "driver", null], [50, 400, "stage", "7"], [450, 50, "driver", null]]);
});

test("ten thousand short parts become no more than there are pixels, and lose no time", () => {
  const path = Array.from({ length: 10_000 }, (_, at) => stretch(at, at + 1, at % 2 ? "stage" : "driver", at));
  const parts = drawn(path, 10_000, 400);
  assert.ok(parts.length <= 800);
  assert.equal(parts[0].x, 0);
  parts.slice(1).forEach((part, at) => assert.ok(Math.abs(part.x - parts[at].x - parts[at].width) < 1e-6));
  assert.ok(Math.abs(parts.at(-1).x + parts.at(-1).width - 400) < 1e-6);
});

test("causes are in words, the largest first, and those without time are left out", () => {
  assert.deepEqual(causesOf({ causes: { finishing: 1, slots_busy: 5, stage_tail: 0 } }), [["all slots busy", 5], ["ending", 1]]);
  assert.equal(stageName({ stage_id: 3, stage_attempt: 1 }), "3.1");
});
