import assert from "node:assert/strict";
import test from "node:test";
import { brief } from "../../src/flame/canvas.js";

test("brief names keep class and method", () => {
  for (const [name, text] of [
    ["org.apache.spark.sql.Foo$Bar.run", "Foo$Bar.run"],
    ["org.apache.spark.rdd.RDD$$Lambda$3626.0x00007fab611363d0.apply", "RDD$$Lambda$3626.apply"],
    ["a.b.C$$Lambda/0x00007fab611363d0.apply", "C$$Lambda.apply"],
    ["snappy::InternalUncompressAllTags<>", "snappy::InternalUncompressAllTags<>"],
    ["/usr/lib/libz.so.1.2.13", "/usr/lib/libz.so.1.2.13"],
    ["java.io.X.<init>", "X.<init>"],
  ]) assert.equal(brief(name), text);
});
