"""Block devices of a run: time of requests, queue, utilisation, and nothing counted twice."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.support.tables import HOST, MS, StageSpec, World, mono

from pyrometer.accounts.machine_schema import Disks
from pyrometer.accounts.terminal import disk_lines
from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Run
from pyrometer.summary.summary import summary
from pyrometer.terminal.drawing import Look
from pyrometer.timeline.disks import disk_tracks

MIB = 1 << 20


@pytest.fixture
def world() -> World:
    return World([StageSpec([400, 400])])


def count(made: World, device: str, **grown: int) -> None:
    """Let counters of a device grow evenly from the first reading to the last."""
    for name, value in grown.items():
        for at, seen in ((0, 1000), (made.end_ms, 1000 + value)):
            made.add("os_series", host=HOST, t_mono_ns=mono(at), scope=f"disk/{device}",
                     name=name, value=seen)  # fmt: skip


def busy_disk(made: World, device: str, requests: int = 400, taken: int = 1) -> None:
    count(made, device, reads_count=requests, read_bytes=requests * MIB,
          read_time_ns=taken * 800 * MS, writes_count=requests // 4, written_bytes=MIB,
          write_time_ns=taken * 50 * MS, busy_time_ns=taken * 250 * MS)  # fmt: skip


def shown(made: World, folder: Path) -> Disks:
    with Run.open(made.write(folder)) as run:
        return summary(run).io.disks


def test_a_request_takes_the_time_of_all_over_their_number(world: World, tmp_path: Path) -> None:
    busy_disk(world, "nvme0n1")
    found = shown(world, tmp_path)
    (disk,) = found.devices
    assert (disk.host, disk.lies_on_others, disk.reason) == (None, False, None)
    assert disk.await_ns
    assert disk.read_await_ns
    assert disk.write_await_ns
    assert disk.await_ns.value == pytest.approx(850 * MS / 500, rel=1e-3)
    assert disk.read_await_ns.value == pytest.approx(2 * MS, rel=1e-3)
    assert disk.write_await_ns.value == pytest.approx(0.5 * MS, rel=1e-3)
    # Two sums of whole milliseconds, over the requests of the window.
    width = (disk.await_ns.high or 0) - (disk.await_ns.low or 0)
    assert width == pytest.approx(4 * MS / disk.requests_count, rel=1e-6)
    assert disk.queue_depth == pytest.approx(850 / world.end_ms, rel=0.01)
    assert disk.busy_ratio == pytest.approx(250 / world.end_ms, rel=0.01)


def test_a_volume_and_the_disks_below_it_are_not_added_up(world: World, tmp_path: Path) -> None:
    for device in ("sda", "sdb", "md0", "dm-3"):
        busy_disk(world, device)
    found = shown(world, tmp_path)
    on_others = {disk.device: disk.lies_on_others for disk in found.devices}
    assert on_others == {"sda": False, "sdb": False, "md0": True, "dm-3": True}
    one = found.devices[0]
    assert found.requests_count == 2 * one.requests_count
    assert found.read_bytes == 2 * one.read_bytes
    told = io.StringIO()
    for line in disk_lines(found, Look(plain=True, names=20, width=200)):
        Console(file=told, width=200).print(line)
    marked = [line.split()[0] for line in told.getvalue().splitlines() if "  lies on" in line]
    assert sorted(marked) == ["dm-3", "md0"]
    assert "1.70 ms" in told.getvalue()


def test_a_device_without_times_has_a_reason_and_no_zeros(world: World, tmp_path: Path) -> None:
    busy_disk(world, "md0", requests=100_000, taken=0)
    (disk,) = shown(world, tmp_path).devices
    assert disk.requests_count > 100_000
    assert {disk.await_ns, disk.read_await_ns, disk.queue_depth, disk.busy_ratio} == {None}
    assert "keeps no times" in str(disk.reason)


def test_without_devices_or_probe_there_is_a_reason(world: World, tmp_path: Path) -> None:
    assert "/proc/diskstats" in str(shown(world, tmp_path / "none").reason)
    del world.rows["os_series"]
    found = shown(world, tmp_path / "log")
    assert found.reason
    assert found.read_bytes is None


def test_tracks_are_of_devices_that_lie_on_no_others(world: World, tmp_path: Path) -> None:
    busy_disk(world, "sda")
    busy_disk(world, "dm-0")
    kept: dict[str, np.ndarray] = {}

    class Kept(Pack):
        def add(self, name: str, values: np.ndarray) -> str:
            kept[name] = values
            return super().add(name, values)

    with Run.open(world.write(tmp_path)) as run:
        axis = find_axis(run.tables, {})
        assert axis is not None
        tracks = {one["id"]: one for one in disk_tracks(run.tables, axis, Kept())}
    assert [one["label"] for one in tracks["diskawait0"]["series"]] == ["sda"]
    assert np.nanmean(kept["diskawait0.sda.value"]) == pytest.approx(1.7 * MS, rel=1e-3)
    assert np.nanmean(kept["diskqueue0.sda.value"]) == pytest.approx(850 / world.end_ms, rel=0.01)
