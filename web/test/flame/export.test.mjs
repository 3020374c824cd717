import assert from "node:assert/strict";
import test from "node:test";
import { drawing } from "../../src/flame/export.js";

test("a picture holds every box, its names escaped", () => {
  const svg = drawing(100, 36, 18, [
    { x: 0, y: 0, w: 100, fill: "#fff", label: "a<b>&\u0001", title: "a<b>&" },
    { x: 0, y: 18, w: 2, fill: "#000", label: "narrow", title: "narrow" }]);
  assert.equal(svg.match(/<rect /g).length, 2);
  assert.equal(svg.match(/<text /g).length, 1);
  assert.ok(svg.includes("<text x=\"3.0\" y=\"13\">a&lt;b&gt;&amp;</text>"));
  assert.ok(!svg.includes("\u0001"));
});
