"""A probe that is killed leaves no setting of the kernel changed: run by `test_probe_killed`.

There with a switch and records of its own, as probes of other tests hold those of the host.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrometer import _artifacts
from pyrometer.collect.host.settings_restore import RECORDS, holders
from pyrometer.collect.probes.os import OsProbe
from pyrometer.store.paths import RunPaths

SETTING = "kernel.task_delayacct"
SWITCH = Path("/proc/sys/kernel/task_delayacct")


@pytest.fixture
def switched_off() -> Iterator[None]:
    """Delay accounting off, as most kernels boot, and put back afterwards."""
    assert not holders(SETTING)
    before = SWITCH.read_text()
    SWITCH.write_text("0")
    yield
    SWITCH.write_text(before)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def _until_off(seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while SWITCH.read_text().strip() != "0" or holders(SETTING):
        assert time.monotonic() < until, f"{SETTING} is still {SWITCH.read_text()!r}"
        time.sleep(0.02)


def _guardians(probe: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:4] == [b"pyro-guard", b"guard", b"--pid", str(probe).encode()]:
            found.append(int(path.parent.name))
    return found


@pytest.mark.usefixtures("switched_off")
def test_a_guardian_puts_back_what_a_killed_probe_changed(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    command = [
        _artifacts.probe_binary(), "record", "--root-pid", str(sleeper.pid),
        "--raw-dir", tmp_path, "--host", "h",
    ]  # fmt: skip
    with subprocess.Popen(command) as probe:
        while not (tmp_path / "probe-h.report.json").exists():
            assert probe.poll() is None
            time.sleep(0.01)
        assert SWITCH.read_text().strip() == "1"
        [guardian] = _guardians(probe.pid)
        probe.kill()
        # Before its exit status is read: a launcher may be busy for long.
        _until_off()
    assert not Path(f"/proc/{guardian}").exists() or not _guardians(probe.pid)


@pytest.mark.usefixtures("switched_off")
def test_the_launcher_puts_it_back_where_the_guardian_is_killed_too(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    probe = OsProbe()
    probe.start(paths, sleeper.pid)
    [pid] = probe.processes()
    for guardian in _guardians(pid):
        os.kill(guardian, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    assert SWITCH.read_text().strip() == "1"
    probe.stop()
    assert SWITCH.read_text().strip() == "0"
    assert not holders(SETTING)


@pytest.mark.usefixtures("switched_off")
def test_a_probe_that_ends_leaves_no_guardian(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    probe = OsProbe()
    probe.start(paths, sleeper.pid)
    [pid] = probe.processes()
    assert len(_guardians(pid)) == 1
    probe.stop()
    _until_off()
    until = time.monotonic() + 10
    while _guardians(pid):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert not list(RECORDS.glob(f"{SETTING}-*"))
