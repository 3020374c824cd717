"""Settings that a killed probe left behind are named, with the command that puts them back."""

from __future__ import annotations

import os
from pathlib import Path

from pyrometer.cli.doctor import left_settings
from pyrometer.process import start_ticks
from pyrometer.run.settings_left import leftovers


def _record(folder: Path, pid: int, ticks: int) -> Path:
    path = folder / f"kernel.task_delayacct-{pid}-{ticks}"
    path.write_text("0")
    return path


def test_a_dead_probe_is_named_with_the_command(tmp_path: Path) -> None:
    record = _record(tmp_path, 1, 7)
    (tmp_path / "notes").write_text("not a record")
    [left] = leftovers(tmp_path)
    assert (left.setting, left.found, left.records) == ("kernel.task_delayacct", "0", (record,))
    [finding] = left_settings(tmp_path)
    assert not finding.available
    assert "kernel.task_delayacct" in finding.reason
    assert finding.remedy == f"echo 0 > /proc/sys/kernel/task_delayacct && rm {record}"


def test_a_probe_that_runs_will_put_it_back(tmp_path: Path) -> None:
    _record(tmp_path, 1, 7)
    own = start_ticks(os.getpid())
    assert own is not None
    _record(tmp_path, os.getpid(), own)
    assert leftovers(tmp_path) == []


def test_no_records_no_finding(tmp_path: Path) -> None:
    assert left_settings(tmp_path / "none") == []
