import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { stringTable, unpack } from "../../src/ui/packed.js";

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
