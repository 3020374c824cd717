// The rooms of the front end: which may import which, and how large they may grow.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const SOURCE = join(HERE, "..", "src");
const MOST_FILES = 25; // of a folder
const MOST_LINES = 400; // of a module

// Layers from the top: main.js puts up a page, a page is made of sections from features, and
// features share ui/ alone. An import leads downwards or stays in its room.
const LAYERS = { "main.js": 3, pages: 2, ui: 0 };
const roomOf = (module) => module.split("/")[0];
const layerOf = (module) => LAYERS[roomOf(module)] ?? 1;

const filesIn = (folder, ending) => readdirSync(folder, { recursive: true }).map((name) => name.replaceAll("\\", "/")).filter((name) => name.endsWith(ending)).sort();

// Imports of every module, by paths below src/.
function graphOf(folder) {
  return new Map(filesIn(folder, ".js").map((module) => {
    const text = readFileSync(join(folder, module), "utf8");
    const found = [...text.matchAll(/^import\b[^"]*"([^"]+)";/gm)].map((match) => match[1]);
    return [module, found.map((target) => relative(folder, normalize(join(folder, dirname(module), target))).replaceAll("\\", "/"))];
  }));
}

// What breaks the contract, one sentence each.
function faults(graph) {
  const found = [];
  for (const [module, targets] of graph) {
    for (const target of targets) {
      if (!graph.has(target)) found.push(`${module} imports ${target}, which does not exist`);
      else if (roomOf(module) !== roomOf(target) && layerOf(target) >= layerOf(module)) found.push(`${module} imports ${target}, which is not below it`);
    }
  }
  return [...found, ...circles(graph)];
}

function circles(graph) {
  const [found, done] = [[], new Set()];
  const visit = (module, path) => {
    if (path.includes(module)) found.push(`circle: ${[...path.slice(path.indexOf(module)), module].join(" -> ")}`);
    if (path.includes(module) || done.has(module)) return;
    for (const target of graph.get(module) ?? []) visit(target, [...path, module]);
    done.add(module);
  };
  for (const module of graph.keys()) visit(module, []);
  return found;
}

function reached(graph, from) {
  const seen = new Set();
  const visit = (module) => {
    if (seen.has(module)) return;
    seen.add(module);
    graph.get(module)?.forEach(visit);
  };
  visit(from);
  return seen;
}

const GRAPH = graphOf(SOURCE);

test("imports lead downwards: main, pages, features, ui; features do not know each other; no circles", () => {
  assert.ok(GRAPH.size > 50 && GRAPH.get("main.js").includes("pages/run.js"), "the modules were not read");
  assert.deepEqual(faults(GRAPH), []);
});

test("the contract is broken by an upward arrow, a feature that imports another, and a circle", () => {
  const broken = (...edges) => faults(new Map([["main.js", []], ["ui/dom.js", []], ["flame/graph.js", []], ["flame/model.js", []], ["ledger/section.js", []], ...edges]));
  assert.deepEqual(broken(["flame/graph.js", ["ui/dom.js", "flame/model.js"]]), []);
  assert.match(broken(["ui/dom.js", ["flame/graph.js"]]).join(), /^ui\/dom.js imports flame\/graph.js, which is not below it$/);
  assert.match(broken(["flame/graph.js", ["ledger/section.js"]]).join(), /not below/);
  assert.match(broken(["flame/graph.js", ["flame/model.js"]], ["flame/model.js", ["flame/graph.js"]]).join(), /^circle: flame\/graph.js -> flame\/model.js -> flame\/graph.js$/);
  assert.match(broken(["flame/graph.js", ["flame/gone.js"]]).join(), /does not exist/);
});

test("every module is part of the page", () => {
  const seen = reached(GRAPH, "main.js");
  assert.deepEqual([...GRAPH.keys()].filter((module) => !seen.has(module)), []);
});

test("folders and modules stay small", () => {
  for (const [folder, ending] of [[SOURCE, ".js"], [HERE, ".test.mjs"]]) {
    const files = filesIn(folder, ending);
    const sizes = files.reduce((groups, file) => groups.set(dirname(file), [...(groups.get(dirname(file)) ?? []), file]), new Map());
    assert.deepEqual([...sizes].filter(([, inside]) => inside.length > MOST_FILES).map(([name]) => name), []);
    assert.deepEqual(files.filter((file) => readFileSync(join(folder, file), "utf8").split("\n").length > MOST_LINES), []);
  }
});

test("tests stand where their modules stand", () => {
  const tested = filesIn(HERE, ".test.mjs").filter((name) => name !== "rooms.test.mjs");
  assert.ok(tested.length > 15, "the tests were not read");
  assert.deepEqual(tested.filter((name) => !GRAPH.has(name.replace(/\.test\.mjs$/, ".js"))), []);
});
