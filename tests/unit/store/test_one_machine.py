"""Hosts that are one machine are known by one clock and one counter, and by nothing less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.store import Tables, write_rows
from pyrometer.store.axis.one_machine import doubts_of_machines, of_one_machine
from pyrometer.store.sql.host_views import HostRows

S = 10**9
BOOTED = 1_700_000_000 * S
"""Unix time when CLOCK_MONOTONIC began."""
CPUS = 4
Reading = tuple[int, int]
"""When, and the idle time of all CPUs since the kernel began, both in seconds."""


def found(
    folder: Path,
    idle: Mapping[str, Sequence[Reading]],
    booted: Mapping[str, int] | None = None,
    cpus: Mapping[str, int] | None = None,
) -> list[list[str]]:
    """Write the readings of hosts, and find those that are one machine."""
    folder.mkdir(exist_ok=True)
    pairs, series = [], []
    for host, readings in idle.items():
        for number, (at, value) in enumerate(readings):
            # Between the two readings of a pair there are microseconds, or a thread has to wait.
            late = 5 * S if number == 1 else 3_000
            wall = (booted or {}).get(host, BOOTED) + at * S + late
            pairs.append({"host": host, "source": "plugin", "mono_ns": at * S, "wall_ns": wall})
            each = [f"cpu/{number}" for number in range((cpus or {}).get(host, CPUS))]
            counters = [("host", value * S), *((scope, value * S // CPUS) for scope in each)]
            series += [
                {"host": host, "t_mono_ns": at * S, "scope": scope, "name": "cpu_idle_ns",
                 "value": ns}
                for scope, ns in counters
            ]  # fmt: skip
    write_rows(folder, "clock_pairs", pairs)
    write_rows(folder, "os_series", series)
    with Tables(folder, HostRows.AS_RECORDED) as tables:
        return of_one_machine(tables, sorted(idle))


def counter(times: Sequence[int]) -> list[Reading]:
    """Read a machine of which half is idle."""
    return [(at, at * CPUS // 2) for at in times]


A, B = counter([1000, 1010, 1060]), counter([1005, 1030, 1070])


def test_pods_that_read_one_counter_are_one_machine(tmp_path: Path) -> None:
    away = [(at, value + 900) for at, value in B]
    hosts = {"pod-a": A, "pod-b": B, "pod-c": counter([1100, 1110, 1120]), "other": away}
    assert found(tmp_path, hosts) == [["pod-a", "pod-b", "pod-c"]]


@pytest.mark.parametrize(
    ("other", "booted", "cpus"),
    [
        pytest.param([(at, value + 60) for at, value in B], BOOTED, CPUS, id="idle for longer"),
        pytest.param([(at, value - 60) for at, value in B], BOOTED, CPUS, id="idle for less"),
        pytest.param(B, BOOTED + S // 100, CPUS, id="began a moment later"),
        pytest.param(B, BOOTED, CPUS + 1, id="other CPUs"),
    ],
)
def test_machines_that_were_started_together_are_two(
    tmp_path: Path, other: list[Reading], booted: int, cpus: int
) -> None:
    assert found(tmp_path, {"a": A, "b": other}, {"b": booted}, {"b": cpus}) == []


@given(st.lists(st.lists(st.integers(1, 5000), min_size=3, unique=True), min_size=2, max_size=4))
@settings(max_examples=20, deadline=None)
def test_whoever_reads_one_counter_and_when_it_is_one_machine(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[int]]
) -> None:
    hosts = {f"h{n}": counter(sorted(at)) for n, at in enumerate(times)}
    assert found(tmp_path_factory.mktemp("hosts"), hosts) == [sorted(hosts)]


def test_the_doubt_names_each_machine_and_counts_the_rest() -> None:
    assert doubts_of_machines([]) == []
    (doubt,) = doubts_of_machines([[f"a{n}", f"b{n}"] for n in range(7)])
    assert doubt.code == "hosts_of_one_machine"
    assert "a0, b0; a1, b1" in doubt.message
    assert "and 2 more." in doubt.message
