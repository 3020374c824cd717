import assert from "node:assert/strict";
import test from "node:test";
import { hostsInWords, slowest } from "../../src/experiment/hosts.js";

const host = (name, canaries, more) => ({ host: name, canaries, age_s: 12, reason: null, ...more });

test("the slowest host comes first, by the measure that is slowest", () => {
  const hosts = [host("h1", { alu_ns: 0.02, latency_ns: -0.1 }), host("h2", { alu_ns: 0.1, copy_bytes_per_s: -0.5 })];
  // Half the rate is twice as slow.
  assert.equal(slowest(hosts), 1);
  const [first, second] = hostsInWords(hosts).split("; ");
  assert.match(first, /^h2: memory bandwidth .50(\.0)? %, 12(\.0)? s before$/);
  assert.match(second, /^h1: arithmetic \+2(\.0+)? %/);
});

test("a host without a canary says why, and many are not all listed", () => {
  const none = host("h9", {}, { age_s: null, reason: "no agent" });
  assert.equal(slowest([none]), null);
  assert.equal(hostsInWords([none]), "h9: no canary (no agent)");
  const many = ["a", "b", "c", "d", "e"].map((name, at) => host(name, { alu_ns: at / 10 }));
  const told = hostsInWords(many).split("; ");
  assert.deepEqual(told.map((one) => one.split(":")[0]), ["e", "d", "c", "2 more"]);
});
