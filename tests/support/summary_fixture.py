"""The summary (``show --json``) of the invented run of ``report_fixture``."""

# ruff: noqa: E501 - rows of invented data read better on one line

from __future__ import annotations

from typing import Any

from tests.support.report_fixture import HOST, ITERATIONS, MONO0, WALL0, S, estimate, manifest

TOTALS = {
    "stages_count": 6, "tasks_count": 96, "elapsed_ns": 19_400_000_000, "stage_duration_ns": 19_050_000_000,
    "executor_run_time_ns": 36_900_000_000, "executor_cpu_time_ns": 33_870_000_000,
    "executor_deserialize_time_ns": 310_000_000, "executor_deserialize_cpu_time_ns": 190_000_000,
    "result_serialization_time_ns": 12_000_000, "jvm_gc_time_ns": 610_000_000, "shuffle_fetch_wait_time_ns": 0,
    "shuffle_write_time_ns": 21_000_000, "result_size_max_bytes": 4096, "disk_spilled_bytes": 0,
    "memory_spilled_bytes": 0, "peak_execution_memory_max_bytes": 0, "input_records_count": 129_489_120,
    "input_bytes": 3_300_000, "output_records_count": 0, "output_bytes": 0, "shuffle_read_total_bytes": 5_700,
    "shuffle_read_local_bytes": 5_700, "shuffle_read_remote_bytes": 0, "shuffle_blocks_fetched_count": 93,
    "shuffle_local_blocks_fetched_count": 93, "shuffle_remote_blocks_fetched_count": 0,
    "shuffle_written_bytes": 5_700, "shuffle_written_records_count": 93,
}  # fmt: skip


def row(
    path: str,
    value: float | None,
    method: str = "exact",
    n: int | None = None,
    spread: float = 0.0,
    source: str = "event log",
) -> dict[str, Any]:
    parent, _, _ = path.rpartition("/")
    ns = None if value is None else int(value * S)
    return {
        "path": path, "parent": parent or None, "value_ns": ns,
        "low_ns": None if ns is None else int(ns * (1 - spread)),
        "high_ns": None if ns is None else int(ns * (1 + spread)),
        "n": n, "method": method, "source": source, "share": None if value is None else value / 39.0,
    }  # fmt: skip


SLOT_ROWS = [
    row("task", 36.9),
    row("task/on_cpu", 33.87, n=96),
    row("task/on_cpu/decode", 14.6, "sampled", 1460, 0.04, "profiler"),
    row("task/on_cpu/decompression", 8.1, "sampled", 810, 0.06, "profiler"),
    row("task/on_cpu/conversion", 3.5, "sampled", 350, 0.1, "profiler"),
    row("task/on_cpu/kernel", 3.1, "sampled", 310, 0.11, "profiler"),
    row("task/on_cpu/operator", 2.3, "sampled", 230, 0.12, "profiler"),
    row("task/on_cpu/hash", 1.5, "sampled", 150, 0.15, "profiler"),
    row("task/on_cpu/shuffle write", 0.7, "sampled", 70, 0.24, "profiler"),
    row("task/on_cpu/unclassified", 0.07, "sampled", 7, 0.7, "profiler"),
    row("task/run_queue", 1.2, n=4000, source="schedstat"),
    row("task/pause", 0.8, n=31, source="safepoint log"),
    row(
        "task/block_io",
        None,
        "unavailable",
        source="needs the kernel's delay accounting (kernel.task_delayacct=1)",
    ),
    row("task/other_wait", 1.03, "by_complement", source="task time less the rows above"),
    row("deserialisation", 0.31),
    row("result_serialisation", 0.012),
    row("scheduler_delay", 0.62, "by_complement"),
    row("idle", 1.14, "exact"),
    row("idle/driver", 0.72),
    row("idle/stage_tail", 0.42),
]

