"""The scheduler's and block devices' events (T0), against programs that wait in known ways."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support import needs

from pyrometer import _core
from pyrometer.collect.probes.base import read_object
from pyrometer.collect.probes.os import OsProbe, capabilities
from pyrometer.store.paths import RunPaths

ROOT = Path(__file__).parents[3]
THREADS = (
    "burn", "queue1", "queue2", "sleep", "pipe", "lock", "again", "turns", "vfork", "fsync",
)  # fmt: skip
EDGE_NS = 2_000_000
"""What a thread does around the time that it declares: names, prints, waits at barriers."""
SWITCH_NS = 100_000
"""Between the kernel's own stamp of a switch and the program's, on a busy virtual machine."""

SHORT = """
import os, select, sys, threading, time
sys.stdin.readline()
for _ in range(5):
    thread = threading.Thread(target=select.select, args=([], [], [], 0.005))
    thread.start()
    thread.join()
if os.fork() == 0:
    time.sleep(0.005)
    os._exit(0)
os.wait()
"""
SECTORS = (0, 4)
"""Fields of /sys/block/*/stat (Documentation/block/stat.rst): requests read and written."""


@dataclass(frozen=True)
class Seen:
    """What probes wrote of one program."""

    tables: duckdb.DuckDBPyConnection
    report: dict[str, Any]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.tables.execute(sql).fetchall()
        return found


def probed(folder: Path, tiers: tuple[str, ...], command: list[Any]) -> tuple[str, dict[str, Seen]]:
    """Run a program that begins when it is given a line, under a probe per tier."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    places = {tier: RunPaths(folder / tier) for tier in tiers}
    probes = {}
    for tier, paths in places.items():
        paths.raw.mkdir(parents=True)
        paths.tables.mkdir()
        probes[tier] = OsProbe(host="here", tier=tier)
        probes[tier].start(paths, process.pid)
    said, _ = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    seen = {}
    for tier, paths in places.items():
        probes[tier].stop()
        streams = [str(path) for path in paths.probe_streams()]
        assert json.loads(_core.ingest_probe(streams, str(paths.tables)))["doubts"] == []
        report = read_object(paths.probe_reports()[0])
        assert report is not None
        tables = duckdb.connect()
        for file in paths.tables.glob("*.parquet"):
            tables.execute(f"CREATE VIEW {file.stem} AS FROM '{file}'")
        seen[tier] = Seen(tables, report)
    return said, seen


@pytest.fixture(scope="module")
def events() -> None:
    [found] = [row for row in capabilities() if (row.name, row.tier) == ("os", "T0")]
    if not found.available:
        needs.tier("T0", found.reason)


@dataclass(frozen=True)
class Waits:
    """The program of known waits, seen at T0 and T2 at once."""

    truth: dict[str, dict[str, Any]]
    t0: Seen
    t2: Seen


@pytest.fixture(scope="module")
def waits(events: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waits]:
    folder = tmp_path_factory.mktemp("sched")
    source, program = ROOT / "tests" / "support" / "waits.c", folder / "waits"
    subprocess.run([needs.tool("cc"), "-O1", "-pthread", "-o", program, source], check=True)
    said, seen = probed(folder, ("T0", "T2"), [program, folder / "synced"])
    truth = {told["name"]: told for told in map(json.loads, said.splitlines())}
    assert set(truth) == set(THREADS)
    yield Waits(truth, seen["T0"], seen["T2"])
    for one in seen.values():
        one.tables.close()


def off_cpu(waits: Waits, name: str) -> tuple[int, int, int]:
    """Intervals, time off the CPU and on run queues of a thread while it did what it declared.

    Sums over a second are taken whole: a thread has few short waits outside the declared time.
    """
    told = waits.truth[name]
    begin, end = told["begin_ns"], told["end_ns"]
    [row] = waits.t0.rows(
        "SELECT sum(count)::BIGINT, sum(CASE WHEN off_ns = end_mono_ns - begin_mono_ns THEN"
        f" least(end_mono_ns, {end}) - greatest(begin_mono_ns, {begin}) ELSE off_ns END)::BIGINT,"
        " sum(run_queue_ns)::BIGINT FROM off_cpu"
        f" WHERE tid = {told['tid']} AND begin_mono_ns < {end} AND end_mono_ns > {begin}"
    )
    return row[0] or 0, row[1] or 0, row[2] or 0


@pytest.mark.every_variant
@pytest.mark.parametrize("name", THREADS)
def test_time_off_the_cpu_is_what_the_threads_declare(waits: Waits, name: str) -> None:
    told = waits.truth[name]
    count, off, queued = off_cpu(waits, name)
    wall = told["end_ns"] - told["begin_ns"]
    # Where CPUs are scarce a thread also waits for one between two clocks that it reads.
    bound = EDGE_NS + count * SWITCH_NS + told["queue_ns"] // 10 + told["stolen_ns"]
    assert off + told["cpu_ns"] == pytest.approx(wall, abs=bound)
    if name in ("sleep", "pipe", "lock", "again", "turns", "vfork"):
        # The kernel's own counter has been seen to take all of a sleep for a wait in the queue.
        assert queued <= told["queue_ns"] + bound
        return
    assert queued == pytest.approx(told["queue_ns"], abs=bound)


def test_kinds_wakers_and_places(waits: Waits) -> None:
    # The main thread has the number of the process; the child of vfork is a process of its own.
    [(main,)] = waits.t0.rows(
        f"SELECT DISTINCT pid FROM off_cpu WHERE tid = {waits.truth['lock']['tid']}"
    )

    def longest(name: str) -> tuple[Any, ...]:
        [row] = waits.t0.rows(
            "SELECT kind, waker_tid, waker_interrupt, k.symbols FROM off_cpu o"
            " LEFT JOIN kernel_stacks k ON k.stack_id = o.kernel_stack"
            f" WHERE tid = {waits.truth[name]['tid']} AND begin_mono_ns"
            f" >= {waits.truth[name]['begin_ns']} - {EDGE_NS} ORDER BY off_ns DESC LIMIT 1"
        )
        return row

    for name, place in (("pipe", "pipe_read"), ("lock", "futex")):
        kind, waker, interrupt, stack = longest(name)
        assert (kind, waker, interrupt) == ("sleeping", main, False), name
        assert place in stack
    kind, _, interrupt, stack = longest("sleep")
    assert (kind, interrupt) == ("sleeping", True)
    assert "nanosleep" in stack
    [(preempted,)] = waits.t0.rows(
        "SELECT sum(run_queue_ns)::BIGINT FROM off_cpu WHERE kind = 'preempted'"
        f" AND tid = {waits.truth['queue1']['tid']}"
    )
    assert preempted > 0.5 * waits.truth["queue1"]["queue_ns"]
    [(disk,)] = waits.t0.rows(
        "SELECT sum(off_ns)::BIGINT FROM off_cpu WHERE kind = 'disk'"
        f" AND tid = {waits.truth['fsync']['tid']}"
    )
    assert disk > 0


def test_nothing_is_lost_and_the_cost_is_told(waits: Waits) -> None:
    report = waits.t0.report
    assert report["tier"] == "T0"
    assert not {what: count for what, count in report["events"]["lost"].items() if count}
    assert report["events_lost_count"] == 0
    assert report["own_cpu_ns"] >= report["own_programs_cpu_ns"] > 0
    costs = {cost["event"]: cost for cost in report["events"]["programs"]}
    assert costs["sched_switch"]["count"] > 0
    assert costs["sched_switch"]["cpu_ns"] > 0


def test_threads_and_processes_that_live_five_milliseconds_are_seen(
    events: None, tmp_path: Path
) -> None:
    _, seen = probed(tmp_path, ("T0", "T1", "T2"), [sys.executable, "-S", "-c", SHORT])
    assert set(seen) == {"T0", "T1", "T2"}
    for tier, one in seen.items():
        taskstats = one.report["taskstats"]
        if tier != "T0" and not taskstats["available"]:
            assert taskstats["reason"]
            continue
        [(pid,)] = one.rows("SELECT min(pid) FROM thread_counters WHERE pid = tid AND first")
        ended = one.rows(
            "SELECT tid, run_ns, voluntary_switches_count FROM thread_counters"
            f" WHERE pid = {pid} AND tid <> pid AND last"
        )
        assert len({tid for tid, _, _ in ended}) == 5, tier
        assert all(run > 0 and switches >= 1 for _, run, switches in ended), tier
        children = one.rows(f"SELECT DISTINCT pid FROM thread_counters WHERE pid <> {pid}")
        assert len(children) == 1, tier
        again = one.rows(
            "SELECT pid, tid FROM thread_counters WHERE first GROUP BY ALL HAVING count(*) > 1"
        )
        assert again == [], (tier, "one thread is told of as one, whenever its end is told")
    slept = seen["T0"].rows(
        "SELECT tid, sum(off_ns)::BIGINT FROM off_cpu WHERE kind = 'sleeping' AND tid IN"
        " (SELECT tid FROM thread_counters WHERE tid <> pid AND last) GROUP BY tid"
    )
    assert len(slept) == 5
    # A thread that has to wait for a CPU before it is asleep sleeps less. Most do not have to.
    assert statistics.median(ns for _, ns in slept) >= 4_000_000


@pytest.mark.slow
def test_no_interval_is_missing(events: None, tmp_path: Path) -> None:
    # Where the kernel keeps switches from tracers, a few in ten thousand: many are needed.
    script = """
import sys, threading, time
sys.stdin.readline()
def nap():
    for _ in range(2000):
        time.sleep(0.002)
threads = [threading.Thread(target=nap) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    _, seen = probed(tmp_path, ("T0",), [sys.executable, "-S", "-c", script])
    threads = seen["T0"].rows(
        "SELECT t.tid, any_value(run_ns), any_value(t_mono_ns - begin), sum(off_ns)::BIGINT,"
        " sum(count)::BIGINT, any_value(voluntary_switches_count + involuntary_switches_count)"
        " FROM (SELECT tid, run_ns, t_mono_ns, voluntary_switches_count,"
        " involuntary_switches_count FROM thread_counters WHERE last AND tid <> pid) t"
        " JOIN (SELECT tid, min(begin_mono_ns) AS begin FROM off_cpu"
        " WHERE end_mono_ns - begin_mono_ns = off_ns GROUP BY tid) b USING (tid)"
        " JOIN off_cpu USING (tid) GROUP BY t.tid"
    )
    assert len(threads) == 6
    for _, run_ns, life_ns, off_ns, told, switches in threads:
        # A new thread waits once before its first switch; its last switch is no wait.
        assert told == pytest.approx(switches, abs=2)
        assert off_ns + run_ns == pytest.approx(life_ns, rel=0.01)


def test_a_sleep_that_lasts_was_ended_by_nobody(events: None, tmp_path: Path) -> None:
    script = f"""
import os, sys, time
sys.stdin.readline()
file = os.open({str(tmp_path / "synced")!r}, os.O_CREAT | os.O_WRONLY, 0o600)
for _ in range(20):
    os.pwrite(file, bytes(4096), 0)
    os.fsync(file)
print(flush=True)
time.sleep(60)
"""
    paths, probe = RunPaths(tmp_path), OsProbe(host="here", tier="T0")
    paths.raw.mkdir(parents=True)
    paths.tables.mkdir()
    command = [sys.executable, "-S", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        probe.start(paths, process.pid)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(1.0)
        probe.stop()
        process.kill()
    _core.ingest_probe([str(path) for path in paths.probe_streams()], str(paths.tables))
    rows = duckdb.execute(
        "SELECT kind, off_ns, waker_tid, waker_interrupt FROM"
        f" '{paths.tables / 'off_cpu.parquet'}' WHERE tid = {process.pid} ORDER BY end_mono_ns"
    ).fetchall()
    assert "disk" in {kind for kind, *_ in rows}
    kind, off_ns, *waker = rows[-1]
    assert off_ns > 200_000_000
    assert (kind, waker) == ("sleeping", [None, None]), "what woke it before is not what ends this"


def requests(device: str) -> int:
    fields = Path(f"/sys/block/{device}/stat").read_text().split()
    return sum(int(fields[field]) for field in SECTORS)


def test_block_requests_are_those_that_the_kernel_counts(events: None, tmp_path: Path) -> None:
    file = tmp_path / "file"
    copies = f"""
import os, sys
sys.stdin.readline()
data = os.open({str(file)!r}, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
import mmap
page = mmap.mmap(-1, 1 << 16)
for number in range(200):
    os.pwrite(data, page, number << 16)
for number in range(200):
    os.preadv(data, [page], number << 16)
"""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600))
    except OSError as error:
        needs.machine_lacks(f"O_DIRECT on the file system of {tmp_path}: {error}")
    before = {path.name: requests(path.name) for path in Path("/sys/block").iterdir()}
    _, seen = probed(tmp_path, ("T0",), [sys.executable, "-S", "-c", copies])
    time.sleep(0.05)
    after = {name: requests(name) for name in before}
    one = seen["T0"]
    [(pid,)] = one.rows("SELECT min(pid) FROM thread_counters WHERE pid = tid")
    counted = dict(
        one.rows(
            "SELECT device, sum(count)::BIGINT FROM io_latency WHERE kind = 'block'"
            # A few are issued by the kernel's own threads: process 0.
            f" AND pid IN ({pid}, 0) AND operation IN ('read', 'write') GROUP BY device"
        )
    )
    [device] = counted
    # Where CPUs are scarce another process may issue one: whoever runs the device's queue then.
    assert counted[device] >= 360
    # Others use the disk as well, before the probe's first and after its last event, too.
    assert counted[device] <= after[device] - before[device]
    for table in ("block", "queue"):
        [(total, count, moved)] = one.rows(
            "SELECT sum(sum_ns)::BIGINT, sum(count)::BIGINT, sum(bytes)::BIGINT FROM io_latency"
            f" WHERE kind = '{table}' AND pid = {pid} AND operation = 'read'"
        )
        assert moved >= 180 << 16
        assert 0 < total / count < 1e9
    [(calls, moved)] = one.rows(
        "SELECT sum(count)::BIGINT, sum(bytes)::BIGINT FROM io_latency"
        f" WHERE kind = 'read' AND operation IN ('preadv', 'preadv2') AND pid = {pid}"
    )
    assert (calls, moved) == (200, 200 << 16)
    [(low, high)] = one.rows(
        "SELECT min(sum_ns / count / low_ns), max(sum_ns / count / low_ns) FROM io_latency"
    )
    assert low >= 1
    assert high < 2
