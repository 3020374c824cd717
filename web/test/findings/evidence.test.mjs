import assert from "node:assert/strict";
import test from "node:test";
import { target } from "../../src/findings/evidence.js";

test("a link without a section of the page leads nowhere", () => {
  for (const link of [null, undefined, "", "/", "/elsewhere/3"]) assert.equal(target({ link }), null);
});

test("the number of a stage or a query is that of the place's application", () => {
  assert.deepEqual(target({ link: "/stage/3/1" }, { app: 2 }), { section: "stages", label: "stage 3.1", app: 2, stage: "3.1" });
  assert.deepEqual(target({ link: "/sql/0/13" }, { app: 0 }), { section: "plans", label: "node 13 of SQL execution 0", app: 0, sql: "0", node: "13" });
  assert.equal("app" in target({ link: "/sql/0" }, { app: null }), false);
});

test("links lead to what this page has", () => {
  assert.deepEqual(target({ link: "/stage/7/0" }), { section: "stages", label: "stage 7", stage: "7" });
  assert.deepEqual(target({ link: "/sql/3/10" }), { section: "plans", label: "node 10 of SQL execution 3", sql: "3", node: "10" });
  assert.equal(target({ link: "/jvm" }).section, "jvm");
});

test("a range of time is in the label", () => {
  const found = target({ link: "/timeline/1/2", range_ms: [1000, 2500] });
  assert.deepEqual(found.range, [1000, 2500]);
  assert.equal(found.label, "timeline, 1.00 s to 2.50 s");
  assert.equal(target({ link: "/timeline" }).range, undefined);
});

test("a row of the ledger is named as the ledger names it", () => {
  const found = target({ link: "/ledger/task/run_queue" });
  assert.equal(found.row, "task/run_queue");
  assert.equal(target({ link: "/ledger" }).row, undefined);
});

test("the flame graph is of one stage where the finding is", () => {
  const link = "/flame?event=alloc&find=f%28x%29";
  assert.deepEqual(target({ link }, { stage_id: 4, stages_count: 1 }).flame, { event: "alloc", find: "f(x)", stage: 4 });
  assert.deepEqual(target({ link }, { stage_id: 4, stages_count: 3 }).flame, { event: "alloc", find: "f(x)" });
});
