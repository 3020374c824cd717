"""Write a run of very many executors from one that was recorded on a cluster.

Streams of each recorded executor are written again for others, with names of hosts and numbers of
processes, threads and tasks of their own; logs and recordings, which have none, are links to the
recorded ones. The event log has their tasks. The driver's streams stay as they are, and so do all
times: executors work at the same time, as they do.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PIDS = 100_000
"""Numbers of processes and threads of two executors on one host are so far apart."""
TASKS = 1_000_000
"""And those of the tasks of two copies."""
IDLE_NS = 3600 * 10**9
"""And the idle times of two hosts since they began."""

_PIDS = ("pid", "tid", "waker_pid", "waker_tid")
_LINKED = (".log", ".jfr")


@dataclass(frozen=True)
class Copied:
    """An executor that stands for a recorded one.

    Attributes
    ----------
    source : Path
        Raw folder of the recorded one.
    of : str
        Its id.
    round : int
        Which copy of it this is, from 0.
    executor : str
        Id of the copy.
    host : str
        Its host.
    place : int
        Which executor of its host it is, from 0.
    host_number : int
        Which host it is, from 0.
    """

    source: Path
    of: str
    round: int
    executor: str
    host: str
    place: int
    host_number: int

    def pid(self, number: Any) -> Any:
        """Give a number of a process or thread of the copy; 0 and nothing stay what they are."""
        return number + self.place * PIDS if isinstance(number, int) and number > 0 else number

    def task(self, number: Any) -> Any:
        """Give the id of a task of the copy."""
        return number + self.round * TASKS if isinstance(number, int) else number


def multiply(run: Path, out: Path, executors: int, per_host: int, recordings: bool) -> None:
    """Write the run.

    Parameters
    ----------
    run : Path
        A run directory with executors that shipped.
    out : Path
        A folder that is made.
    executors, per_host : int
        How many, and how many of them on one host.
    recordings : bool
        Whether logs and recordings of the JVMs are taken along.

    Raises
    ------
    ValueError
        If no executor of the run shipped anything.
    """
    sources = sorted(path for path in (run / "raw" / "shipped").glob("*/*/*/*") if path.is_dir())
    if not sources:
        raise ValueError(f"{run}: no executor shipped anything; record it on a cluster")
    copies = list(_copies(sources, executors, per_host))
    (out / "raw").mkdir(parents=True)
    shutil.copy(run / "manifest.json", out)
    for file in sorted((run / "raw").iterdir()):
        if file.is_file():
            os.link(file, out / "raw" / file.name)
    shutil.copytree(run / "raw" / "codegen", out / "raw" / "codegen", copy_function=os.link)
    for log in (run / "raw" / "eventlog").iterdir():
        (out / "raw" / "eventlog").mkdir(exist_ok=True)
        with (out / "raw" / "eventlog" / log.name).open("w") as target:
            target.writelines(_events(log, copies))
    for copy in copies:
        app, _, attempt, _ = copy.source.parts[-4:]
        _write(
            copy, out / "raw" / "shipped" / app / copy.executor / attempt / copy.host, recordings
        )


def _copies(sources: list[Path], executors: int, per_host: int) -> Iterator[Copied]:
    for number in range(executors):
        source = sources[number % len(sources)]
        yield Copied(
            source=source,
            of=source.parts[-3],
            round=number // len(sources),
            executor=str(number),
            host=f"host-{number // per_host:04d}",
            place=number % per_host,
            host_number=number // per_host,
        )


def _write(copy: Copied, target: Path, recordings: bool) -> None:
    host = copy.source.name
    for file in sorted(path for path in copy.source.rglob("*") if path.is_file()):
        name = str(file.relative_to(copy.source)).replace(host, copy.host)
        name = name.replace(f"-executor-{copy.of}-", f"-executor-{copy.executor}-")
        name = name.replace(f"executor{copy.of}-", f"executor{copy.executor}-")
        made = target / _with_pid(name, copy)
        if file.suffix in _LINKED and not recordings:
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".arrows":
            _stream(file, made, copy)
        elif file.name.startswith("plugin-"):
            made.write_text("".join(_records(file, copy)))
        elif file.suffix == ".json":
            made.write_text(file.read_text().replace(json.dumps(host), json.dumps(copy.host)))
        else:
            os.link(file, made)


def _with_pid(name: str, copy: Copied) -> str:
    """Give the number in a name, before its suffix, as the copy's."""
    head, dash, rest = name.rpartition("-")
    number, dot, suffix = rest.partition(".")
    if not dash or not number.isdecimal() or "probe-" in name or "agent-" in name:
        return name
    return f"{head}-{copy.pid(int(number))}{dot}{suffix}"


