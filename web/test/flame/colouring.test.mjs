import assert from "node:assert/strict";
import test from "node:test";
import { colouring, codeOf, MODES } from "../../src/flame/colouring.js";
import { loadFlame, makeView } from "../../src/flame/model.js";

// main -> generated code (6) and write (2, kernel); a GC thread (4); twelve operators under one frame.
const NAMES = ["App.main", "a.GeneratedClass$GeneratedIteratorForCodegenStage1.processNext", "ksys_write", "G1Worker::work", "Op.run"];
const KINDS = ["unknown", "c2", "cpp", "kernel", "python"];
const OPERATORS = [null, ...Array.from({ length: 12 }, (_, i) => `Op${i}`)];
let end = 0;
const column = (type, ...values) => type.from(values);
const facts = [
  { node: 1, weight: 6, role: 0, operator: 1 }, { node: 2, weight: 2, role: 0, operator: 0 },
  { node: 3, weight: 4, role: 1, operator: 0 }, ...Array.from({ length: 12 }, (_, i) => ({ node: 4, weight: 13 - i, role: 0, operator: i + 1 }))];
const model = loadFlame({ dimensions: { role: ["task", "gc"], operator: OPERATORS, what: ["x"] }, event_names: ["cpu"], events: { cpu: { unit: "ns" } }, kinds: KINDS }, {
  "flame.strings.ends": Uint32Array.from(NAMES, (name) => (end += name.length)), "flame.strings.bytes": new TextEncoder().encode(NAMES.join("")),
  "flame.frame": column(Uint8Array, 0, 1, 2, 3, 4), "flame.kind": column(Uint8Array, 1, 1, 3, 2, 1), "flame.run": column(Uint8Array, 1, 1, 1, 1, 1), "flame.depth": column(Uint8Array, 0, 1, 1, 0, 0),
  "flame.node": Uint8Array.from(facts, (f) => f.node), "flame.event": new Uint8Array(facts.length), "flame.weight": Float64Array.from(facts, (f) => f.weight), "flame.critical": new Float64Array(facts.length), "flame.n": new Uint8Array(facts.length).fill(1),
  "flame.role": Uint8Array.from(facts, (f) => f.role), "flame.operator": Uint8Array.from(facts, (f) => f.operator), "flame.what": new Uint8Array(facts.length) });
const view = makeView(model, { event: "cpu" });

test("the kind of code of a frame, of a VM thread by its role", () => {
  const told = (kind, name, role) => codeOf(kind, name, role);
  assert.deepEqual([told("c1", "java.lang.Thread.run"), told("interpreted", NAMES[1]), told("cpp", "G1Worker::work", "gc"), told("cpp", "C2Compiler::compile", "jit"), told("cpp", "snappy::Uncompress", "task"), told("kernel", "ksys_read"), told("python", "f"), told("unknown", "udf.py:12")], ["java", "generated", "gc", "jit", "native", "kernel", "python", "python"]);
  assert.equal(told("cpp", "pandas/core/frame.py:12"), "native");
});

test("colours by kind of code; a share counts samples by their own frame", () => {
  const by = colouring(view, "code", "#000000");
  assert.deepEqual([...Array(view.size).keys()].map(by.key), ["java", "generated", "kernel", "gc", "java"]);
  const whole = 12 + facts.slice(3).reduce((sum, { weight }) => sum + weight, 0);
  assert.equal(by.share("generated", -1), 6 / whole);
  assert.equal(by.share("generated", 0), 6 / 8);
  assert.equal(by.share("gc", -1), 4 / whole);
  assert.equal(new Set(by.entries.map(([key]) => by.fill(key))).size, by.entries.length);
});

test("ten operators have a colour of their own, and boxes without a ruling one are mixed", () => {
  const by = colouring(view, "operator", "#123456");
  assert.equal(by.entries.filter(([key]) => key === "others").length, 1);
  assert.equal(by.entries.length, 1 + 10 + 1 + 1); // none, ten, others, mixed
  const own = by.entries.map(([key]) => key).filter((key) => typeof key === "number" && OPERATORS[key] !== null);
  assert.equal(new Set(own.map(by.fill)).size, 10);
  assert.deepEqual([by.key(0), by.key(1), by.fill(by.key(4))], [1, 1, "#123456"]);
  const light = facts.slice(-2).reduce((sum, { weight }) => sum + weight, 0);
  assert.equal(by.share("others", -1), light / view.sum);
});

test("a group has no colour of a category, in any mode", () => {
  const grouped = makeView(model, { event: "cpu", groups: ["role"] });
  for (const mode of Object.keys(MODES).filter((name) => name in model.dimension || ["code", "kind"].includes(name))) assert.equal(colouring(grouped, mode, "#000000").key(0), null);
});
