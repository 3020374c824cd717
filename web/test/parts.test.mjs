import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { clock, makeAxis, ticks } from "../src/axis.js";
import { heat, ink, named } from "../src/colours.js";
import { byName } from "../src/cpu.js";
import { brief } from "../src/flame-canvas.js";
import { wilson } from "../src/format.js";
import { tree } from "../src/ledger.js";
import { stringTable, unpack } from "../src/packed.js";
import { rails } from "../src/plan.js";
import { counts } from "../src/queries.js";
import { sorted } from "../src/table.js";

test("packed columns come back as the arrays that went in", async () => {
  const raw = Buffer.alloc(32);
  [7, 8, 9].forEach((value, i) => raw.writeUInt16LE(value, i * 2));
  [1.5, -2].forEach((value, i) => raw.writeDoubleLE(value, 8 + i * 8));
  const columns = await unpack(deflateSync(raw).toString("base64"), { a: { type: "u16", offset: 0, length: 3 }, b: { type: "f64", offset: 8, length: 2 } });
  assert.deepEqual([...columns.a], [7, 8, 9]);
  assert.deepEqual([...columns.b], [1.5, -2]);
  assert.deepEqual(await unpack("", {}), {});
});

test("string tables cut at byte offsets", () => {
  const strings = ["a", "µß", "", "z"];
  let end = 0;
  const ends = Uint32Array.from(strings, (text) => (end += Buffer.byteLength(text)));
  const table = stringTable(ends, new TextEncoder().encode(strings.join("")));
  assert.deepEqual(strings.map((_, i) => table.get(i)), strings);
});

test("the axis stays inside the run", () => {
  const axis = makeAxis(1000);
  axis.set(-500, 100);
  assert.ok(axis.from >= 0 && axis.to <= 1000);
  axis.set(400, 600);
  axis.zoom(0.5, 500);
  assert.deepEqual([axis.from, axis.to], [450, 550]);
  axis.pan(100);
  assert.deepEqual([axis.from, axis.to], [900, 1000]);
  axis.zoom(1e9);
  assert.deepEqual([axis.from, axis.to], [0, 1000]);
  axis.set(500, 500);
  assert.equal(axis.to - axis.from, 1);
  assert.equal(axis.at(axis.x(500.2, 800), 800), 500.2);
});

test("ticks are round, inside, and not too many", () => {
  for (const [from, to] of [[0, 40_000], [12_345, 12_400], [0, 8.64e7], [0, 5]]) {
    const found = ticks(from, to, 1000);
    assert.ok(found.length >= 2 && found.length <= 12, `${found.length}`);
    assert.ok(found.every(({ ms }) => ms >= from && ms <= to));
    assert.equal(new Set(found.map(({ label }) => label)).size, found.length);
  }
  assert.equal(clock(83_000, 1000), "1:23 min");
});

test("every sort puts missing values last", () => {
  const rows = [{ v: 3 }, { v: null }, { v: 10 }, {}, { v: 2 }];
  const column = { value: (row) => row.v };
  assert.deepEqual(sorted(rows, column, false).map((row) => row.v), [2, 3, 10, null, undefined]);
  assert.deepEqual(sorted(rows, column, true).map((row) => row.v), [10, 3, 2, null, undefined]);
  assert.deepEqual(sorted([{ v: "s10" }, { v: "s9" }], column, false).map((row) => row.v), ["s9", "s10"]);
});

test("rails: earlier children step right, the last goes on below its parent", () => {
  const nodes = [[0, null], [1, 0], [2, 1], [3, 0], [4, 3]].map(([node_id, parent_node_id]) => ({ node_id, parent_node_id }));
  assert.deepEqual([...rails(nodes).values()], [0, 1, 1, 0, 0]);
});

test("ledger rows become a tree even if a parent is missing", () => {
  const roots = tree([{ path: "task", value_ns: 10 }, { path: "task/on_cpu", parent: "task", value_ns: 7 }, { path: "lost/child", parent: "lost", value_ns: null }]);
  assert.deepEqual(roots.map((node) => node.name), ["task", "child"]);
  assert.equal(roots[0].children[0].name, "on_cpu");
});

test("colours: the same name has one colour, and text on it reads", () => {
  assert.equal(named("shuffle_write"), named("shuffle write"));
  assert.notEqual(named("decode"), named("decompression"));
  assert.equal(named("never heard of"), named("never heard of"));
  assert.equal(ink("#ffffff"), "#15181b");
  assert.equal(ink("#000000"), "#ffffff");
  assert.equal(heat(0, false), null);
  assert.notEqual(heat(1, false), heat(0.01, false));
});

test("operators of one name are summed, with the interval of their samples together", () => {
  const one = (operator, ns, hits, sql_id) => ({ operator, on_cpu_ns: ns, share_of_task_cpu: ns / 100, samples_count: hits, sql_id, stage_ids: [sql_id], on_cpu: { n: 100 }, expressions: [{ expression: "cast", on_cpu_ns: ns / 2, share: 0.5 }] });
  const [scan, filter, ...rest] = byName([one("Filter", 10, 10, 1), one("Scan", 30, 30, 1), one("Scan", 20, 20, 2), { operator: "Project", on_cpu_ns: 0 }]);
  assert.deepEqual([scan.name, scan.on_cpu_ns, scan.hits, scan.executions, filter.name, rest.length], ["Scan", 50, 50, [1, 2], "Filter", 0]);
  const [low, high] = wilson(50, 100);
  assert.ok(Math.abs(scan.estimate.low - low * 100) < 1e-9 && Math.abs(scan.estimate.high - high * 100) < 1e-9);
  assert.deepEqual(scan.expressions, [{ expression: "cast", on_cpu_ns: 25, share: 0.5 }]);
});

test("CPU of Python workers stands apart from that of the JVM, and counts in the order", () => {
  const found = byName([
    { operator: "Scan", on_cpu_ns: 50, samples_count: 5 },
    { operator: "BatchEvalPython", on_cpu_ns: 10, python_cpu_ns: 70, samples_count: 1 },
    { operator: "BatchEvalPython", on_cpu_ns: null, python_cpu_ns: 5, samples_count: 0 },
    { operator: "MapInPandas", on_cpu_ns: null, python_cpu_ns: 9, samples_count: 0 },
  ]);
  assert.deepEqual(found.map((o) => [o.name, o.on_cpu_ns, o.python_cpu_ns]), [["BatchEvalPython", 10, 75], ["Scan", 50, 0], ["MapInPandas", 0, 9]]);
});

test("brief names keep class and method", () => {
  for (const [name, text] of [
    ["org.apache.spark.sql.Foo$Bar.run", "Foo$Bar.run"],
    ["org.apache.spark.rdd.RDD$$Lambda$3626.0x00007fab611363d0.apply", "RDD$$Lambda$3626.apply"],
    ["a.b.C$$Lambda/0x00007fab611363d0.apply", "C$$Lambda.apply"],
    ["snappy::InternalUncompressAllTags<>", "snappy::InternalUncompressAllTags<>"],
    ["/usr/lib/libz.so.1.2.13", "/usr/lib/libz.so.1.2.13"],
    ["java.io.X.<init>", "X.<init>"],
  ]) assert.equal(brief(name), text);
});

test("counts of a query read as words, and nothing counted is nothing", () => {
  assert.equal(counts({ joins: 2, subqueries: 1, sort_merge_joins: 1, unions: 0 }), "2 joins, 1 subquery, 1 sort merge join");
  assert.equal(counts({ unions: 0 }), null);
  assert.equal(counts(null), null);
});
