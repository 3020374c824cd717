"""A server stands between QEMU and a disk's file: it ends with us, and needs no name of a file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import experiments
from tests.support.waiting import within

from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.guests import delay
from pyrometer.guests.here import check_here
from pyrometer.guests.parts import nameless
from pyrometer.guests.qemu import Disk
from pyrometer.trial.factors import parse_treatment

STAND_IN = """\
#!/bin/sh
# Stands for nbdkit: says what it was given, sends what files without a name it has, and waits.
echo "$*" >>"$SAID"
echo $$ >>"$PIDS"
for one in /proc/$$/fd/*; do
    case $(readlink "$one") in *"(deleted)") cat "$one" ;; esac
done
exec cat >/dev/null
"""
KEEPER = """\
import sys, time
from pathlib import Path
from pyrometer.guests import delay
from pyrometer.guests.qemu import Disk
folder = Path(sys.argv[1])
with delay.delayed([Disk("data", sys.argv[2], measured=True)], 5, folder / "qemu.log"):
    print("started", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in nbdkit's place; gives the file with the pids of those that were started."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / delay.PROGRAM).write_text(STAND_IN)
    (programs / delay.PROGRAM).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    return tmp_path / "pids"


def test_command_lines() -> None:
    assert delay.arguments(20, writable=False) == [
        "--single", "--log=stderr", "--readonly", "--filter=delay", "file", "dir=/proc/self/fd",
        "cache=none", "fadvise=random", "rdelay=20ms", "wdelay=20ms",
    ]  # fmt: skip
    assert "--readonly" not in delay.arguments(20, writable=True)


def test_measured_disks_alone_are_served_and_their_files_need_no_name(
    stand_in: Path, tmp_path: Path
) -> None:
    (tmp_path / "base").write_bytes(b"base")
    scratch = nameless.with_content(tmp_path, b"content")
    disks = [
        Disk("base", str(tmp_path / "base")),
        Disk("scratch", nameless.path_of(scratch), writable=True, measured=True),
    ]
    with delay.delayed(disks, 5, tmp_path / "log") as (base, served):
        assert base is disks[0]
        assert (served.name, served.writable, served.measured) == ("scratch", True, True)
        assert served.server is not None
        with socket.socket(fileno=os.dup(served.server)) as client:
            client.settimeout(30)
            assert client.recv(100) == b"content"
        (pid,) = map(int, stand_in.read_text().split())
        assert runs(pid)
    os.close(scratch)
    assert not runs(pid)
    assert (tmp_path / "said").read_text() == " ".join(delay.arguments(5, True)) + "\n"


def test_without_a_latency_no_server_is_started(tmp_path: Path) -> None:
    disks = (Disk("data", "/nowhere", measured=True),)
    with delay.delayed(disks, None, tmp_path / "log") as found:
        assert found == disks


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_servers_end_when_we_are_killed(
    number: signal.Signals, stand_in: Path, tmp_path: Path
) -> None:
    (tmp_path / "image").write_bytes(b"content")
    folder = tmp_path / "run"
    folder.mkdir()
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(folder), str(tmp_path / "image")],
        stdout=subprocess.PIPE,
    )
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"started\n"
    assert within(10, lambda: stand_in.exists() and stand_in.read_text().endswith("\n"))
    pid = int(stand_in.read_text())
    keeper.send_signal(number)
    keeper.wait()
    keeper.stdout.close()
    assert within(10, lambda: not runs(pid))
    assert [one.name for one in folder.iterdir()] == ["qemu.log"]


def test_only_a_latency_needs_nbdkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments.makers_of_machines(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYROMETER_CACHE", str(tmp_path / "cache"))
    check_here(parse_treatment(["machine.memory=256m", "machine.disk=iops=200"]), None)
    with pytest.raises(CapabilityError, match=r"nbdkit, which .*latency=….* is missing") as caught:
        check_here(parse_treatment(["machine.memory=256m", "machine.disk=latency=5ms"]), None)
    assert caught.value.remedy == "sudo apt-get install nbdkit"
