import assert from "node:assert/strict";
import test from "node:test";
import { bounds, heat, ink, named } from "../../src/ui/colours.js";

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
