"""Settings that a dead probe or run left behind are named, with the command that puts them back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pyrometer.cli.begin.doctor import leftover_settings
from pyrometer.cli.main import run_verb
from pyrometer.collect.doctor import examine
from pyrometer.collect.host import cgroup, settings_restore
from pyrometer.collect.host.settings_restore import leftovers, put_back
from pyrometer.core.liveness import start_ticks


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/task_delayacct").write_text("1\n")
    return root


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


def _record(folder: Path, pid: int = 4194305, ticks: int = 7, text: str = "0") -> Path:
    path = folder / f"kernel.task_delayacct-{pid}-{ticks}"
    path.write_text(text)
    return path


def test_a_dead_probe_is_named_with_the_command(host: Path, records: Path) -> None:
    record = _record(records)
    (records / "notes").write_text("not a record")
    [left] = leftovers(records, host)
    assert (left.setting, left.found, left.records) == ("kernel.task_delayacct", "0", (record,))
    [finding] = leftover_settings(records, host)
    assert not finding.available
    assert finding.reason == "kernel.task_delayacct is 1, left by a dead probe or run; it was 0"
    assert finding.remedy == f"as root: echo 0 > /proc/sys/kernel/task_delayacct && rm {record}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\n", "only its record is left"),
        ("0\n2\n", "no longer as a dead run set it"),
        ("", "does not say what it was"),
    ],
)
def test_what_is_nobodys_change_any_more_stays(
    host: Path, records: Path, text: str, reason: str
) -> None:
    record = _record(records, text=text)
    [finding] = leftover_settings(records, host)
    assert reason in finding.reason
    assert finding.remedy == f"as root: rm {record}"
    assert put_back(records, host) == []
    assert (host / "proc/sys/kernel/task_delayacct").read_text() == "1\n"
    assert not record.exists()


def test_doctor_tells_it_in_the_terminal_and_to_programs(
    records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = records / "vm.pyrometer_has_none-4194305-7"
    record.write_text("60\n1\n")
    remedy = f"as root: echo 60 > /proc/sys/vm/pyrometer_has_none && rm {record}"
    monkeypatch.setattr(settings_restore, "RECORDS", records)
    monkeypatch.setattr(cgroup, "mounted", list)
    monkeypatch.setattr(examine, "examine", lambda *_: [])
    assert run_verb(["doctor", "--json"]) == 3
    done = capsys.readouterr()
    [told] = json.loads(done.out)["probes"]
    assert (told["name"], told["available"], told["remedy"]) == ("setting_left", False, remedy)
    shown = "".join(done.err.split())
    assert "vm.pyrometer_has_noneisnotreadable,leftbyadeadprobeorrun;itwas60" in shown
    assert "".join(remedy.split()) in shown


def test_a_probe_that_runs_will_put_it_back(host: Path, records: Path) -> None:
    _record(records)
    own = start_ticks(os.getpid())
    assert own is not None
    _record(records, os.getpid(), own)
    assert leftovers(records, host) == []


def test_no_records_no_finding(tmp_path: Path) -> None:
    assert leftover_settings(tmp_path / "none") == []
