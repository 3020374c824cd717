import assert from "node:assert/strict";
import test from "node:test";
import { drawing } from "../src/flame-export.js";
import { fromLink, toLink } from "../src/flame-link.js";

const META = { event_names: ["cpu", "wall"], dimensions: { iteration: [null, 0, 1, 2], stage: [null, 3, 4], role: ["gc", "task"], operator: ["Sort & Co, <b>"] } };
const MEASURED = [2, 3];
const PLAIN = { event: "cpu", groups: [], filters: {}, inverted: false, weight: "time", colour: "what", text: "", root: -1, upright: false };

test("a link brings back the view", () => {
  const views = [PLAIN,
    { ...PLAIN, event: "wall", groups: ["stage", "operator"], filters: { iteration: MEASURED, role: [1] }, inverted: true, weight: "critical", colour: "kind", text: "a&b=ü#%", root: 12, upright: true },
    { ...PLAIN, event: "both", colour: "operator" },
    { ...PLAIN, filters: { stage: [0], operator: [0] } }];
  for (const view of views) assert.deepEqual(fromLink(toLink({ ...view, at: view.root }, META, MEASURED), META, MEASURED), view);
});

test("what a link asks for and the data do not have is left out", () => {
  assert.equal(fromLink("#plans", META, MEASURED), null);
  assert.deepEqual(fromLink("#flame?event=alloc&by=stage,bogus,role&stage=99&weight=x&zoom=-4&iteration=7", META, MEASURED), { ...PLAIN, groups: ["stage", "role"] });
});

test("a picture holds every box, its names escaped", () => {
  const svg = drawing(100, 36, 18, [
    { x: 0, y: 0, w: 100, fill: "#fff", label: "a<b>&\u0001", title: "a<b>&" },
    { x: 0, y: 18, w: 2, fill: "#000", label: "narrow", title: "narrow" }]);
  assert.equal(svg.match(/<rect /g).length, 2);
  assert.equal(svg.match(/<text /g).length, 1);
  assert.ok(svg.includes("<text x=\"3.0\" y=\"13\">a&lt;b&gt;&amp;</text>"));
  assert.ok(!svg.includes("\u0001"));
});
