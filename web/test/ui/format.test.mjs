import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { bytes, callSite, count, interval, metric, NONE, percent, rate, short, signedPercent, significant, time, unit, wilson, stageCalled, stageTitle } from "../../src/ui/format.js";

test("what is missing is a dash, never a zero", () => {
  for (const show of [time, bytes, count, percent, rate, short, significant, signedPercent]) {
    for (const value of [null, undefined, NaN, Infinity]) assert.equal(show(value), NONE);
    assert.notEqual(show(0), NONE);
  }
});

const CASES = JSON.parse(readFileSync(new URL("../../../tests/fixtures/units.json", import.meta.url), "utf8"));
const WRITERS = { duration: time, size: bytes, rate, count, percent, signed_percent: signedPercent, digits: significant };

test("numbers are written as the terminal writes them", () => {
  assert.deepEqual(Object.keys(CASES).sort(), Object.keys(WRITERS).sort());
  for (const [kind, cases] of Object.entries(CASES)) for (const [value, text] of cases) assert.equal(WRITERS[kind](value), text, `${kind} of ${value}`);
});

test("metrics follow Spark's own types", () => {
  assert.equal(metric(2048, "size"), "2.00 KiB");
  assert.equal(metric(1500, "timing"), "1.50 s");
  assert.equal(metric(1500, "nsTiming"), "1.50 µs");
  assert.equal(metric(15, "average"), "1.50");
  assert.equal(metric(43163040, "sum"), "43 163 040");
});

test("an interval names its unit once where it can", () => {
  assert.equal(interval(19.1e9, 19.8e9, "ns"), "19.1 – 19.8 s");
  assert.equal(interval(0.9e9, 1.1e9, "ns"), "900 ms – 1.10 s");
  assert.equal(interval(1_200, 1_300, "count"), "1 200 – 1 300");
  assert.equal(interval(553e9, 560e9, "ns"), "9 min 13 s – 9 min 20 s");
  assert.equal(interval(null, 1, "ns"), null);
});

test("short counts", () => {
  for (const [value, text] of [[31, "31"], [9999, "9 999"], [43163040, "43.2 M"], [12_345, "12.3 k"]]) assert.equal(short(value), text);
});

test("units", () => {
  assert.equal(unit(96, "count"), "96");
  assert.equal(unit(1.937, "count"), "1.94");
  assert.equal(unit(97.42e6, "bytes/s"), "92.9 MiB/s");
});

test("wilson agrees with published values", () => {
  // 10 of 100: 5.52 % to 17.44 % (Newcombe 1998, method 3).
  const [low, high] = wilson(10, 100);
  assert.ok(Math.abs(low - 0.0552) < 5e-5 && Math.abs(high - 0.1744) < 5e-5);
  assert.deepEqual(wilson(0, 0), [NaN, NaN]);
  assert.equal(wilson(0, 10)[0], 0);
});

test("call sites keep the file, not its folders", () => {
  assert.equal(callSite("collect at /home/me/.cache/x/interval_join.py:41"), "collect at …/interval_join.py:41");
  assert.equal(callSite("count at Main.scala:12"), "count at Main.scala:12");
  assert.equal(callSite("a/b and 1/2"), "a/b and 1/2");
  assert.equal(callSite(null), undefined);
});

test("a stage is called what says most, with Spark's name behind it", () => {
  const stage = { name: "$anonfun$run$1 at CompletableFuture.java:1768", called: "show at q.py:2" };
  assert.equal(stageCalled(stage), "show at q.py:2");
  assert.equal(stageTitle(stage), `show at q.py:2\n${stage.name}`);
  assert.equal(stageCalled({ name: "count at q.py:1" }), "count at q.py:1");
  assert.equal(stageTitle({ name: "a", called: "a" }), "a");
});
