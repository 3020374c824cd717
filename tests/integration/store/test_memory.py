"""Analysis stays below 256 MiB, however large its input is.

Nothing limits these processes: the most that they ever held, mapped files and all, is below it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.eventlog.widen import widen
from benchmarks.stacks_input import repeat
from tests.support.eventlog.recorded import RECORDED
from tests.support.tables import ARROW, HOST, MONO0

from pyrometer.core import schema

LIMIT_BYTES = 256 << 20
TASKS = 100_000
LOG = RECORDED / "scan-4.3.0.zstd"
RECORDING = Path(__file__).parents[2] / "fixtures" / "jfr" / "profile-burn-20632.jfr"

# A process knows the most that it ever held; what its parent held is not counted.
_VERB = """
import json, re, sys
from pathlib import Path
from pyrometer.cli.main import run_verb
code = run_verb(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps({"code": code, "peak_bytes": int(peak[1]) * 1024}), file=sys.stderr)
"""


def peak_bytes(*arguments: str | Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _VERB, *map(str, arguments)], capture_output=True, text=True
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] == 0, done.stderr
    return int(told["peak_bytes"])


@pytest.fixture(scope="module")
def many_tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run of an event log of 500 MB, and the peak of its making."""
    folder = tmp_path_factory.mktemp("memory")
    log = folder / "log"
    with log.open("wb") as out:
        assert widen(LOG, TASKS, out) >= TASKS
    peak = peak_bytes("ingest", log, "-o", folder / "run")
    log.unlink()
    stamp = json.loads((folder / "run" / "tables" / "tables.json").read_text())
    assert stamp["tables"]["tasks"] >= TASKS
    return folder / "run", peak


@pytest.mark.slow
def test_an_event_log_of_a_hundred_thousand_tasks_is_read(many_tasks: tuple[Path, int]) -> None:
    assert many_tasks[1] < LIMIT_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [("show",), ("show", "--json"), ("ledger",), ("report", "-o", "page.html"), ("explain",)],
    ids=" ".join,
)
def test_a_run_of_a_hundred_thousand_tasks_is_shown(
    many_tasks: tuple[Path, int], verb: tuple[str, ...], tmp_path: Path
) -> None:
    run, _ = many_tasks
    given = [str(tmp_path / part) if part == "page.html" else part for part in verb[1:]]
    assert peak_bytes(verb[0], run, *given) < LIMIT_BYTES


@pytest.mark.slow
def test_two_runs_of_a_hundred_thousand_tasks_are_compared(many_tasks: tuple[Path, int]) -> None:
    run, _ = many_tasks
    assert peak_bytes("compare", run, run) < LIMIT_BYTES


@pytest.fixture(scope="module")
def many_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of half a million samples."""
    run = tmp_path_factory.mktemp("samples")
    (run / "raw").mkdir()
    repeat([RECORDING], run / "raw" / "profile-driver-20632.jfr", 32 << 20)
    assert peak_bytes("ingest", run) < LIMIT_BYTES
    stamp = json.loads((run / "tables" / "tables.json").read_text())
    assert stamp["tables"]["samples"] > 400_000
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("flame", "flame.html"),
        ("export", "stacks.folded"),
        ("export", "threads.firefox.json"),
        ("export", "stacks.svg"),
        ("export", "stacks.pb.gz"),
        ("export", "stacks.speedscope.json"),
        ("export", "stacks.otlp.pb"),
    ],
)
def test_stacks_of_half_a_million_samples_are_written(
    many_samples: Path, verb: str, name: str, tmp_path: Path
) -> None:
    assert peak_bytes(verb, many_samples, "-o", tmp_path / name) < LIMIT_BYTES


def test_a_large_recording_is_read(tmp_path: Path) -> None:
    raw = tmp_path / "run" / "raw"
    raw.mkdir(parents=True)
    repeat([RECORDING], raw / "profile-driver-20632.jfr", 128 << 20)
    assert peak_bytes("ingest", tmp_path / "run") < LIMIT_BYTES
    stamp = json.loads((tmp_path / "run" / "tables" / "tables.json").read_text())
    assert stamp["tables"]["samples"] > 100_000


@pytest.mark.slow
@pytest.mark.parametrize("states", [False, True])
def test_streams_of_a_probe_are_read(tmp_path: Path, states: bool) -> None:
    """A hundred threads, for eight minutes; with their states and kernel stacks for a tenth."""
    raw = tmp_path / "run" / "raw"
    raw.mkdir(parents=True)
    passes = 1_000 if states else 10_000
    write_stream(raw, "threads", "thread_counters", passes, counters_of)
    if states:
        write_stream(raw, "states", "thread_states", passes, states_of)
        write_stream(raw, "kernel-stacks", "kernel_stacks", 1, stacks_of)
    assert peak_bytes("ingest", tmp_path / "run") < LIMIT_BYTES
    stamp = json.loads((tmp_path / "run" / "tables" / "tables.json").read_text())
    assert stamp["tables"]["thread_counters"] == passes * THREADS
    assert peak_bytes("show", tmp_path / "run") < LIMIT_BYTES


THREADS = 100
Values = dict[str, Any]


def counters_of(at: np.ndarray, thread: np.ndarray) -> Values:
    """Counters of threads at some passes."""
    return {
        "pid": 77, "tid": thread, "t_mono_ns": MONO0 + at * 50_000_000, "comm": "worker",
        "run_ns": at * 20_000_000, "run_delay_ns": at * 1_000_000, "timeslices_count": at,
        "first": at == 0, "last": False,
    }  # fmt: skip


def states_of(at: np.ndarray, thread: np.ndarray) -> Values:
    """States of threads that sleep in one of many ways, another at each pass."""
    begin = MONO0 + at * 50_000_000
    return {
        "pid": 77, "tid": thread, "begin_mono_ns": begin, "end_mono_ns": begin + 40_000_000,
        "passes_count": 1, "weight_ns": 50_000_000, "state": "sleeping", "switches_count": at,
        "kernel_stack": (at + thread) % THREADS,
    }  # fmt: skip


def stacks_of(at: np.ndarray, thread: np.ndarray) -> Values:
    """A kernel stack for each number."""
    return {"stack_id": thread, "symbols": [f"entry;futex_{one}" for one in thread]}


def write_stream(
    raw: Path, name: str, table: str, passes: int, of: Callable[[np.ndarray, np.ndarray], Values]
) -> None:
    """Write a stream as a probe does, a batch for a hundred passes; of words each has one."""
    columns = schema.tables()[table].columns
    fields = pa.schema([pa.field(one.name, ARROW[one.type]) for one in columns])
    with pa.ipc.new_stream(raw / f"probe-{HOST}-{name}.arrows", fields) as out:
        for first in range(0, passes, 100):
            at = np.repeat(np.arange(first, min(first + 100, passes)), THREADS)
            values = {"host": HOST, **of(at, np.arange(len(at)) % THREADS)}
            arrays = [column(values.get(one.name), ARROW[one.type], len(at)) for one in columns]
            out.write_batch(pa.RecordBatch.from_arrays(arrays, schema=fields))


def column(value: Any, kind: Any, rows_count: int) -> Any:
    """Give a column of values, of one value, or of none."""
    if value is None:
        return pa.nulls(rows_count, kind)
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array([0] * rows_count, pa.int32()), [value])
    return pa.array(np.broadcast_to(np.asarray(value), rows_count), kind)
