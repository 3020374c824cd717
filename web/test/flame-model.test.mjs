import assert from "node:assert/strict";
import test from "node:test";
import { groupName, hottest, links, loadFlame, makeView, pattern, search } from "../src/flame-model.js";

// A small model from lines of "a;b;c weight {dimensions}".
function model(lines) {
  const paths = [...new Set(lines.flatMap(({ path }) => path.map((_, n) => path.slice(0, n + 1).join(";"))))].sort((a, b) => (a.split(";") < b.split(";") ? -1 : 1));
  const sorted = paths.map((text) => text.split(";")).sort((a, b) => {
    for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return a.length - b.length;
  });
  const names = [...new Set(sorted.flat())].sort();
  const place = new Map(sorted.map((path, index) => [path.join(";"), index]));
  const bytes = new TextEncoder().encode(names.join(""));
  let end = 0;
  const dimensions = {};
  const index = {};
  for (const name of ["what", "stage", "role"]) {
    dimensions[name] = [...new Set(lines.map((line) => line[name] ?? null))];
    index[`flame.${name}`] = Uint8Array.from(lines, (line) => dimensions[name].indexOf(line[name] ?? null));
  }
  return loadFlame({ dimensions, event_names: ["cpu", "alloc"], events: { cpu: { unit: "ns" }, alloc: { unit: "bytes" } }, kinds: ["unknown", "c2"] }, {
    "flame.strings.ends": Uint32Array.from(names, (name) => (end += new TextEncoder().encode(name).length)),
    "flame.strings.bytes": bytes,
    "flame.frame": Uint8Array.from(sorted, (path) => names.indexOf(path.at(-1))),
    "flame.depth": Uint8Array.from(sorted, (path) => path.length - 1),
    "flame.kind": new Uint8Array(sorted.length).fill(1),
    "flame.node": Uint8Array.from(lines, (line) => place.get(line.path.join(";"))),
    "flame.event": Uint8Array.from(lines, (line) => (line.event === "alloc" ? 1 : 0)),
    "flame.weight": Float64Array.from(lines, (line) => line.weight),
    "flame.critical": Float64Array.from(lines, (line) => line.critical ?? line.weight / 2),
    "flame.n": Uint8Array.from(lines, () => 1),
    ...index,
  });
}

const LINES = [
  { path: ["run", "scan", "decode"], weight: 6, what: "decode", stage: 1, role: "task" },
  { path: ["run", "scan", "unzip"], weight: 3, what: "decompression", stage: 1, role: "task" },
  { path: ["run", "scan"], weight: 1, what: "decode", stage: 2, role: "task" },
  { path: ["gc"], weight: 2, what: "gc", role: "gc" },
  { path: ["run", "scan", "decode"], weight: 100, event: "alloc", role: "task", stage: 1 },
];

const rows = (view) => [...Array(view.size).keys()].map((i) => [view.label(i), view.depth[i], view.x[i], view.total[i], view.self[i]]);

test("links find parents and ends of subtrees", () => {
  const { parent, end } = links(Uint8Array.from([0, 1, 2, 1, 0]));
  assert.deepEqual([...parent], [-1, 0, 1, 0, -1]);
  assert.deepEqual([...end], [4, 3, 3, 4, 5]);
});

test("a view sums one event and lays siblings side by side", () => {
  const view = makeView(model(LINES), { event: "cpu" });
  assert.deepEqual(rows(view), [["gc", 0, 0, 2, 2], ["run", 0, 2, 10, 0], ["scan", 1, 2, 10, 1], ["decode", 2, 2, 6, 6], ["unzip", 2, 8, 3, 3]]);
  assert.equal(view.sum, 12);
  assert.equal(view.samples, 4);
  assert.equal(makeView(model(LINES), { event: "alloc" }).unit, "bytes");
});

test("filters leave out what they exclude, and its frames", () => {
  const loaded = model(LINES);
  const view = makeView(loaded, { event: "cpu", filters: { stage: [loaded.meta.dimensions.stage.indexOf(2)] } });
  assert.deepEqual(rows(view).map(([name]) => name), ["run", "scan"]);
  assert.equal(view.sum, 1);
  assert.equal(makeView(loaded, { event: "cpu", filters: { stage: [99] } }).size, 0);
});

test("groups become a first level, heaviest first", () => {
  const view = makeView(model(LINES), { event: "cpu", groups: ["role"] });
  assert.deepEqual(rows(view).filter(([, depth]) => depth === 0), [["task", 0, 0, 10, 0], ["gc", 0, 10, 2, 0]]);
  assert.equal(view.label(1), "run");
  assert.equal(view.parent[1], 0);
});