def _records(file: Path, copy: Copied) -> Iterator[str]:
    for line in file.read_text().splitlines():
        record = json.loads(line)
        for key in _PIDS:
            if key in record:
                record[key] = copy.pid(record[key])
        if "task" in record:
            record["task"] = copy.task(record["task"])
        if record.get("k") == "process":
            record |= {"host": copy.host, "executor_id": copy.executor}
        yield json.dumps(record, separators=(",", ":")) + "\n"


def _stream(file: Path, made: Path, copy: Copied) -> None:
    with pa.ipc.open_stream(file) as source, pa.ipc.new_stream(made, source.schema) as out:
        for batch in source:
            out.write_batch(_batch(batch, copy))


def _batch(batch: pa.RecordBatch, copy: Copied) -> pa.RecordBatch:
    columns = {
        field.name: _column(field.name, column, copy)
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    if {"name", "value"} <= columns.keys():
        parents = pc.equal(columns["name"].cast(pa.string()), "parent_pid")
        moved = _moved(columns["value"], copy.place * PIDS)
        columns["value"] = pc.if_else(parents, moved, columns["value"])
        # By the same idle time hosts with one clock would be one machine.
        idle = pc.equal(columns["name"].cast(pa.string()), "cpu_idle_ns")
        own = pc.add(columns["value"], pa.scalar(copy.host_number * IDLE_NS, moved.type))
        columns["value"] = pc.if_else(idle, own, columns["value"])
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


def _column(name: str, column: pa.Array, copy: Copied) -> pa.Array:
    if name in _PIDS:
        return _moved(column, copy.place * PIDS)
    if name == "task_attempt_id":
        return pc.add(column, pa.scalar(copy.round * TASKS, column.type))
    if name == "host":
        return _renamed(column, lambda _: copy.host)
    return _renamed(column, lambda text: _scope(text, copy)) if name == "scope" else column


def _moved(column: pa.Array, by: int) -> pa.Array:
    """Add to numbers; 0 and nothing stay what they are."""
    zero = pa.scalar(0, column.type)
    return pc.if_else(pc.greater(column, zero), pc.add(column, pa.scalar(by, column.type)), column)


def _renamed(column: pa.DictionaryArray, name: Callable[[str], str]) -> pa.Array:
    words = pa.array([name(word) for word in column.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(column.indices, words)


def _scope(scope: str, copy: Copied) -> str:
    kind, slash, number = scope.partition("/")
    if kind == "process" and slash and number.isdecimal():
        return f"process/{copy.pid(int(number))}"
    return scope


def _events(log: Path, copies: list[Copied]) -> Iterator[str]:
    """Give the lines of an event log with what each copy did beside what is the driver's."""
    of: dict[str, list[Copied]] = {}
    for copy in copies:
        of.setdefault(copy.of, []).append(copy)
    tasks = {one: len(of_one) for one, of_one in of.items()}
    many = max(tasks.values())
    for line in log.read_text().splitlines():
        event = json.loads(line)
        kind = event["Event"]
        if kind in ("SparkListenerTaskStart", "SparkListenerTaskEnd"):
            for copy in of.get(event["Task Info"]["Executor ID"], []):
                yield _task(event, copy)
        elif kind in ("SparkListenerExecutorAdded", "SparkListenerExecutorRemoved"):
            for copy in of.get(event["Executor ID"], []):
                info = event.get("Executor Info")
                more = {"Executor Info": {**info, "Host": copy.host}} if info else {}
                yield _line({**event, **more, "Executor ID": copy.executor})
        elif kind in ("SparkListenerStageSubmitted", "SparkListenerStageCompleted"):
            info = dict(event["Stage Info"])
            info["Number of Tasks"] *= many
            yield _line({**event, "Stage Info": info})
        elif _executor_of(event) in of:
            continue
        else:
            yield line + "\n"


def _executor_of(event: dict[str, Any]) -> str | None:
    """Give the executor that an event is of, of a kind that is left out for copies."""
    manager = event.get("Block Manager ID") or {}
    found = event.get("Executor ID") or manager.get("Executor ID")
    return found if isinstance(found, str) else None


def _task(event: dict[str, Any], copy: Copied) -> str:
    info = dict(event["Task Info"])
    info["Task ID"] = copy.task(info["Task ID"])
    info["Index"] += copy.round * 10_000
    info["Partition ID"] = info["Index"]
    info |= {"Executor ID": copy.executor, "Host": copy.host}
    return _line({**event, "Task Info": info})


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"
