"""Several probes on one host: what is the host's counts once, what is a process's always."""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.hosts.probes import Counter, ProbeOf
from tests.support.tables import HOST, MS, S, StageSpec, World, mono, write_tables

from pyrometer.accounts.window import open_scope
from pyrometer.core.native import native
from pyrometer.store import Run
from pyrometer.store.axis.probes import read_probes
from pyrometer.window.counters import growth

WORLD = World([StageSpec([400, 300, 500])])
END = WORLD.end_ms + 100
ONE, TWO = 4242, 4343
ROWS = {
    table: rows
    for table, rows in WORLD.rows.items()
    if table not in ("os_series", "thread_counters", "samples")
}


def grows(steps: Sequence[int]) -> Counter:
    """A counter with another rate in each 100 ms, far from 0 at the begin."""
    sums = [7_000_000_000]
    for step in steps:
        sums.append(sums[-1] + step * MS)
    marks = [mono(100 * n) for n in range(len(sums))]

    def value(t: int) -> int:
        at = min(max(bisect_right(marks, t) - 1, 0), len(sums) - 2)
        part = (t - marks[at]) / (100 * MS)
        return sums[at] + round(min(max(part, 0), 1) * (sums[at + 1] - sums[at]))

    return value


# At rest around both ends of the run: between two passes nobody knows when a counter grew.
INNER = END // 100 + 1 - 5
COUNTERS = st.lists(st.integers(0, 90), min_size=INNER, max_size=INNER).map(
    lambda steps: grows([0, 0, *steps, 0, 0, 0])
)


def passes(first_ms: int, last_ms: int, every_ms: int) -> list[int]:
    """Times of passes, the first and the last among them."""
    return [*map(mono, range(first_ms, last_ms, every_ms)), mono(last_ms)]


def read(folder: Path, probes: Sequence[ProbeOf], launched: bool = False) -> dict[str, int]:
    """Growth of every series over the run, as accounts see it."""
    write_tables(folder, ROWS)
    raw = folder / "streams"
    files = []
    for number, probe in enumerate(probes):
        beside = raw / "shipped" / "app" / str(number) / "a" / HOST
        files += probe.write(raw if launched and not number else beside)
    read_probes(files, raw, folder / "tables", native())
    with Run.open(folder) as run:
        scope = open_scope(run, None)
        found = {}
        for where in ("scope = 'host'", "scope LIKE 'kernel/%'", "scope LIKE 'process/%'"):
            for name, value in growth(scope, where).items():
                found[f"{where} {name}"] = value
        return found


