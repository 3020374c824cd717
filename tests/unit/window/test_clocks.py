"""The two clocks are joined by readings of one host, however many others there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, OFFSET, S, write_tables

from pyrometer.store import Run
from pyrometer.store.manifest import ClockPair, Host, Manifest, Workload, write_manifest
from pyrometer.window.windows import clock_offset_ns

OTHER = 90_000 * S


def pairs(host: str, count: int, ahead_ns: int = 0) -> list[dict[str, object]]:
    return [
        {"host": host, "source": "plugin", "mono_ns": n * S + ahead_ns, "wall_ns": OFFSET + n * S}
        for n in range(count)
    ]


def driver(host: str) -> dict[str, object]:
    return {"host": host, "pid": 1, "role": "driver", "start_mono_ns": 0}


def launched(folder: Path, hostname: str | None, offset_ns: int) -> None:
    write_manifest(
        folder,
        Manifest(
            run_id="r", created_wall_ns=0, pyrometer_version="0", workload=Workload(),
            profile="full", host=Host(hostname=hostname),
            clock_pairs=[ClockPair(mono_ns=0, wall_ns=offset_ns)],
        ),
    )  # fmt: skip


def found(folder: Path, rows: dict[str, list[dict[str, object]]]) -> int | None:
    write_tables(folder, rows)
    with Run.open(folder) as run:
        return clock_offset_ns(run)


@pytest.mark.parametrize("readings", [0, 1, 50])
def test_other_hosts_do_not_outvote_the_drivers(tmp_path: Path, readings: int) -> None:
    rows = [*pairs("worker-1", readings, OTHER), *pairs("worker-2", readings, 2 * OTHER)]
    rows = [*rows[:readings], *pairs(HOST, 3), *rows[readings:]]
    launched(tmp_path, HOST, OFFSET)
    made = {"clock_pairs": rows, "processes": [driver(HOST)]}
    assert found(tmp_path, made) == OFFSET


def test_without_a_driver_it_is_the_host_of_the_launch(tmp_path: Path) -> None:
    launched(tmp_path, HOST, OFFSET)
    assert found(tmp_path, {"clock_pairs": pairs("worker-1", 9, OTHER)}) == OFFSET


def test_a_driver_elsewhere_has_its_own_clock(tmp_path: Path) -> None:
    launched(tmp_path, "client", OFFSET - OTHER)
    made = {"clock_pairs": pairs(HOST, 2), "processes": [driver(HOST)]}
    assert found(tmp_path, made) == OFFSET


def test_without_driver_and_launch_it_is_the_host_with_most_readings(tmp_path: Path) -> None:
    rows = [*pairs("worker-1", 2, OTHER), *pairs("worker-2", 3)]
    assert found(tmp_path, {"clock_pairs": rows}) == OFFSET


def test_without_readings_there_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, {"processes": [driver(HOST)]}) is None
