"""A small Spark that never was: consistent tables of every layer, known to the nanosecond.

``World`` schedules tasks on slots like Spark's FIFO scheduler and writes what each instrument
would have seen. Tests change single rows before they are written and see what the accounts say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyrometer.core import schema
from pyrometer.store.tables_folder import STAMP

MS = 1_000_000
S = 1_000_000_000
WALL0 = 1_700_000_000 * S
MONO0 = 5_000 * S
OFFSET = WALL0 - MONO0
HOST = "lab"
PID = 4242
ARROW = {
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
    "dict": pa.dictionary(pa.int32(), pa.string()),
    "list_i64": pa.list_(pa.int64()),
    "list_i32": pa.list_(pa.int32()),
}
Rows = dict[str, list[dict[str, Any]]]


@dataclass
class StageSpec:
    """A stage to run: durations of its tasks' run time, and the pause before its submission."""

    task_ms: list[int]
    gap_ms: int = 20
    iteration: int | None = None
    sql_id: int | None = 0


@dataclass
class World:
    """What to simulate. Parts of a task's run time: on CPU, in the run queue; the rest sleeps."""

    stages: list[StageSpec]
    slots: int = 2
    on_cpu: float = 0.7
    run_queue: float = 0.1
    tail_ms: int = 30
    cpus: int = 4
    before_ms: int = 2
    deserialize_ms: int = 1
    after_ms: int = 1
    wall_every_ms: int = 5
    cpu_every_ms: int = 10
    rows: Rows = field(default_factory=dict)
    now_ms: int = 100

    def __post_init__(self) -> None:
        self.free = [0] * self.slots
        self.cpu_of = [0] * self.slots
        self.delay_of = [0] * self.slots
        self.task_id = 0
        self.marks: dict[int, list[int]] = {}
        for number, stage in enumerate(self.stages):
            self._stage(number, stage)
        self.end_ms = self.now_ms + self.tail_ms
        self._rest()

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def _stage(self, number: int, spec: StageSpec) -> None:
        submit = self.now_ms + spec.gap_ms
        done = submit
        for index, run in enumerate(spec.task_ms):
            slot = min(range(self.slots), key=lambda s: (max(self.free[s], submit), s))
            launch = max(self.free[slot], submit)
            start = launch + self.before_ms + self.deserialize_ms
            end = start + run
            self.free[slot] = end + self.after_ms
            done = max(done, self.free[slot])
            self._task(number, spec, index, slot, launch, start, end)
        self.add(
            "stages",
            app_index=0,
            stage_id=number,
            stage_attempt=0,
            name=f"stage {number}",
            job_id=number,
            sql_id=spec.sql_id,
            iteration=spec.iteration,
            parent_ids=[],
            planned_tasks_count=len(spec.task_ms),
            submit_wall_ns=wall(submit),
            complete_wall_ns=wall(done),
            status="succeeded",
        )
        if spec.iteration is not None:
            first, _ = self.marks.setdefault(spec.iteration, [self.now_ms, done])
            self.marks[spec.iteration] = [first, done]
        self.now_ms = done

    def _task(
        self, stage: int, spec: StageSpec, index: int, slot: int, launch: int, start: int, end: int
    ) -> None:
        run = end - start
        cpu = round(run * self.on_cpu * MS)
        delay = round(run * self.run_queue * MS)
        self.add(
            "tasks",
            app_index=0,
            stage_id=stage,
            stage_attempt=0,
            task_attempt_id=self.task_id,
            task_index=index,
            partition=index,
            attempt=0,
            executor_id="driver",
            host=HOST,
            speculative=False,
            status="success",
            launch_wall_ns=wall(launch),
            finish_wall_ns=wall(end + self.after_ms),
            has_metrics=True,
            executor_run_time_ns=run * MS,
            executor_cpu_time_ns=cpu,
            executor_deserialize_time_ns=self.deserialize_ms * MS,
            executor_deserialize_cpu_time_ns=self.deserialize_ms * MS // 2,
            result_serialization_time_ns=0,
            jvm_gc_time_ns=0,
            result_size_bytes=1000 + index,
            peak_execution_memory_bytes=1 << 20,
            memory_spilled_bytes=0,
            disk_spilled_bytes=0,
            input_bytes=1_000_000,
            input_records_count=10_000,
            output_bytes=0,
            output_records_count=0,
            shuffle_read_remote_bytes=0,
            shuffle_read_local_bytes=500,
            shuffle_remote_blocks_fetched_count=0,
            shuffle_local_blocks_fetched_count=1,
            shuffle_fetch_wait_time_ns=0,
            shuffle_written_bytes=700,
            shuffle_written_records_count=7,
            shuffle_write_time_ns=0,
        )
        tid = 100 + slot
        self.add(
            "spans",
            host=HOST,
            pid=PID,
            tid=tid,
            executor_id="driver",
            start_mono_ns=mono(start),
            end_mono_ns=mono(end),
            stage_id=stage,
            stage_attempt=0,
            task_attempt_id=self.task_id,
            partition=index,
            sql_id=spec.sql_id,
            iteration=spec.iteration,
            status="success",
            cpu_ns=cpu,
        )
        self._read_thread(tid, start, slot, "Executor task l")
        self.cpu_of[slot] += cpu
        self.delay_of[slot] += delay
        self._read_thread(tid, end, slot, "Executor task l")
        self._samples(stage, spec, tid, start, end, cpu, delay)
        self.task_id += 1

    def _read_thread(self, tid: int, at_ms: int, slot: int, comm: str) -> None:
        self.add(
            "thread_counters",
            host=HOST,
            pid=PID,
            tid=tid,
            t_mono_ns=mono(at_ms),
            comm=comm,
            run_ns=self.cpu_of[slot],
            run_delay_ns=self.delay_of[slot],
            timeslices_count=1,
            first=False,
            last=False,
        )

    def _samples(
        self, stage: int, spec: StageSpec, tid: int, start: int, end: int, cpu: int, delay: int
    ) -> None:
        common = {
            "host": HOST,
            "pid": PID,
            "tid": tid,
            "clock": "mono",
            "source": "async-profiler",
            "unit": "ns",
            "role": "task",
            "thread_name": "Executor task launch worker",
            "task_attempt_id": self.task_id,
            "stage_id": stage,
            "stage_attempt": 0,
            "sql_id": spec.sql_id,
            "iteration": spec.iteration,
        }
        awake = mono(start) + cpu + delay
        for t in range(mono(start), mono(end), self.wall_every_ms * MS):
            asleep = t >= awake
            self.add(
                "samples",
                **common,
                t_ns=t,
                event="wall",
                weight=self.wall_every_ms * MS,
                state="sleeping" if asleep else "running",
                wait_class="block_io" if asleep else None,
            )
        kinds = (
            ("Filter", "filter", 3),
            ("Scan", "decode", 2),
            ("Filter", "cast", 3),
            (None, None, None),
        )
        for k, t in enumerate(range(mono(start), mono(start) + cpu, self.cpu_every_ms * MS)):
            operator, category, codegen = kinds[k % 4]
            self.add(
                "samples",
                **common,
                t_ns=t,
                event="cpu",
                weight=self.cpu_every_ms * MS,
                category=category,
                operator=operator,
                codegen_stage_id=codegen and 1,
            )

    def _rest(self) -> None:
        self.add(
            "apps",
            app_index=0,
            app_id="local-1",
            app_name="[red]x[/] <script>alert(1)</script>",
            spark_version="4.3.0",
            master=f"local[{self.slots}]",
            start_wall_ns=wall(0),
            end_wall_ns=wall(self.end_ms),
            first_event_wall_ns=wall(0),
            last_event_wall_ns=wall(self.end_ms),
            spark_conf="{}",
            source_files="[]",
            events_count=1,
            uncompressed_bytes=1,
        )
        self.add(
            "executors",
            app_index=0,
            executor_id="driver",
            host=HOST,
            cores_count=self.slots,
            add_wall_ns=wall(50),
        )
        self.add(
            "processes",
            host=HOST,
            pid=PID,
            role="driver",
            executor_id="driver",
            app_id="local-1",
            start_mono_ns=mono(0),
            end_mono_ns=mono(self.end_ms),
            facts=json.dumps({"cpus_count": self.cpus}),
        )
        for at in (0, self.end_ms):
            self.add("clock_pairs", host=HOST, source="plugin", mono_ns=mono(at), wall_ns=wall(at))
        for iteration, (first, last) in self.marks.items():
            self.add(
                "iterations",
                iteration=iteration,
                warmup=iteration == 0,
                start_mono_ns=mono(first),
                end_mono_ns=mono(last),
                start_wall_ns=wall(first),
                end_wall_ns=wall(last),
                result_rows_count=5,
                result_checksum="abc",
                status="success",
            )
        self._plan()
        self._host()

    def _plan(self) -> None:
        self.add(
            "sql_executions",
            app_index=0,
            sql_id=0,
            description="select [bold]1[/]",
            start_wall_ns=wall(100),
            end_wall_ns=wall(self.now_ms),
            plan_versions_count=1,
        )
        texts = (
            ("WholeStageCodegen (1)", None, "WholeStageCodegen (1)"),
            ("Filter", 1, "Filter (t#1 >= cast(lo#2 as timestamp))"),
            ("Scan parquet sales", 1, "FileScan parquet sales[t#1]"),
        )
        for node, (name, codegen, text) in enumerate(texts):
            self.add(
                "plan_nodes",
                app_index=0,
                sql_id=0,
                plan_version=0,
                is_final=True,
                node_id=node,
                parent_node_id=node - 1 if node else None,
                depth=node,
                name=name,
                simple_string=text,
                codegen_stage_id=codegen if node else 1,
            )
        self.add(
            "node_metrics",
            app_index=0,
            sql_id=0,
            plan_version=0,
            node_id=2,
            metric="size of files read",
            metric_type="size",
            accumulator_id=1,
            updates_count=1,
            value_sum=1_000_000 * self.task_id,
            value_min=1,
            value_max=1,
        )

    def _host(self) -> None:
        """One GC thread, one JIT thread, a probe, and a host whose times add up."""
        used = {"GC Thread#0": (200, 40 * MS), "C2 CompilerThre": (201, 60 * MS)}
        for comm, (tid, run) in used.items():
            for at, value in ((50, 0), (self.end_ms - 10, run)):
                self.add(
                    "thread_counters",
                    host=HOST,
                    pid=PID,
                    tid=tid,
                    t_mono_ns=mono(at),
                    comm=comm,
                    run_ns=value,
                    run_delay_ns=0,
                    timeslices_count=1,
                    first=at == 50,
                    last=False,
                )
        self.task_cpu = sum(self.cpu_of)
        self.other_cpu = sum(run for _, run in used.values())
        process = self.task_cpu + self.other_cpu
        length = self.end_ms * MS
        self.elsewhere = 25 * MS
        busy = process + self.elsewhere
        idle = self.cpus * length - busy
        series = {
            ("host", "cpu_user_ns"): busy,
            ("host", "cpu_idle_ns"): idle,
            ("host", "cpu_iowait_ns"): 0,
            ("host", "cpu_steal_ns"): 0,
            (f"process/{PID}", "cpu_ns"): process,
            (f"process/{PID}", "rchar_bytes"): 1_000_000 * self.task_id + 1000,
            (f"process/{PID}", "read_bytes"): 250_000 * self.task_id,
            ("probe", "own_cpu_ns"): 0,
        }
        for (scope, name), value in series.items():
            for at, seen in ((0, 0), (self.end_ms, value)):
                self.add(
                    "os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name=name, value=seen
                )
        for at in range(0, self.end_ms, 50):
            self.add(
                "os_series",
                host=HOST,
                t_mono_ns=mono(at),
                scope="probe",
                name="passes_count",
                value=at // 50,
            )

    def write(self, folder: Path, only: set[str] | None = None) -> Path:
        """Write a run directory of these tables (or of some of them), marked as whole."""
        return write_tables(folder, self.rows, only)


def write_tables(folder: Path, rows: Rows, only: set[str] | None = None) -> Path:
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for name, content in rows.items():
        if only is None or name in only:
            pq.write_table(_table(name, content), tables / f"{name}.parquet")
    stamp = {
        "schema": "pyrometer/tables/1",
        "schema_version": schema.schema_version(),
        "started_wall_ns": 1 << 62,
    }
    (tables / STAMP).write_text(json.dumps(stamp))
    return folder


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    columns = schema.tables()[name].columns
    given = set().union(*rows)
    unknown = given - {column.name for column in columns}
    assert not unknown, f"{name}: {unknown}"
    arrays = {}
    for column in columns:
        if column.name not in given:
            arrays[column.name] = pa.nulls(len(rows), ARROW[column.type])
            continue
        values = [row.get(column.name) for row in rows]
        if column.type == "dict":
            arrays[column.name] = pa.array(values, pa.string()).dictionary_encode()
        else:
            arrays[column.name] = pa.array(values, ARROW[column.type])
    return pa.table(arrays)


def wall(ms: int) -> int:
    return WALL0 + ms * MS


def mono(ms: int) -> int:
    return MONO0 + ms * MS
