"""An invented, complete run: summary, manifest and tables, for tests of the report.

Shaped like a `parquet-scan` of three iterations on two cores. Deterministic.
"""

# ruff: noqa: E501 - rows of invented data read better on one line

from __future__ import annotations

import json
import random
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyrometer.core import schema
from pyrometer.store.tables_folder import STAMP

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = tomllib.loads((ROOT / "schema" / "tables.toml").read_text())
TYPES = {
    "i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "bool": pa.bool_(), "str": pa.string(),
    "dict": pa.string(), "list_i64": pa.list_(pa.int64()), "list_i32": pa.list_(pa.int32()),
}  # fmt: skip
S = 1_000_000_000
WALL0 = 1_795_250_000 * S
MONO0 = 5_000 * S
HOST = "bench-1"
PID = 4242


def write_tables(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write ``<table>.parquet`` for each table, with the columns of ``schema/tables.toml``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in rows.items():
        columns = SCHEMA[name]["columns"]
        unknown = {key for item in items for key in item} - set(columns)
        assert not unknown, f"{name}: {unknown}"
        arrow = pa.schema([(c, TYPES[d["type"]]) for c, d in columns.items()])
        full = [{c: item.get(c) for c in columns} for item in items]
        pq.write_table(pa.Table.from_pylist(full, schema=arrow), folder / f"{name}.parquet")


def estimate(value: float, spread: float, n: int, method: str = "wilson") -> dict[str, Any]:
    return {
        "value": value, "low": value * (1 - spread), "high": value * (1 + spread),
        "level": 0.95, "n": n, "method": method,
    }  # fmt: skip


ITERATIONS = [
    (0, True, 9.0, 17.6),
    (1, False, 18.0, 24.6),
    (2, False, 25.0, 31.4),
    (3, False, 31.8, 38.5),
]


def run_rows() -> dict[str, list[dict[str, Any]]]:
    """Rows of every table that the report reads; each caller has rows of its own."""
    return {table: [dict(row) for row in rows] for table, rows in _rows().items()}


@cache
def _rows() -> dict[str, list[dict[str, Any]]]:
    rng = random.Random(7)
    rows: dict[str, list[dict[str, Any]]] = {
        "apps": [{
            "app_index": 0, "app_id": "local-1795250005", "app_name": "parquet-scan",
            "spark_version": "4.3.0", "start_wall_ns": WALL0 + 4 * S, "end_wall_ns": WALL0 + 40 * S,
            "source_files": "[]", "events_count": 900, "uncompressed_bytes": 10_000_000,
        }],
        "clock_pairs": [{"host": HOST, "source": "plugin", "mono_ns": MONO0 + k * S, "wall_ns": WALL0 + k * S} for k in range(40)],
        "processes": [{"host": HOST, "pid": PID, "role": "driver", "executor_id": "driver", "app_id": "local-1795250005", "start_mono_ns": MONO0 + 4 * S}],
        "iterations": [{
            "iteration": i, "warmup": w, "start_mono_ns": int(MONO0 + a * S), "end_mono_ns": int(MONO0 + b * S),
            "start_wall_ns": int(WALL0 + a * S), "end_wall_ns": int(WALL0 + b * S), "status": "success",
        } for i, w, a, b in ITERATIONS],
    }  # fmt: skip
    rows["tasks"] = _tasks(rng)
    rows["gc_pauses"], rows["safepoints"] = _pauses(rng)
    rows["os_series"], rows["jvm_series"] = _series(rng)
    rows["samples"], rows["stacks"], rows["frames"] = _samples(rng)
    rows["spans"] = [_span(task) for task in rows["tasks"]]
    for sample in rows["samples"]:
        running = [
            s for s in rows["spans"] if s["start_mono_ns"] <= sample["t_ns"] < s["end_mono_ns"]
        ]
        if running and sample["role"] == "task":
            sample["task_attempt_id"] = running[0]["task_attempt_id"]
    return rows


def _span(task: dict[str, Any]) -> dict[str, Any]:
    return {
        "host": HOST, "pid": PID, "tid": 77, "executor_id": "driver", "stage_id": task["stage_id"],
        "stage_attempt": 0, "task_attempt_id": task["task_attempt_id"], "partition": 0, "status": "success",
        "start_mono_ns": task["launch_wall_ns"] - WALL0 + MONO0, "end_mono_ns": task["finish_wall_ns"] - WALL0 + MONO0,
    }  # fmt: skip


def _tasks(rng: random.Random) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = []
    for i, _, begin, end in ITERATIONS:
        free = [begin + 0.3, begin + 0.35]
        stage = 2 * i
        while min(free) < end - 0.5:
            slot = free.index(min(free))
            length = rng.uniform(0.3, 0.5)
            tasks.append(_task(len(tasks), stage, free[slot], length, "success"))
            free[slot] += length + 0.012
        tasks.append(_task(len(tasks), stage + 1, max(free), 0.15, "success"))
    tasks.append(_task(len(tasks), 2, 20.0, 0.2, "failed"))
    return tasks


def _task(number: int, stage: int, start: float, length: float, status: str) -> dict[str, Any]:
    return {
        "app_index": 0, "stage_id": stage, "stage_attempt": 0, "task_attempt_id": number,
        "executor_id": "driver", "host": HOST, "speculative": False, "status": status,
        "launch_wall_ns": int(WALL0 + start * S), "finish_wall_ns": int(WALL0 + (start + length) * S),
        "has_metrics": True, "executor_run_time_ns": int(length * 0.95 * S),
    }  # fmt: skip


def _pauses(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    pauses, safepoints = [], []
    at = 6.0
    while at < 39:
        length = int(rng.uniform(2, 18) * 1e6)
        start = int(MONO0 + at * S)
        pauses.append({
            "pid": PID, "gc_id": len(pauses), "start_mono_ns": start, "duration_ns": length,
            "collector": "G1", "kind": "young", "cause": "G1 Evacuation Pause",
        })  # fmt: skip
        for operation, offset in (("G1CollectForAllocation", 0), ("ICBufferFull", 200_000_000)):
            total = length + 300_000 if not offset else 400_000
            safepoints.append({
                "pid": PID, "end_mono_ns": start + offset + total, "operation": operation, "total_ns": total,
            })  # fmt: skip
        at += rng.uniform(0.5, 1.4)
    return pauses, safepoints


def _series(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    os_rows: list[dict[str, Any]] = []
    jvm_rows: list[dict[str, Any]] = []
    counters = dict.fromkeys(
        ("cpu_user_ns", "cpu_system_ns", "cpu_iowait_ns", "cpu_steal_ns", "cpu_idle_ns"), 0.0
    )
    rchar = disk = 0.0
    cached, heap = 6e9, 2e8

    def row(t: float, scope: str, name: str, value: float) -> None:
        os_rows.append(
            {
                "host": HOST,
                "t_mono_ns": int(MONO0 + t * S),
                "scope": scope,
                "name": name,
                "value": int(value),
            }
        )

    for k in range(40 * 20):
        t = k / 20
        busy = any(a + 0.2 < t < b for _, _, a, b in ITERATIONS)
        cold = 9 < t < 17
        user = (1.72 if busy else 0.9 if t > 3 else 0.08) * rng.uniform(0.9, 1.06)
        system, wait = (
            (0.16 if busy else 0.05) * rng.uniform(0.7, 1.4),
            0.35 if cold and rng.random() < 0.5 else 0.0,
        )
        shares = {
            "cpu_user_ns": min(user, 1.85 - wait),
            "cpu_system_ns": min(system, 0.14),
            "cpu_iowait_ns": wait,
            "cpu_steal_ns": 0.005,
        }
        shares["cpu_idle_ns"] = max(0.0, 2 - sum(shares.values()))
        for name, share in shares.items():
            counters[name] += share * 0.05 * S
            row(t, "host", name, counters[name])
        rchar += (9.5e7 if busy else 1e6) * 0.05
        disk += (8e7 if cold else 2e5) * 0.05
        row(t, f"process/{PID}", "rchar_bytes", rchar)
        if k % 5 == 0:
            row(t, "disk/vda", "read_bytes", disk)
            cached += 2e7 if cold else 0
            row(t, "host", "mem_cached_bytes", cached)
            row(t, "host", "mem_available_bytes", 2.2e10 - heap)
            row(t, "host", "mem_total_bytes", 2.5e10)
        if k % 2 == 0 and t > 4:
            heap = 2e8 if heap > 9e8 else heap + (3e7 if busy else 4e6)
            for name, value in (
                ("heap_used_bytes", heap),
                ("heap_committed_bytes", 1.07e9),
                ("heap_max_bytes", 2.1e9),
            ):
                jvm_rows.append(
                    {
                        "host": HOST,
                        "pid": PID,
                        "t_mono_ns": int(MONO0 + t * S),
                        "name": name,
                        "value": int(value),
                    }
                )
    return os_rows, jvm_rows


TASK_ROOT = [
    ("java.lang.Thread", "run", "c1"),
    ("java.util.concurrent.ThreadPoolExecutor$Worker", "run", "c1"),
    ("java.util.concurrent.ThreadPoolExecutor", "runWorker", "c1"),
    ("org.apache.spark.executor.Executor$TaskRunner", "run", "c1"),
    ("org.apache.spark.scheduler.Task", "run", "c1"),
    ("org.apache.spark.scheduler.ShuffleMapTask", "runTask", "c2"),
    ("org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory$WholeStageCodegenPartitionEvaluator$$anon$1", "hasNext", "c2"),
    ("org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1", "processNext", "c2"),
]  # fmt: skip
SCAN = [
    ("org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1", "columnartorow_nextBatch_0$", "inlined"),
    ("org.apache.spark.sql.execution.FileSourceScanExec$$anon$1", "hasNext", "c2"),
    ("org.apache.spark.sql.execution.datasources.FileScanRDD$$anon$1", "hasNext", "c2"),
    ("org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader", "nextBatch", "c2"),
]  # fmt: skip
DECODE = [
    *SCAN,
    (
        "org.apache.spark.sql.execution.datasources.parquet.VectorizedColumnReader",
        "readBatch",
        "c2",
    ),
]
PAGE = (
    "org.apache.parquet.hadoop.ColumnChunkPageReadStore$ColumnChunkPageReader",
    "readPage",
    "c2",
)
# path below the task root, category, operator, weight
CPU_PATHS: list[tuple[list[tuple[str | None, str, str]], str, str, float]] = [
    ([*DECODE, ("org.apache.spark.sql.execution.datasources.parquet.VectorizedRleValuesReader", "readBatchInternal", "c2")], "decode", "Scan parquet", 22),
    ([*DECODE, ("org.apache.spark.sql.execution.datasources.parquet.VectorizedRleValuesReader", "readNextGroup", "inlined"), ("org.apache.parquet.column.values.bitpacking.ByteBitPackingValuesReader", "unpack8Values", "c2")], "decode", "Scan parquet", 9),
    ([*DECODE, ("org.apache.spark.sql.execution.datasources.parquet.ParquetVectorUpdaterFactory$IntegerUpdater", "readValues", "inlined"), ("org.apache.spark.sql.execution.vectorized.OnHeapColumnVector", "putInts", "c2")], "decode", "Scan parquet", 7),
    ([*DECODE, PAGE, ("org.apache.parquet.hadoop.codec.SnappyDecompressor", "decompress", "c2"), ("org.xerial.snappy.SnappyNative", "rawUncompress", "c2"), (None, "snappy::InternalUncompressAllTags<>", "cpp")], "decompression", "Scan parquet", 21),
    ([*DECODE, PAGE, ("org.apache.hadoop.fs.FSDataInputStream", "read", "c2"), ("java.io.FileInputStream", "readBytes", "native"), (None, "entry_SYSCALL_64_after_hwframe", "kernel"), (None, "ksys_read", "kernel"), (None, "filemap_read", "kernel"), (None, "copy_page_to_iter", "kernel")], "kernel", "Scan parquet", 8),
    ([("org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1", "filter_doConsume_0$", "inlined")], "operator", "Filter", 6),
    ([("org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1", "filter_doConsume_0$", "inlined"), ("org.apache.spark.sql.catalyst.expressions.Cast", "$anonfun$castToDecimal$3", "c2"), ("org.apache.spark.sql.types.Decimal", "changePrecision", "c2")], "conversion", "Filter", 9),
    ([("org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1", "hashAgg_doAggregateWithoutKey_0$", "c2")], "hash", "HashAggregate", 4),
    ([("org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter", "write", "c2"), ("org.apache.spark.storage.DiskBlockObjectWriter", "write", "c2")], "shuffle write", "Exchange", 2),
]  # fmt: skip
OTHER_PATHS: list[tuple[list[tuple[str | None, str, str]], str, str, float]] = [
    ([(None, "start_thread", "native"), (None, "GangWorker::loop", "cpp"), (None, "G1ParEvacuateFollowersClosure::do_void", "cpp"), (None, "G1ParScanThreadState::trim_queue_to_threshold", "cpp")], "gc", "gc", 5),
    ([(None, "start_thread", "native"), (None, "CompileBroker::compiler_thread_loop", "cpp"), (None, "C2Compiler::compile_method", "cpp"), (None, "PhaseIdealLoop::build_and_optimize", "cpp")], "jit", "jit", 9),
    ([("java.lang.Thread", "run", "c1"), ("org.apache.spark.util.EventLoop$$anon$1", "run", "interpreted"), ("org.apache.spark.scheduler.DAGScheduler", "submitMissingTasks", "interpreted")], "driver", "driver", 2),
]  # fmt: skip


def _samples(
    rng: random.Random,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    frames: dict[tuple[str | None, str, int | None, str], int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    samples: list[dict[str, Any]] = []

    def stack(path: list[tuple[str | None, str, str]]) -> int:
        ids = []
        for cls, method, kind in path:
            line = rng.randint(10, 14) if cls else None
            ids.append(frames.setdefault((cls, method, line, kind), len(frames)))
        return stacks.setdefault(tuple(ids), len(stacks))

    def sample(t: float, event: str, weight: int, **more: Any) -> None:
        samples.append({
            "host": HOST, "pid": PID, "tid": 77, "t_ns": int(MONO0 + t * S), "clock": "mono",
            "source": "async-profiler", "event": event, "weight": weight,
            "unit": "bytes" if event == "alloc" else "ns", **more,
        })  # fmt: skip

    weights = [p[3] for p in CPU_PATHS]
    for i, _, begin, end in ITERATIONS:
        for k in range(int((end - begin) * 100 * 1.75)):
            path, category, operator, _ = rng.choices(CPU_PATHS, weights)[0]
            sample(begin + k / 175, "cpu", 10_000_000, role="task", category=category, operator=operator,
                   iteration=i, stage_id=2 * i, java_stack=stack([*TASK_ROOT, *path]))  # fmt: skip
            if k % 5 == 0:
                sample(begin + k / 175, "wall", 50_000_000, role="task", iteration=i, stage_id=2 * i,
                       state="sleeping" if k % 25 == 0 else "running", java_stack=stack([*TASK_ROOT, *path]))  # fmt: skip
            if k % 9 == 0:
                sample(begin + k / 175, "alloc", 524_288, role="task", iteration=i, stage_id=2 * i,
                       top_class=rng.choice(["byte[]", "int[]", "org.apache.spark.unsafe.types.UTF8String"]),
                       java_stack=stack([*TASK_ROOT, *DECODE, PAGE]))  # fmt: skip
        for path, category, role, share in OTHER_PATHS:
            for k in range(int(share * (end - begin))):
                sample(begin + k / 10, "cpu", 10_000_000, role=role, category=category, iteration=i,
                       java_stack=stack(path))  # fmt: skip
    return (
        samples,
        [{"stack_id": i, "frame_ids": list(ids), "truncated": False} for ids, i in stacks.items()],
        [{"frame_id": i, "class_name": c, "method": m, "line": ln, "kind": k} for (c, m, ln, k), i in frames.items()],
    )  # fmt: skip


def manifest() -> dict[str, Any]:
    """What the launcher wrote about the invented run."""
    return {
        "schema": "pyrometer/manifest/1", "run_id": "20261121-094500-parquet-scan", "pyrometer_version": "0.1.0",
        "created_wall_ns": WALL0, "started_wall_ns": WALL0, "ended_wall_ns": WALL0 + 40 * S, "state": "finished",
        "exit": {"code": 0, "signal": None, "reason": None},
        "workload": {"name": "parquet-scan", "command": [], "variant": {"data.codec": "snappy"}, "scale": "default", "spec": {}},
        "treatment": {"data.codec": "snappy"}, "profile": "full", "iterations": 3, "warmup": 1,
        "host": {"hostname": HOST, "kernel": "6.18.44", "cpus_count": 2, "cpu_model": "AMD EPYC 7R13", "memory_bytes": 25 * 10**9, "swap_bytes": 0, "virtualised": "firecracker", "card": None},
        "versions": {"spark": "4.3.0", "scala": "2.13.18", "java": "17.0.15", "python": "3.11.7", "async-profiler": "4.6"},
        "clock_pairs": [{"mono_ns": MONO0, "wall_ns": WALL0}],
        "conf_overlay": [
            {"key": "spark.plugins", "value": "org.pyrometer.plugin.PyrometerPlugin", "how": "appended", "reason": "the plugin maps tasks to threads"},
            {"key": "spark.eventLog.enabled", "value": "true", "how": "set", "reason": "nothing can be measured without the event log"},
            {"key": "spark.eventLog.compress", "value": "true", "how": "kept_user", "reason": "set by the user"},
        ],
        "probes": [
            {"name": "eventlog", "tier": None, "asked": "uncompressed, one file", "got": "one file", "dropped": 0, "own_cpu_ns": None, "reason": "runs inside Spark's own threads"},
            {"name": "async-profiler", "tier": None, "asked": "cpu 10 ms, wall 50 ms, alloc 512 KiB, lock 10 ms", "got": "8 312 samples", "dropped": 0, "own_cpu_ns": 310_000_000, "reason": None},
            {"name": "os", "tier": "T2", "asked": "20 Hz", "got": "800 passes, 2 late", "dropped": 0, "own_cpu_ns": 420_000_000, "reason": None},
            {"name": "counters", "tier": None, "asked": "cycles, instructions", "got": None, "dropped": None, "own_cpu_ns": None, "reason": "this virtual machine has no performance counters"},
        ],
        "results": [{"iteration": i, "warmup": w, "rows": 0, "checksum": "9f2c", "status": "success"} for i, w, _, _ in ITERATIONS],
    }  # fmt: skip


def write_run(root: Path) -> None:
    """Write the run directory of the invented run, whose tables are whole and current."""
    write_tables(root / "tables", run_rows())
    stamp = {
        "schema": "pyrometer/tables/1",
        "schema_version": schema.schema_version(),
        "started_wall_ns": 1 << 62,
    }
    (root / "tables" / STAMP).write_text(json.dumps(stamp))
    (root / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