@given(
    busy=COUNTERS,
    idle=COUNTERS,
    rate=st.integers(1, 50),
    until=st.integers(200, END - 200),
    since=st.integers(0, END - 200),
    every=st.sampled_from([10, 30, 50]),
    launched=st.booleans(),
    turned=st.booleans(),
)
@settings(max_examples=examples(4, 10), deadline=None)
def test_totals_of_two_interleaved_probes_are_those_of_one(
    busy: Counter, idle: Counter, rate: int, until: int, since: int, every: int,
    launched: bool, turned: bool,
) -> None:  # fmt: skip
    of_host = {("host", "cpu_user_ns"): busy, ("host", "cpu_idle_ns"): idle}
    kernel = {("kernel/kswapd", "cpu_ns"): lambda t: (t - mono(0)) * rate // 100}
    used = {ONE: lambda t: (t - mono(0)) // 2, TWO: lambda t: (t - mono(0)) // 3}
    # The kernel's threads are only known while a probe is there.
    since = min(since, until)
    one = ProbeOf(passes(0, END, 10), of_host, kernel, used)
    if launched:
        first = ProbeOf(passes(0, END, 10), of_host, kernel, {ONE: used[ONE]})
        second = ProbeOf(passes(since, END, every), of_host, kernel, {TWO: used[TWO]})
    else:
        # What ends before the run does is not followed to its end.
        first = ProbeOf(passes(0, until, 10), of_host, kernel)
        second = ProbeOf(passes(since, END, every), of_host, kernel, used)
    two = [second, first] if turned and not launched else [first, second]
    with tempfile.TemporaryDirectory() as left, tempfile.TemporaryDirectory() as right:
        truth, found = read(Path(left), [one]), read(Path(right), two, launched)
    assert found.keys() == truth.keys()
    assert len(truth) == 4
    for name, value in truth.items():
        assert value > 0 or "host" in name
        assert found[name] == pytest.approx(value, abs=4), name


def test_a_host_between_two_probes_is_known_by_what_its_counters_grew(tmp_path: Path) -> None:
    of_host: dict[tuple[str, str], Counter] = {
        ("host", "cpu_user_ns"): grows([40] * (END // 100 + 1)),
        ("host", "cpu_idle_ns"): grows([60] * (END // 100 + 1)),
    }
    early, late = (ProbeOf(passes(*at, 10), of_host) for at in ((0, 300), (600, END)))
    whole = ProbeOf(passes(0, END, 10), of_host)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert read(tmp_path / "a", [early, late]) == read(tmp_path / "b", [whole])


def test_a_process_that_two_probes_followed_counts_once(tmp_path: Path) -> None:
    used: dict[int, Counter] = {ONE: lambda t: t - mono(0)}
    of_host: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
    probe = ProbeOf(passes(0, END, 10), of_host, processes=used)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    once = read(tmp_path / "a", [probe])
    assert read(tmp_path / "b", [probe, probe], launched=True) == once


def test_kernel_stacks_of_two_probes_stay_apart(tmp_path: Path) -> None:
    def seen(pid: int, symbols: str) -> ProbeOf:
        state = {"host": HOST, "pid": pid, "tid": pid, "begin_mono_ns": mono(1),
                 "end_mono_ns": mono(2), "passes_count": 2, "weight_ns": MS, "state": "sleeping",
                 "kernel_stack": 0}  # fmt: skip
        stack = {"host": HOST, "stack_id": 0, "symbols": symbols}
        counters: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
        return ProbeOf(passes(0, END, 50), counters, processes={pid: lambda t: t},
                       more={"states": [state], "kernel-stacks": [stack]})  # fmt: skip

    read(tmp_path, [seen(ONE, "a;b"), seen(TWO, "c;d")])
    with Run.open(tmp_path) as run:
        rows = run.tables.query(
            "SELECT s.pid, k.symbols FROM thread_states s JOIN kernel_stacks k"
            " ON k.host = s.host AND k.stack_id = s.kernel_stack ORDER BY 1"
        )
        own = run.tables.query(
            "SELECT scope, max(value) > 0 FROM os_series WHERE name = 'own_cpu_ns'"
            " GROUP BY scope ORDER BY scope"
        )
    assert rows == [(ONE, "a;b"), (TWO, "c;d")]
    assert own == [("probe", True), ("probe/1", True)]


def test_counters_of_the_host_are_those_of_one_probe(tmp_path: Path) -> None:
    def counting(pid: int, value: int) -> ProbeOf:
        one = {"host": HOST, "t_mono_ns": mono(9), "event": "cas_count_read", "value": value,
               "enabled_ns": S, "running_ns": S}  # fmt: skip
        rows = [{**one, "scope": "host"}, {**one, "scope": "thread", "pid": pid, "tid": pid}]
        counters: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
        return ProbeOf(passes(0, END, 50), counters, processes={pid: lambda t: t},
                       more={"perf-counts": rows})  # fmt: skip

    read(tmp_path, [counting(ONE, 5), counting(TWO, 7)])
    with Run.open(tmp_path) as run:
        rows = run.tables.query("SELECT scope, pid, value FROM perf_counts ORDER BY ALL")
    assert rows == [("host", None, 5), ("thread", ONE, 5), ("thread", TWO, 7)]


def test_requests_of_disks_go_on_where_the_probe_before_had_ended_or_had_none(
    tmp_path: Path,
) -> None:
    """The first probe has no right to see them; the others take turns, and overlap."""

    def seeing(*periods_ms: int, since_ms: int) -> ProbeOf:
        rows = [{"host": HOST, "begin_mono_ns": mono(at), "end_mono_ns": mono(at + 100),
                 "kind": "block", "device": "vda", "operation": "read", "low_ns": 1,
                 "count": at + 1, "sum_ns": 1} for at in periods_ms]  # fmt: skip
        counters: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
        return ProbeOf(passes(since_ms, END, 50), counters, more={"io-latency": rows})

    probes = [seeing(since_ms=0), seeing(100, 200, since_ms=50), seeing(250, 300, since_ms=100)]
    read(tmp_path, probes)
    with Run.open(tmp_path) as run:
        rows = run.tables.query("SELECT count FROM io_latency ORDER BY 1")
    assert rows == [(101,), (201,), (301,)]


@pytest.mark.parametrize("apart_s", [0, 10_000, -10_000])
def test_readings_on_another_clock_than_their_passes_are_doubted(
    tmp_path: Path, apart_s: int
) -> None:
    row = {"host": HOST, "pid": ONE, "tid": ONE, "t_mono_ns": mono(50) + apart_s * S,
           "comm": "java", "run_ns": MS, "run_delay_ns": 0, "timeslices_count": 1,
           "first": True, "last": False}  # fmt: skip
    counters: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t}
    files = ProbeOf(passes(0, END, 50), counters, more={"threads": [row]}).write(tmp_path / "raw")
    (tmp_path / "tables").mkdir()
    told = json.loads(read_probes(files, tmp_path / "raw", tmp_path / "tables", native()))
    codes = [doubt["code"] for doubt in told["doubts"]]
    assert codes == (["probe_clocks_mixed"] if apart_s else [])