test("groups stand inside groups, in the order asked for", () => {
  const loaded = model(LINES);
  const view = makeView(loaded, { event: "cpu", groups: ["stage", "what"] });
  const boxes = rows(view).filter((_, i) => view.kind(i) === "group").map(([name, depth, x, total]) => [name, depth, x, total]);
  assert.deepEqual(boxes, [["stage 1", 0, 0, 9], ["decode", 1, 0, 6], ["decompression", 1, 6, 3], ["no stage", 0, 9, 2], ["gc", 1, 9, 2], ["stage 2", 0, 11, 1], ["decode", 1, 11, 1]]);
  const other = makeView(loaded, { event: "cpu", groups: ["what", "stage"] });
  assert.deepEqual(rows(other).filter(([, depth]) => depth === 1).map(([name]) => name), ["stage 1", "stage 2", "stage 1", "no stage"]);
  assert.equal(other.sum, view.sum);
});

test("inverted, callers stand below what they called, and sums stay", () => {
  const loaded = model(LINES);
  const view = makeView(loaded, { event: "cpu", inverted: true });
  assert.deepEqual(rows(view).map(([name, depth, , total]) => [name, depth, total]), [
    ["decode", 0, 6], ["scan", 1, 6], ["run", 2, 6], ["gc", 0, 2], ["scan", 0, 1], ["run", 1, 1], ["unzip", 0, 3], ["scan", 1, 3], ["run", 2, 3]]);
  assert.equal(view.sum, makeView(loaded, { event: "cpu" }).sum);
  assert.equal(makeView(loaded, { event: "cpu", inverted: true, groups: ["role"] }).label(0), "task");
  const table = (list) => Object.fromEntries(list.map(({ name, self, total }) => [name, [self, total]]));
  assert.deepEqual(table(hottest(view)), table(hottest(makeView(loaded, { event: "cpu" }))));
});

test("critical time is another weight of the same stacks", () => {
  const view = makeView(model(LINES.map((line) => ({ ...line, critical: line.role === "gc" ? 0 : line.weight / 4 }))), { event: "cpu", weight: "critical" });
  assert.equal(view.sum, 2.5);
  assert.ok(!rows(view).some(([name]) => name === "gc"));
});

test("a frame's kind of work is that of most of its weight", () => {
  const loaded = model(LINES);
  const view = makeView(loaded, { event: "cpu" });
  const scan = rows(view).findIndex(([name]) => name === "scan");
  assert.equal(loaded.meta.dimensions.what[view.what[scan]], "decode");
  assert.ok(Math.abs(view.purity[scan] - 0.7) < 1e-6);
});

test("a match inside a match counts once", () => {
  const view = makeView(model([...LINES, { path: ["run", "scan", "decode", "scan2"], weight: 4, what: "decode", role: "task", stage: 1 }]), { event: "cpu" });
  const found = search(view, pattern("scan"));
  assert.equal(found.matched, 14);
  assert.equal(found.frames, 2);
  assert.equal(found.share, 14 / 16);
  const decode = rows(view).findIndex(([name]) => name === "decode");
  assert.equal(search(view, pattern("^scan2$"), decode).share, 0.4);
});

test("a pattern that is no regex is plain text; none is nothing", () => {
  assert.equal(pattern(""), null);
  assert.ok(pattern("foo(").test("a.foo(b)"));
  assert.ok(pattern("SCAN|zip").test("unzip"));
});

test("recursion counts once in totals", () => {
  const view = makeView(model([{ path: ["f", "g", "f"], weight: 5 }, { path: ["f"], weight: 1 }]), { event: "cpu" });
  const f = hottest(view).find((entry) => entry.name === "f");
  assert.deepEqual([f.self, f.total], [6, 6]);
});

test("names of missing groups", () => {
  const loaded = model(LINES);
  const none = loaded.meta.dimensions.stage.indexOf(null);
  assert.equal(groupName(loaded, "stage", none), "no stage");
  assert.equal(groupName(loaded, "stage", loaded.meta.dimensions.stage.indexOf(1)), "stage 1");
});

test("random trees: totals are sums of what lies under, whatever the filter", () => {
  let seed = 42;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 50; round += 1) {
    const lines = Array.from({ length: 1 + random(30) }, () => ({ path: Array.from({ length: 1 + random(6) }, () => "abcd"[random(4)]), weight: 1 + random(9), stage: random(3), role: "task", what: "x" }));
    const loaded = model(lines);
    const stage = random(loaded.meta.dimensions.stage.length);
    const view = makeView(loaded, { event: "cpu", filters: { stage: [stage] } });
    const chosen = lines.filter((line) => line.stage === loaded.meta.dimensions.stage[stage]);
    const open = [];
    for (let i = 0; i < view.size; i += 1) {
      open.splice(view.depth[i], open.length, view.label(i));
      const under = chosen.filter(({ path }) => open.every((name, n) => path[n] === name));
      assert.equal(view.total[i], under.reduce((sum, line) => sum + line.weight, 0));
    }
    assert.equal(view.sum, chosen.reduce((sum, line) => sum + line.weight, 0));
  }
});