CORE_ROWS = [
    row("task threads", 33.9, n=4000, source="schedstat"),
    row("driver", 0.9, n=4000, source="schedstat"),
    row("helper", 0.4, n=4000, source="schedstat"),
    row("gc", 1.05, n=4000, source="schedstat"),
    row("jit", 1.35, n=4000, source="schedstat"),
    row("other jvm", 0.2, n=4000, source="schedstat"),
    row("pyrometer", 0.35, n=800, source="schedstat"),
    row("other processes", 0.25, "by_complement", source="CPU of the host less the rows above"),
    row("steal", 0.1, n=800, source="/proc/stat"),
    row("idle", 0.4, n=800, source="/proc/stat"),
]


def _node(
    node_id: int,
    parent: int | None,
    depth: int,
    name: str,
    cpu: float | None,
    stages: list[int],
    codegen: int | None = None,
    text: str = "",
    metrics: list[tuple[str, str, int]] | None = None,
) -> dict[str, Any]:
    return {
        "node_id": node_id, "parent_node_id": parent, "depth": depth, "name": name,
        "simple_string": text or name, "codegen_stage_id": codegen,
        "on_cpu_ns": None if cpu is None else int(cpu * S), "off_cpu_ns": None if cpu is None else int(cpu * 0.05 * S),
        "samples_count": None if cpu is None else int(cpu * 100), "stage_ids": stages,
        "metrics": [{"metric": m, "metric_type": t, "value_sum": v, "value_min": v // 32, "value_max": v // 30} for m, t, v in metrics or []],
    }  # fmt: skip


def _nodes(stage: int) -> list[dict[str, Any]]:
    rows = 43_163_040
    return [
        _node(0, None, 0, "AdaptiveSparkPlan", 0.0, [], text="AdaptiveSparkPlan isFinalPlan=true"),
        _node(1, 0, 1, "HashAggregate", 0.01, [stage + 1], 2, "HashAggregate(keys=[], functions=[count(1)])", [("number of output rows", "sum", 1)]),
        _node(2, 1, 2, "ShuffleQueryStage", 0.0, [stage + 1]),
        _node(3, 2, 3, "Exchange", 0.2, [stage, stage + 1], None, "Exchange SinglePartition, ENSURE_REQUIREMENTS", [("shuffle bytes written", "size", 1900), ("shuffle records written", "sum", 31)]),
        _node(4, 3, 4, "HashAggregate", 0.5, [stage], 1, "HashAggregate(keys=[], functions=[partial_count(1)])", [("number of output rows", "sum", 31), ("time in aggregation build", "timing", 10_900)]),
        _node(5, 4, 5, "Project", 0.0, [stage], 1),
        _node(6, 5, 6, "Filter", 1.9, [stage], 1, "Filter (cast(ws_sales_price#12 as decimal(20,4)) < 0)", [("number of output rows", "sum", 0)]),
        _node(7, 6, 7, "ColumnarToRow", 0.1, [stage], 1, "", [("number of output rows", "sum", rows), ("number of input batches", "sum", 10_560)]),
        _node(8, 7, 8, "Scan parquet", 8.6, [stage], None, "FileScan parquet [ws_sold_time_sk#1,ws_sales_price#12] Batched: true, DataFilters: [], Format: Parquet, Location: InMemoryFileIndex(1 paths)[file:/data/web_sales], PartitionFilters: [], ReadSchema: struct<ws_sold_time_sk:int>", [("number of output rows", "sum", rows), ("number of files read", "sum", 31), ("size of files read", "size", 1_100_000_000), ("scan time", "timing", 8_700)]),
    ]  # fmt: skip


def _join_nodes() -> list[dict[str, Any]]:
    return [
        _node(0, None, 0, "BroadcastNestedLoopJoin", 4.2, [9], 1, "BroadcastNestedLoopJoin BuildRight, Inner, ((cast(ts#1 as decimal(20,0)) >= start#4) AND (cast(ts#1 as decimal(20,0)) <= end#5))", [("number of output rows", "sum", 998_000)]),
        _node(1, 0, 1, "Scan parquet", 0.2, [9], 1, "FileScan parquet [ts#1]", [("number of output rows", "sum", 1_000_000), ("size of files read", "size", 8_000_000)]),
        _node(2, 0, 1, "BroadcastExchange", 0.02, [8], None, "BroadcastExchange IdentityBroadcastMode", [("data size", "size", 16_000), ("time to broadcast", "timing", 12)]),
        _node(3, 2, 2, "Filter", 0.0, [8], 2, "Filter isnotnull(start#4)"),
        _node(4, 3, 3, "Scan parquet", 0.05, [8], None, "FileScan parquet [start#4,end#5]", [("number of output rows", "sum", 300)]),
    ]  # fmt: skip


def _stages() -> list[dict[str, Any]]:
    stages = []
    for i, _, begin, end in ITERATIONS:
        for part, (tasks, run) in enumerate(((31, (end - begin) * 1.9), (1, 0.14))):
            start = begin + 0.3 if not part else end - 0.2
            duration = end - begin - 0.5 if not part else 0.16
            stages.append({
                "app_index": 0, "stage_id": 2 * i + part, "stage_attempt": 0,
                "name": "collect at scan.py:41", "sql_id": i, "job_id": i, "iteration": i, "status": "succeeded",
                "tasks_count": tasks, "failed_tasks_count": 1 if (i, part) == (1, 0) else 0, "killed_tasks_count": 0,
                "submit_wall_ns": int(WALL0 + start * S), "complete_wall_ns": int(WALL0 + (start + duration) * S),
                "duration_ns": int(duration * S),
                "task_time": {"min_ns": int(0.3e9), "median_ns": int(0.4e9), "p95_ns": int(0.49e9), "max_ns": int(0.5e9)} if not part else {"min_ns": int(0.14e9), "median_ns": int(0.14e9), "p95_ns": int(0.14e9), "max_ns": int(0.14e9)},
                "totals": {
                    "executor_run_time_ns": int(run * S), "executor_cpu_time_ns": int(run * 0.92 * S), "jvm_gc_time_ns": int(run * 0.016 * S),
                    "input_bytes": 1_100_000 if not part else 0, "input_records_count": 43_163_040 if not part else 0,
                    "shuffle_written_bytes": 1_900 if not part else 0, "shuffle_read_total_bytes": 0 if not part else 1_900,
                    "disk_spilled_bytes": 0, "tasks_count": tasks,
                },
            })  # fmt: skip
    return stages


def summary() -> dict[str, Any]:
    """All parts of ``pyrometer/show/1``."""
    facts = manifest()
    sql = [
        {
            "app_index": 0, "sql_id": i, "description": "collect at scan.py:41", "iteration": i,
            "start_wall_ns": int(WALL0 + a * S), "end_wall_ns": int(WALL0 + b * S), "duration_ns": int((b - a) * S),
            "error": None, "plan_versions_count": 3, "nodes": _nodes(2 * i),
        }
        for i, _, a, b in ITERATIONS
    ] + [{
        "app_index": 0, "sql_id": 4, "description": "count of <joined> & grouped", "iteration": None, "start_wall_ns": WALL0 + 38 * S,
        "end_wall_ns": WALL0 + 39 * S, "duration_ns": S, "error": None, "plan_versions_count": 1, "nodes": _join_nodes(),
    }]  # fmt: skip
    categories = [
        (r["path"].rpartition("/")[2], r) for r in SLOT_ROWS if r["path"].startswith("task/on_cpu/")
    ]
    return {
        "schema": "pyrometer/show/1",
        "run": {
            "run_dir": "runs/20261121-094500-parquet-scan", "workload": "parquet-scan", "command": [], "variant": {"data.codec": "snappy"},
            "scale": "default", "profile": "full", "state": "finished", "exit_code": 0, "spark_version": "4.3.0",
            "started_wall_ns": WALL0, "host": facts["host"], "conf_overlay": facts["conf_overlay"],
        },
        "window": {
            "name": "measured", "iterations": [1, 2, 3], "start_wall_ns": WALL0 + 18 * S, "end_wall_ns": int(WALL0 + 38.5 * S),
            "start_mono_ns": MONO0 + 18 * S, "end_mono_ns": int(MONO0 + 38.5 * S),
        },
        "verdict": "CPU-bound: task threads were on CPU for 92 % of task time, 43 % of it decoding Parquet and 24 % decompressing.",
        "totals": TOTALS, "failed": {"totals": {"tasks_count": 1, "executor_run_time_ns": 190_000_000}},
        "apps": [{"app_index": 0, "app_id": "local-1795250005", "app_name": "parquet-scan", "spark_version": "4.3.0", "java_version": "17.0.15", "scala_version": "2.13.18", "master": "local[2]", "user": "ann",
                  "executors": [{"executors_count": 1, "hosts_count": 1, "removed_count": 0, "cores_count": 2, "storage_memory_bytes": 434_000_000}], "executor_memory": None, "driver_memory": "1g",
                  "settings": [{"name": n, "value": v, "origin": o} for n, v, o in (("spark.sql.shuffle.partitions", "8", "set"), ("spark.my.password", "*********(redacted)", "set"), ("spark.app.id", "local-1", "spark"), ("os.arch", "amd64", "jvm"))], "settings_count": 4,
                  "start_wall_ns": WALL0 + 4 * S, "end_wall_ns": WALL0 + 40 * S, "totals": TOTALS, "failed": {"totals": {}}}],
        "iterations": [{
            "iteration": i, "warmup": w, "elapsed_ns": int((b - a) * S), "status": "success", "result_rows_count": 0,
            "result_checksum": "9f2c", "totals": {**TOTALS, "executor_cpu_time_ns": int((b - a) * 1.75 * S), "executor_run_time_ns": int((b - a) * 1.9 * S), "jvm_gc_time_ns": 200_000_000},
            "cache": {"state": "cold", "resident_ratio": 0.002 * i, "method": "cachestat", "reason": None},
            "counters": {"reads_count": 500, "latency_p99_ns": 207_872},
        } for i, w, a, b in ITERATIONS],
        "stages": _stages(), "sql": sql,
        "operators": [
            {"app_index": 0, "operator": name, "node_id": node, "sql_id": i, "stage_ids": [2 * i], "on_cpu_ns": int(cpu / 3 * S), "off_cpu_ns": int(cpu * 0.04 / 3 * S),
             "on_cpu": estimate(cpu / 3 * S, 0.05, int(cpu * 33)), "samples_count": int(cpu * 33), "share_of_task_cpu": cpu / 3 / 33.87,
             "samples_by": {"line": int(cpu * 30), "frames": int(cpu * 33) - int(cpu * 30)},
             "expressions": [{"expression": "cast(ws_sales_price as decimal(20,4))", "on_cpu_ns": int(1.03 * S), "share": 0.57}] if name == "Filter" else []}
            for i in (1, 2, 3) for name, node, cpu in (("Scan parquet", 8, 25.8), ("Filter", 6, 5.4), ("HashAggregate", 4, 1.5), ("Exchange", 3, 0.7))
        ],
        "unmapped": {"on_cpu_ns": int(0.47 * S), "ratio": 0.014},
        "categories": [{"category": n, "on_cpu_ns": r["value_ns"], "estimate": estimate(r["value_ns"], 0.05, r["n"]), "share": r["value_ns"] / 33.87e9} for n, r in categories],
        "cpu": {
            "process_cpu_ns": int(37.75 * S), "executor_cpu_time_ns": TOTALS["executor_cpu_time_ns"], "ratio": 1.114, "reason": None,
            "roles": [{"role": r, "cpu_ns": int(c * S), "run_delay_ns": int(c * 0.03 * S), "threads_count": k} for r, c, k in
                      (("task", 33.9, 2), ("jit", 1.35, 3), ("gc", 1.05, 4), ("driver", 0.9, 41), ("helper", 0.4, 18), ("pyrometer", 0.35, 2), ("vm", 0.1, 6), ("other", 0.05, 9))],
        },
        "io": {
            "input_bytes": 3_300_000_000, "process_read_chars_bytes": 3_320_000_000, "process_read_bytes": 12_000_000, "scan_files_size_bytes": 3_300_000_000,
            "page_cache_ratio": 0.996, "mb_per_s_per_core": 97.4, "bytes_source": "scan_files_size", "reason": None,
        },
        "gc": {"pauses_count": 31, "pause_total_ns": 305_000_000, "pause_max_ns": 18_200_000, "safepoints_count": 94, "safepoint_total_ns": 338_000_000,
               "by_kind": [{"kind": "young", "pauses_count": 31, "total_ns": 305_000_000, "max_ns": 18_200_000}]},
        "ledger": {
            "slot_view": {"window": "measured", "total_ns": 39 * S, "rows": SLOT_ROWS, "closure_ratio": -0.0005, "unclassified_ratio": 0.0018, "sampling_error_ratio": 0.021},
            "core_view": {"window": "measured", "total_ns": 39 * S, "rows": CORE_ROWS, "closure_ratio": 0.0021, "unclassified_ratio": 0.0051, "sampling_error_ratio": None},
            "checks": [{"name": "task CPU: Spark's counter against the kernel's", "left_ns": 33_870_000_000, "right_ns": 33_900_000_000, "difference_ratio": 0.0009, "ok": True, "explanation": "Spark reads the same clock at task boundaries."}],
        },
        "instruments": [{"name": "async-profiler", "cpu_ns": 310_000_000, "share_of_process_cpu": 0.0082, "reason": None}, {"name": "pyro-probe", "cpu_ns": 420_000_000, "share_of_process_cpu": 0.0111, "reason": None}, {"name": "event log", "cpu_ns": None, "share_of_process_cpu": None, "reason": "written by Spark's listener thread; counted with the driver"}],
        "doubts": [
            {"code": "input_bytes_undercounted", "severity": "warning", "message": "Spark reports 3.3 MB of input; the scan's files hold 3.3 GB.", "remedy": "Set spark.hadoop.parquet.hadoop.vectored.io.enabled=false to have Spark count them."},
            {"code": "probe_missing", "severity": "info", "message": "counters: this virtual machine has no performance counters.", "remedy": "pyrometer doctor says what it needs."},
        ],
        "host": HOST,
    }  # fmt: skip


def eventlog_only_summary() -> dict[str, Any]:
    """What is known where there is an event log and nothing else."""
    full = summary()
    for execution in full["sql"]:
        for node in execution["nodes"]:
            node |= {"on_cpu_ns": None, "off_cpu_ns": None, "samples_count": None}
    no = "event log only: nothing else was recorded"
    return full | {
        "run": full["run"] | {"profile": None, "host": {}, "conf_overlay": [], "state": None},
        "doubts": [{"code": "event_log_only", "severity": "info", "message": "no plugin and no probe ran", "remedy": "Run it under `pyrometer run`."}],
        "iterations": [], "operators": [], "unmapped": None, "categories": [], "instruments": [],
        "cpu": {"process_cpu_ns": None, "executor_cpu_time_ns": TOTALS["executor_cpu_time_ns"], "ratio": None, "roles": [], "reason": no},
        "io": dict.fromkeys(full["io"]) | {"reason": no, "input_bytes": None},
        "gc": {"pauses_count": None, "pause_total_ns": None, "pause_max_ns": None, "safepoints_count": None, "safepoint_total_ns": None, "by_kind": [], "reason": no},
        "ledger": {"slot_view": full["ledger"]["slot_view"] | {"rows": [r for r in SLOT_ROWS if r["source"] == "event log"], "unclassified_ratio": None, "sampling_error_ratio": None},
                   "core_view": {"window": "application", "total_ns": None, "rows": [], "closure_ratio": None, "unclassified_ratio": None, "sampling_error_ratio": None}, "checks": []},
    }  # fmt: skip
