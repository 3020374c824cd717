import assert from "node:assert/strict";
import test from "node:test";
import { groupName, links } from "../../src/flame/boxes.js";
import { wilson } from "../../src/ui/format.js";
import { callees, callers } from "../../src/flame/merge.js";
import { hasBoth, loadFlame, makeView } from "../../src/flame/model.js";
import { follow, hottest, pathOf, pattern, rangeOf, search } from "../../src/flame/frames.js";

// A small model from lines of "a;b;c weight {dimensions}".
function model(lines) {
  const paths = [...new Set(lines.flatMap(({ path }) => path.map((_, n) => path.slice(0, n + 1).join(";"))))].sort((a, b) => (a.split(";") < b.split(";") ? -1 : 1));
  const sorted = paths.map((text) => text.split(";")).sort((a, b) => {
    for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return a.length - b.length;
  });
  const names = [...new Set(sorted.flat())].sort();
  // A run goes on while its frame has one child and no sample of its own.
  const weighs = new Set(lines.map(({ path }) => path.join(";")));
  const children = (path) => sorted.filter((other) => other.length === path.length + 1 && path.every((name, n) => other[n] === name)).length;
  const runs = [];
  sorted.forEach((path, index) => {
    const before = sorted[index - 1];
    const goes = before?.length === path.length - 1 && children(before) === 1 && !weighs.has(before.join(";"));
    if (goes) runs.at(-1).push(path);
    else runs.push([path]);
  });
  const place = new Map(runs.flatMap((run, index) => run.map((path) => [path.join(";"), index])));
  const bytes = new TextEncoder().encode(names.join(""));
  let end = 0;
  const dimensions = {};
  const index = {};
  for (const name of ["what", "stage", "role", "state"]) {
    dimensions[name] = [...new Set(lines.map((line) => line[name] ?? null))];
    index[`flame.${name}`] = Uint8Array.from(lines, (line) => dimensions[name].indexOf(line[name] ?? null));
  }
  const events = ["cpu", "wall", ...(lines.some((line) => line.event === "state") ? ["state"] : []), "alloc"];
  return loadFlame({ dimensions, event_names: events, events: { cpu: { unit: "ns" }, wall: { unit: "ns" }, alloc: { unit: "bytes" } }, kinds: ["unknown", "c2"] }, {
    "flame.strings.ends": Uint32Array.from(names, (name) => (end += new TextEncoder().encode(name).length)),
    "flame.strings.bytes": bytes,
    "flame.frame": Uint8Array.from(sorted, (path) => names.indexOf(path.at(-1))),
    "flame.run": Uint8Array.from(runs, (run) => run.length),
    "flame.depth": Uint8Array.from(runs, ([path]) => path.length - 1),
    "flame.kind": new Uint8Array(sorted.length).fill(1),
    "flame.node": Uint8Array.from(lines, (line) => place.get(line.path.join(";"))),
    "flame.event": Uint8Array.from(lines, (line) => events.indexOf(line.event ?? "cpu")),
    "flame.weight": Float64Array.from(lines, (line) => line.weight),
    "flame.critical": Float64Array.from(lines, (line) => line.critical ?? line.weight / 2),
    "flame.n": Uint8Array.from(lines, (line) => line.n ?? 1),
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
  const { index, share } = view.dominant(scan, "what");
  assert.equal(loaded.meta.dimensions.what[index], "decode");
  assert.ok(Math.abs(share - 0.7) < 1e-6);
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

test("the CPU and waiting as one: time on a CPU is not counted twice", () => {
  const loaded = model([
    { path: ["run", "work"], weight: 10, what: "operator", role: "task", state: "on CPU" },
    { path: ["run", "work"], weight: 40, event: "wall", what: "running", role: "task", state: "running" },
    { path: ["run", "park"], weight: 30, event: "wall", what: "idle", role: "task", state: "sleeping" }]);
  assert.ok(hasBoth(loaded));
  assert.ok(!hasBoth(model(LINES)));
  const view = makeView(loaded, { event: "both", groups: ["state"] });
  assert.equal(view.sum, 40);
  assert.deepEqual(rows(view).map(([name, , , total]) => [name, total]), [["sleeping", 30], ["run", 30], ["park", 30], ["on CPU", 10], ["run", 10], ["work", 10]]);
  // One sample of 30 and one of 10 tell as much as 1.6 of equal weight: 40² ÷ (30² + 10²).
  assert.equal(view.effective, 1.6);
  // A thread that sleeps on for three ticks is one sample, but tells as much as three.
  loaded.meta.events = { cpu: { unit: "ns", step: 10 }, wall: { unit: "ns", step: 10 } };
  assert.equal(makeView(loaded, { event: "both" }).effective, 4);
});

test("where states of threads were seen, they tell of time off the CPU, not wall samples", () => {
  const loaded = model([
    { path: ["run", "work"], weight: 10, what: "operator", role: "task", state: "on CPU" },
    { path: ["run", "park"], weight: 30, event: "wall", what: "idle", role: "task", state: "sleeping" },
    { path: ["run", "park", "futex_wait"], weight: 25, event: "state", what: "lock", role: "task", state: "sleeping" },
    { path: ["run"], weight: 5, event: "state", what: "run_queue", role: "task", state: "run_queue" }]);
  assert.ok(hasBoth(loaded));
  const view = makeView(loaded, { event: "both", groups: ["state"] });
  assert.equal(view.sum, 40);
  assert.deepEqual(rows(view).filter(([name]) => ["sleeping", "run_queue", "on CPU"].includes(name)).map(([name, , , total]) => [name, total]), [["sleeping", 25], ["on CPU", 10], ["run_queue", 5]]);
});

test("weights of a selected time stand in for the whole", () => {
  const loaded = model(LINES);
  const weights = { weight: Float64Array.from([1, 0, 0, 2, 0]), critical: new Float64Array(5), n: Float64Array.from([1, 0, 0, 3, 0]) };
  const view = makeView(loaded, { event: "cpu", weights });
  assert.deepEqual(rows(view).map(([name, , , total]) => [name, total]), [["gc", 2], ["run", 1], ["scan", 1], ["decode", 1]]);
  assert.equal(view.samples, 4);
});

test("callers and callees of a frame are merged over its places", () => {
  const view = makeView(model([
    { path: ["a", "f", "x"], weight: 4 }, { path: ["b", "c", "f", "x", "y"], weight: 2 }, { path: ["b", "c", "f"], weight: 1 },
    { path: ["b", "f", "z", "f", "x"], weight: 8 }, { path: ["other"], weight: 16 }]), { event: "cpu" });
  const f = hottest(view).find(({ name }) => name === "f");
  assert.deepEqual([f.self, f.total, f.n], [1, 15, 4]);
  assert.deepEqual(rows(callers(view, f.frame)).map(([name, depth, , total]) => [name, depth, total]), [["f", 0, 15], ["a", 1, 4], ["b", 1, 8], ["c", 1, 3], ["b", 2, 3]]);
  const under = callees(view, f.frame);
  assert.deepEqual(rows(under).map(([name, depth, , total, self]) => [name, depth, total, self]), [["f", 0, 15, 1], ["x", 1, 6, 4], ["y", 2, 2, 2], ["z", 1, 8, 0], ["f", 2, 8, 0], ["x", 3, 8, 8]]);
  assert.equal(under.sum, 15);
});

test("callers and callees are those of the box in view, not of what is above it in its run", () => {
  const view = makeView(model([{ path: ["f", "g", "f", "x"], weight: 5 }]), { event: "cpu" });
  const names = (merged) => rows(merged).map(([name]) => name);
  const [f, range] = [view.frame(0), rangeOf(view, 1)];
  assert.deepEqual(names(callees(view, f, range)), ["f", "x"]);
  assert.deepEqual(names(callers(view, f, range)), ["f", "g", "f"]);
  assert.deepEqual(names(callees(view, f, rangeOf(view, -1))), ["f", "g", "f", "x"]);
});

test("from the leaf, a search counts the samples of boxes too light to be made", () => {
  const [size, many] = [100_001, 20_000];
  const names = ["work", ...Array.from({ length: many }, (_, i) => `caller${i}`)];
  let end = 0;
  // Runs of two frames: each of many callers, five times or six, and what all of them call.
  const loaded = loadFlame({ dimensions: { what: ["x"] }, event_names: ["cpu"], events: { cpu: { unit: "ns" } }, kinds: ["unknown"] }, {
    "flame.strings.ends": Uint32Array.from(names, (name) => (end += name.length)),
    "flame.strings.bytes": new TextEncoder().encode(names.join("")),
    "flame.frame": Uint16Array.from({ length: 2 * size }, (_, at) => (at % 2 ? 0 : 1 + ((at / 2) % many))),
    "flame.kind": new Uint8Array(2 * size), "flame.run": new Uint8Array(size).fill(2), "flame.depth": new Uint8Array(size), "flame.node": Uint32Array.from({ length: size }, (_, i) => i),
    "flame.event": new Uint8Array(size), "flame.weight": new Float64Array(size).fill(1), "flame.critical": new Float64Array(size), "flame.n": new Uint8Array(size).fill(1), "flame.what": new Uint8Array(size) });
  const view = makeView(loaded, { event: "cpu", inverted: true });
  assert.deepEqual(rows(view).map(([name, , , total]) => [name, total]), [["work", size]]);
  const { share, frames, partial } = search(view, /^caller/);
  assert.deepEqual([share, frames, partial], [1, 0, true]);
  assert.deepEqual([search(view, /^caller7$/, 0).matched, search(view, /^work$/, 0).share, search(view, /^none$/, 0).matched], [5, 1, 0]);
  const grouped = makeView(loaded, { event: "cpu", inverted: true, groups: ["what"] });
  assert.deepEqual([-1, 0, 1].map((root) => search(grouped, /^caller7$/, root).matched), [5, 5, 5]);
  assert.equal(search(makeView(loaded, { event: "cpu" }), /^caller7$/).partial, false);
});

test("of a large tree the boxes worth drawing are made, and more of them on zooming in", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const size = 20_000;
  const depth = 40;
  const frame = Uint16Array.from({ length: size * depth }, () => random(50));
  for (let i = 0; i < size; i += 1) frame[i * depth] = Math.floor(i / 100);
  const names = Array.from({ length: 200 }, (_, i) => `frame${i}`).join("");
  let end = 0;
  const loaded = loadFlame({ dimensions: { what: ["x"] }, event_names: ["cpu"], events: { cpu: { unit: "ns" } }, kinds: ["unknown"] }, {
    "flame.strings.ends": Uint32Array.from({ length: 200 }, (_, i) => (end += `frame${i}`.length)),
    "flame.strings.bytes": new TextEncoder().encode(names),
    // 200 runs of one frame, 100 runs of 39 frames under each.
    "flame.frame": Uint16Array.from((function* () { for (let i = 0; i < size; i += 1) { if (i % 100 === 0) yield i / 100; yield* frame.subarray(i * depth + 1, (i + 1) * depth); } })()),
    "flame.kind": new Uint8Array(200 + size * (depth - 1)),
    "flame.run": Uint8Array.from({ length: size + 200 }, (_, i) => (i % 101 ? depth - 1 : 1)),
    "flame.depth": Uint8Array.from({ length: size + 200 }, (_, i) => (i % 101 ? 1 : 0)),
    "flame.node": Uint32Array.from({ length: size }, (_, i) => i + Math.floor(i / 100) + 1),
    "flame.event": new Uint8Array(size), "flame.weight": new Float64Array(size).fill(1), "flame.critical": new Float64Array(size), "flame.n": new Uint8Array(size).fill(1), "flame.what": new Uint8Array(size) });
  const view = makeView(loaded, { event: "cpu" });
  assert.deepEqual([view.size, view.sum], [200, size]);
  const near = view.zoom(view.id[3]);
  assert.deepEqual([near.size, near.sum, near.label(0), near.total[0], near.x[1]], [1 + 100 * 39, size, "frame3", 100, 300]);
  assert.equal(near.depth[39], 39);
  assert.equal(view.zoom(-1), null);
  assert.equal(follow(view, pathOf(near, 39)), near.id[39]);
  assert.equal(search(view, /^frame3$/).matched, search(near, /^frame3$/).matched);
  assert.ok(search(view, /^frame3$/).matched > 100);
  const list = hottest(view);
  assert.equal(list.reduce((sum, { self }) => sum + self, 0), size);
  assert.equal(makeView(loaded, { event: "cpu", inverted: true }).sum, size);
});

test("frames of light runs come later", () => {
  const bytes = new TextEncoder().encode("abcd");
  const one = { dimensions: { what: ["x"] }, event_names: ["cpu"], events: { cpu: { unit: "ns" } }, kinds: ["unknown", "c2"] };
  // a 10 › b c (light) 1, d 5
  const loaded = loadFlame(one, {
    "flame.strings.ends": Uint8Array.from([1, 2, 3, 4]), "flame.strings.bytes": bytes,
    "flame.deep": Uint8Array.from([0, 1, 0]), "flame.frame": Uint8Array.from([0, 3]), "flame.kind": Uint8Array.from([1, 1]),
    "flame.run": Uint8Array.from([1, 2, 1]), "flame.depth": Uint8Array.from([0, 1, 0]),
    "flame.node": Uint8Array.from([0, 1, 2]), "flame.event": new Uint8Array(3), "flame.weight": Float64Array.from([10, 1, 5]), "flame.critical": new Float64Array(3), "flame.n": new Uint8Array(3).fill(1), "flame.what": new Uint8Array(3) });
  const view = makeView(loaded, { event: "cpu" });
  assert.deepEqual([...Array(view.size).keys()].map(view.label), ["a", "…", "…", "d"]);
  assert.equal(view.sum, 16);
  assert.notEqual(loaded.there, loaded.frame.length);
  loaded.deepen({ "deep.frame": Uint8Array.from([1, 2]), "deep.kind": new Uint8Array(2) });
  assert.deepEqual([...Array(view.size).keys()].map(view.label), ["a", "b", "c", "d"]);
  assert.deepEqual(hottest(view).map(({ name, self, total, kind }) => [name, self, total, kind]), [["a", 10, 11, "c2"], ["b", 0, 1, "unknown"], ["c", 1, 1, "unknown"], ["d", 5, 5, "c2"]]);
  assert.equal(loaded.there, loaded.frame.length);
});

test("a box is found again in another view, or what called it", () => {
  const loaded = model(LINES);
  const view = makeView(loaded, { event: "cpu", groups: ["role"] });
  const unzip = [...Array(view.size).keys()].find((i) => view.label(i) === "unzip");
  assert.deepEqual(pathOf(view, unzip).length, 4);
  assert.equal(follow(view, pathOf(view, unzip)), view.id[unzip]);
  const label = (other) => other.label([...other.id].indexOf(follow(other, pathOf(view, unzip))));
  assert.equal(label(makeView(loaded, { event: "cpu", groups: ["role"], filters: { what: [loaded.meta.dimensions.what.indexOf("decompression")] } })), "unzip");
  assert.equal(label(makeView(loaded, { event: "alloc", groups: ["role"] })), "scan");
  const others = makeView(loaded, { event: "cpu", filters: { role: [loaded.meta.dimensions.role.indexOf("gc")] } });
  assert.equal(follow(others, pathOf(view, unzip)), -1);
  assert.equal(follow(view, pathOf(view, -1)), -1);
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

test("shares and their intervals are of the same: what is shown, and of the box in view", () => {
  const of = model(LINES);
  const all = makeView(of, { event: "cpu" });
  // Kish's number of the samples that are shown: 12² / (6² + 3² + 1 + 2²).
  assert.equal(all.effectiveOf(-1), 144 / 50);
  assert.equal(all.effectiveOf(-1), all.effective);
  const scan = [...rows(all).keys()].find((i) => all.label(i) === "scan");
  const n = 100 / 46;
  assert.equal(all.effectiveOf(scan), n);
  // The whole of a box is the box: its interval reaches 1, and no share leaves its own.
  const [low, high] = wilson((all.total[scan] / all.total[scan]) * n, n);
  assert.equal(high, 1);
  assert.ok(low < 1);
  for (let i = scan; i < all.end[scan]; i += 1) {
    const share = all.total[i] / all.total[scan];
    const [from, to] = wilson(share * all.effectiveOf(scan), all.effectiveOf(scan));
    assert.ok(from <= share && share <= to);
  }
  // A filter, and a part of the time: the same of what is left.
  const one = makeView(of, { event: "cpu", filters: { stage: [of.meta.dimensions.stage.indexOf(1)] } });
  assert.equal(one.effectiveOf(-1), 81 / 45);
  const some = makeView(of, { event: "cpu", weights: { weight: Float64Array.from([3, 3, 0, 0, 0]), critical: new Float64Array(5), n: Float64Array.from([1, 1, 0, 0, 0]) } });
  assert.equal(some.effectiveOf(-1), 2);
  // From the leaf up, and around a frame.
  const up = makeView(of, { event: "cpu", inverted: true });
  const decode = [...rows(up).keys()].find((i) => up.label(i) === "decode");
  assert.equal(up.effectiveOf(decode), 1);
  const around = callees(all, all.frame(scan));
  assert.equal(around.sum, 10);
  assert.equal(around.effective, n);
});
