import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { bounds, CODE_COLOURS, COLOURS, cycled, heat, ink, KIND_COLOURS, meaningOf, meaningOfRow, named, NEUTRAL, rowColour } from "../../src/ui/colours.js";
import { ciede2000, closest, lab, VISIONS } from "../support/vision.mjs";

const LEAST = 10; // of two colours in one bar: told apart at a glance; 1 is just noticeable
const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const listed = (path, table) => [...read(path).matchAll(new RegExp(`^\\[\\[${table}\\]\\]\\nname = "(\\w+)"`, "gm"))].map((found) => found[1]);

const categories = listed("schema/categories.toml", "category");
const waits = listed("schema/wait_classes.toml", "class");
const roles = [...new Set([...read("schema/roles.toml").matchAll(/^role = "(\w+)"/gm)].map((found) => found[1]))];
const SLOT = ["task/run_queue", "task/gc_pause", "task/waiting", "task/steal", "task/off_cpu", "task/shuffle_fetch", "deserialize", "getting_result", "result_serialization", "scheduler_delay", "task_without_metrics", ...["driver", "executor_startup", "waiting_to_launch", "too_few_tasks", "stage_tail"].map((why) => `idle/${why}`)];
const CORE = ["exited_threads", "kernel_threads", "kernel_threads/kswapd", "other_processes", "irq", "softirq", "steal", "idle", "iowait", "python/for_tasks", "unclassified"];
const BARS = {
  "slot view": [...SLOT, ...categories.map((name) => `task/on_cpu/${name}`), ...waits.map((name) => `task/waiting/${name}`)],
  "core view": [...CORE, ...roles, ...categories.map((name) => `task/${name}`)],
  "kinds of work": categories,
  "wait classes": waits,
  "CPU of the host": ["user", "system", "irq", "iowait", "steal"],
  "components of a query": ["java", "codec", "gc", "jit", "vm", "kernel", "python", "native", "other"],
  "purposes of Java code": ["sql", "files", "serialisation", "shuffle", "codegen", "driver", "other"],
};

test("the distance is the published one", () => {
  // Sharma, Wu, Dalal (2005), table 1, pairs 1, 7, 14, 19, 25 and 34.
  const pairs = [[[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425], [[50, 0, 0], [50, -1, 2], 2.3669], [[50, -0.001, 2.49], [50, 0.0011, -2.49], 4.7461], [[50, 2.5, 0], [58, 24, 15], 19.4535], [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644], [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082]];
  for (const [a, b, published] of pairs) assert.ok(Math.abs(ciede2000(a, b) - published) < 5e-5, `${ciede2000(a, b)} and not ${published}`);
  assert.deepEqual(lab("#ffffff").map((value) => Math.round(value * 1e3) / 1e3 + 0), [100, 0, 0]);
  assert.ok(ciede2000(lab("#ff0000"), lab("#00a000")) > 3 * ciede2000(lab("#b03000", "protanopia"), lab("#606000", "protanopia")));
});

test("every name of the schema has a meaning, and the lists were read", () => {
  assert.ok(categories.length > 20 && waits.length > 10 && roles.length > 5);
  for (const name of [...categories, ...waits, ...roles]) assert.notEqual(meaningOf(name), null, name);
});

for (const vision of Object.keys(VISIONS)) {
  test(`colours of one bar are told apart: ${vision}`, (t) => {
    for (const [bar, names] of Object.entries(BARS)) {
      const colours = Object.fromEntries(names.map((name) => [meaningOfRow(name), rowColour(name)]));
      const { distance, pair } = closest(colours, vision);
      t.diagnostic(`${bar}: ${distance.toFixed(1)} (${pair.join(", ")})`);
      assert.ok(distance >= LEAST, `${bar}: ${pair.join(" and ")} are ${distance.toFixed(1)} apart`);
    }
    const sets = { "compiler tiers": KIND_COLOURS, "kinds of code": CODE_COLOURS, "stages, operators, series": { ...Object.fromEntries(Array.from({ length: 10 }, (_, at) => [at, cycled(at)])), others: NEUTRAL } };
    for (const [name, colours] of Object.entries(sets)) {
      const { distance, pair } = closest(colours, vision);
      t.diagnostic(`${name}: ${distance.toFixed(1)} (${pair.join(", ")})`);
      assert.ok(distance >= LEAST, `${name}: ${pair.join(" and ")} are ${distance.toFixed(1)} apart`);
    }
    for (const panel of ["#ffffff", "#191d21"]) for (const [meaning, colour] of Object.entries(COLOURS)) assert.ok(ciede2000(lab(colour, vision), lab(panel, vision)) >= LEAST, `${meaning} on ${panel}`);
  });
}

test("a meaning has one colour wherever it is shown", () => {
  assert.equal(KIND_COLOURS.kernel, COLOURS.kernel);
  assert.equal(KIND_COLOURS.python, COLOURS.python);
  assert.equal(KIND_COLOURS.unknown, COLOURS.unknown);
  assert.equal(new Set(Object.values(COLOURS)).size, Object.keys(COLOURS).length);
  assert.equal(meaningOfRow("task/on_cpu"), meaningOfRow("task"));
  assert.notEqual(meaningOfRow("python"), meaningOfRow("task/on_cpu/python_bridge"));
});

test("no reason for an idle slot looks like work, and operators look like their category", () => {
  for (const row of SLOT.filter((path) => path.startsWith("idle"))) assert.equal(meaningOfRow(row), "idle");
  assert.equal(meaningOfRow("task/on_cpu/decode/Sort"), "format");
  assert.equal(meaningOfRow("task/waiting/shuffle_fetch/Scan parquet"), "shuffle");
  assert.equal(meaningOfRow("kernel_threads/kswapd"), "kernel");
  assert.equal(meaningOfRow("exited_threads/driver"), "kernel");
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

test("colours change at three bounds of 1, 3, 10 below the largest change", () => {
  assert.deepEqual(bounds(55e9), [3e9, 1e10, 3e10]);
  assert.deepEqual(bounds(2e9), [1e8, 3e8, 1e9]);
  assert.deepEqual(bounds(0), []);
});
