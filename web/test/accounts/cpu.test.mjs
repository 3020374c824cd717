import assert from "node:assert/strict";
import test from "node:test";
import { byName } from "../../src/accounts/cpu.js";
import { wilson } from "../../src/ui/format.js";

test("operators of one name are summed, with the interval of their samples together", () => {
  const one = (operator, ns, hits, sql_id) => ({ operator, on_cpu_ns: ns, share_of_task_cpu: ns / 100, samples_count: hits, sql_id, stage_ids: [sql_id], on_cpu: { n: 100 }, expressions: [{ expression: "cast", on_cpu_ns: ns / 2, share: 0.5 }] });
  const [scan, filter, ...rest] = byName([one("Filter", 10, 10, 1), one("Scan", 30, 30, 1), one("Scan", 20, 20, 2), { operator: "Project", on_cpu_ns: 0 }]);
  assert.deepEqual([scan.name, scan.on_cpu_ns, scan.hits, scan.executions, filter.name, rest.length], ["Scan", 50, 50, [1, 2], "Filter", 0]);
  const [low, high] = wilson(50, 100);
  assert.ok(Math.abs(scan.estimate.low - low * 100) < 1e-9 && Math.abs(scan.estimate.high - high * 100) < 1e-9);
  assert.deepEqual(scan.expressions, [{ expression: "cast", on_cpu_ns: 25, share: 0.5 }]);
});

test("shares are of tasks and their Python workers together, with the interval of what was sampled", () => {
  const [python, scan] = byName([
    { operator: "BatchEvalPython", on_cpu_ns: 10, python_cpu_ns: 70, samples_count: 10, share_of_task_cpu: 0.1, share_with_workers: 80 / 170, on_cpu: { n: 100 } },
    { operator: "Scan", on_cpu_ns: 50, samples_count: 50, share_of_task_cpu: 0.5, share_with_workers: 50 / 170, on_cpu: { n: 100 } },
  ]);
  assert.deepEqual([python.cpu_ns, python.share, scan.cpu_ns, scan.share], [80, 80 / 170, 50, 50 / 170]);
  const [low, high] = wilson(10, 100);
  assert.ok(Math.abs(python.estimate.low - (70 + 100 * low)) < 1e-9 && Math.abs(python.estimate.high - (70 + 100 * high)) < 1e-9);
});

test("CPU of Python workers stands apart from that of the JVM, and counts in the order", () => {
  const found = byName([
    { operator: "Scan", on_cpu_ns: 50, samples_count: 5 },
    { operator: "BatchEvalPython", on_cpu_ns: 10, python_cpu_ns: 70, samples_count: 1 },
    { operator: "BatchEvalPython", on_cpu_ns: null, python_cpu_ns: 5, samples_count: 0 },
    { operator: "MapInPandas", on_cpu_ns: null, python_cpu_ns: 9, samples_count: 0 },
  ]);
  assert.deepEqual(found.map((o) => [o.name, o.on_cpu_ns, o.python_cpu_ns]), [["BatchEvalPython", 10, 75], ["Scan", 50, 0], ["MapInPandas", 0, 9]]);
});
