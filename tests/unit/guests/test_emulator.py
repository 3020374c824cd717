"""QEMU ends with us, however we end, and what it had open has no name that could stay behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.waiting import within

from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.guests import emulator
from pyrometer.guests.conversation import Heard, Milestone
from pyrometer.guests.here import require_tools
from pyrometer.guests.machine import Machine
from pyrometer.guests.parts import nameless
from pyrometer.orchestrator import guest

STAND_IN = """\
#!/bin/sh
# Stands for QEMU: says who it is, and goes on until it is ended.
echo $$ >"$PID_FILE.new" && mv "$PID_FILE.new" "$PID_FILE"
exec sleep 600
"""
KEEPER = """\
import sys, time
from pathlib import Path
from pyrometer.guests import emulator
from pyrometer.guests.parts import nameless
folder = Path(sys.argv[1])
disk = nameless.nameless(folder, 1 << 20)
ends = emulator.Ends()
with emulator.running(["-x"], ends, [disk], folder / "qemu.log"):
    print("started", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in QEMU's place; gives the file in which its pid will be."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / emulator.PROGRAM).write_text(STAND_IN)
    (programs / emulator.PROGRAM).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    return tmp_path / "pid"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_qemu_ends_when_we_are_killed_and_no_disk_is_left(
    number: signal.Signals, stand_in: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "disks"
    folder.mkdir()
    keeper = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KEEPER), str(folder)], stdout=subprocess.PIPE
    )
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"started\n"
    assert within(10, stand_in.exists)
    qemu = int(stand_in.read_text())
    assert runs(qemu)
    keeper.send_signal(number)
    keeper.wait()
    keeper.stdout.close()
    assert within(10, lambda: not runs(qemu))
    assert [one.name for one in folder.iterdir()] == ["qemu.log"]


def test_qemu_ends_at_the_end_of_the_block_also_by_an_error(stand_in: Path, tmp_path: Path) -> None:
    ends = emulator.Ends()

    def fails() -> None:
        with emulator.running([], ends, [], tmp_path / "log"):
            assert within(10, stand_in.exists)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not runs(int(stand_in.read_text()))
    assert all(one.fileno() == -1 for one in (*ends.ours, *ends.theirs))


def test_qemu_that_is_missing_is_one_message_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CapabilityError, match="qemu-system-x86_64") as caught:
        emulator.program()
    assert caught.value.remedy == "sudo apt-get install qemu-system-x86 busybox-static"


def test_a_host_of_another_architecture_makes_no_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(CapabilityError, match="on x86_64 only: this is aarch64"):
        require_tools()


def test_without_kvm_it_is_emulation_with_the_reason(tmp_path: Path) -> None:
    kind, why = emulator.accelerator(tmp_path / "kvm")
    assert kind == "tcg"
    assert "is missing" in (why or "")
    (tmp_path / "device").touch()
    assert emulator.accelerator(tmp_path / "device") == ("kvm", None)


def test_that_qemu_was_told_to_end_is_no_complaint(tmp_path: Path) -> None:
    log = tmp_path / "qemu.log"
    assert emulator.complaints(log) == ""
    log.write_text("qemu: terminating on signal 15 from pid 7 (python)\n")
    assert emulator.complaints(log) == ""
    log.write_text("qemu: cannot allocate memory\nqemu: terminating on signal 15 from pid 7\n")
    assert emulator.complaints(log) == "qemu: cannot allocate memory"


def test_a_file_without_a_name_is_opened_again_by_its_path(tmp_path: Path) -> None:
    descriptor = nameless.with_content(tmp_path, b"content")
    assert Path(nameless.path_of(descriptor)).read_bytes() == b"content"
    assert not list(tmp_path.iterdir())
    os.close(descriptor)


@pytest.mark.parametrize("works", [True, False])
def test_kvm_is_blamed_only_where_emulation_works(
    works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(*given: Any) -> Any:
        up = works and "tcg" in given
        heard = Heard([Milestone("kernel", 1.0, 1)] if up else [])
        return [SimpleNamespace(heard=heard, interrupted_by=None, qemu_said="no memory")]

    monkeypatch.setattr(guest, "_attempt", attempt)
    monkeypatch.setattr(emulator, "accelerator", lambda cache: ("kvm", None))
    guest._boot(Machine(1), SimpleNamespace(cache=tmp_path), None, None, None)  # type: ignore[arg-type]
    assert (tmp_path / emulator.FAILED).exists() == works


def test_kvm_that_started_no_machine_is_not_tried_again_until_the_next_boot(
    tmp_path: Path,
) -> None:
    device = tmp_path / "device"
    device.touch()
    emulator.note_failed(tmp_path, "KVM started no machine: it showed no sign of life")
    kind, why = emulator.accelerator(device, tmp_path)
    assert kind == "tcg"
    assert why is not None
    assert why.startswith("KVM started no machine: it showed no sign of life")
    assert str(tmp_path / emulator.FAILED) in why
    (tmp_path / emulator.FAILED).write_text("another boot\nit failed\n")
    assert emulator.accelerator(device, tmp_path) == ("kvm", None)
