import assert from "node:assert/strict";
import test from "node:test";
import { bytes, callSite, count, interval, metric, NONE, percent, short, signedPercent, significant, time, unit, wilson } from "../../src/ui/format.js";

test("what is missing is a dash, never a zero", () => {
  for (const show of [time, bytes, count, percent, short, significant, signedPercent]) {
    for (const value of [null, undefined, NaN]) assert.equal(show(value), NONE);
    assert.notEqual(show(0), NONE);
  }
});

test("times choose their unit and keep three digits", () => {
  const cases = [[0, "0 ns"], [950, "950 ns"], [1500, "1.50 µs"], [12_345_678, "12.3 ms"], [999.6e6, "1,000 ms"], [1.2e9, "1.20 s"], [38.5e9, "38.5 s"], [599e9, "599 s"], [601e9, "10 min 01 s"], [2 * 3600e9 + 5 * 60e9, "2 h 05 min"], [-0.5e9, "−500 ms"]];
  for (const [ns, text] of cases) assert.equal(time(ns), text);
});

test("bytes are decimal", () => {
  for (const [value, text] of [[0, "0 B"], [17, "17 B"], [999, "999 B"], [1000, "1.00 kB"], [999_600, "1.00 MB"], [3.3e9, "3.30 GB"], [2.5e18, "2,500 PB"]]) assert.equal(bytes(value), text);
});

test("percentages do not round a little to nothing", () => {
  for (const [ratio, text] of [[0, "0 %"], [0.00001, "< 0.01 %"], [0.0512, "5.12 %"], [0.5, "50.0 %"], [0.9999, "100 %"], [1, "100 %"], [-0.0005, "−0.05 %"]]) assert.equal(percent(ratio), text);
  assert.equal(signedPercent(0.002), "+0.20 %");
});

test("metrics follow Spark's own types", () => {
  assert.equal(metric(2048, "size"), "2.05 kB");
  assert.equal(metric(1500, "timing"), "1.50 s");
  assert.equal(metric(1500, "nsTiming"), "1.50 µs");
  assert.equal(metric(15, "average"), "1.50");
  assert.equal(metric(43163040, "sum"), "43,163,040");
});

test("an interval names its unit once where it can", () => {
  assert.equal(interval(19.1e9, 19.8e9, "ns"), "19.1 – 19.8 s");
  assert.equal(interval(0.9e9, 1.1e9, "ns"), "900 ms – 1.10 s");
  assert.equal(interval(null, 1, "ns"), null);
});

test("short counts", () => {
  for (const [value, text] of [[31, "31"], [9999, "9,999"], [43163040, "43.2 M"], [12_345, "12.3 k"]]) assert.equal(short(value), text);
});

test("units", () => {
  assert.equal(unit(96, "count"), "96");
  assert.equal(unit(1.937, "count"), "1.94");
  assert.equal(unit(97.42, "MB/s"), "97.4 MB/s");
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
