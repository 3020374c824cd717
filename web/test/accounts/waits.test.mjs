import assert from "node:assert/strict";
import test from "node:test";
import { between } from "../../src/accounts/waits.js";

test("a quantile of a histogram is told by its interval", () => {
  assert.equal(between({ low: 65536, high: 131072 }), "65.5 µs – 131 µs");
  assert.equal(between({ low: null, high: null }), null);
});
