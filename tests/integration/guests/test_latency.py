"""Requests of a machine's disk are held back by as much as its level says."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.guests import delay, emulator
from pyrometer.guests.conversation import Conversation
from pyrometer.guests.machine import machine_of
from pyrometer.guests.parts import initrd, nameless
from pyrometer.guests.parts.kernels import Kernel
from pyrometer.guests.qemu import Boot, Disk, command_line
from pyrometer.guests.receive import Received
from pyrometer.trial.factors import parse_treatment

pytestmark = pytest.mark.slow

BOOT_S = 150
LATENCY_MS = 20
SCRIPT = """\
for disk in /sys/block/vd*; do
    [ "$(cat $disk/serial)" = data ] && break
done
dd if=/dev/${disk##*/} bs=64k count=64 2>/dev/null | md5sum
echo stat $(cat $disk/stat)
echo written >/here && sync && cat /here
"""


@pytest.fixture
def files(tmp_path: Path) -> Iterator[list[int]]:
    """Files without a name for the first archive and three disks."""
    opened = [nameless.nameless(tmp_path, size << 20) for size in (0, 32, 32, 4)]
    yield opened
    for one in opened:
        os.close(one)


def test_each_request_takes_as_long_as_asked_for(
    kernel: Kernel, files: list[int], tmp_path: Path
) -> None:
    needs.tool(delay.PROGRAM)
    level = f"machine.disk=latency={LATENCY_MS}ms,iops=500"
    machine = machine_of(parse_treatment(["machine.memory=256m", "machine.cpus=1", level]), 1)
    assert machine is not None
    (tmp_path / "files").mkdir()
    first = {
        "images": b"base\n", "hostname": b"guest", "run_dir": b"/run", "start.sh": SCRIPT.encode()
    }  # fmt: skip
    archive = initrd.build(
        initrd.busybox().read_bytes(), kernel.loading_order(), first, initrd.INIT.read_bytes()
    )
    paths = [nameless.path_of(one) for one in files]
    Path(paths[0]).write_bytes(archive)
    for number in (1, 2):
        nameless.format_ext4(paths[number], 32 << 20, tmp_path / "files", files[number])
    disks = (
        Disk("base", paths[1]),
        Disk("scratch", paths[2], writable=True, measured=True),
        Disk("data", paths[3], measured=True),
    )
    ends = emulator.Ends()
    console, boot, stream = ends.descriptors
    raw, log = tmp_path / "raw", tmp_path / "log"
    raw.mkdir()
    with delay.delayed(disks, machine.limits.latency_ms, log) as served:
        ports = (("boot", boot), ("stream", stream))
        arguments = command_line(
            machine, Boot(str(kernel.image), paths[0], served, ports, console), "tcg"
        )
        descriptors = [*files, *(one.server for one in served if one.server is not None)]
        with emulator.running(arguments, ends, descriptors, log) as running:
            talk = Conversation(running, Received(tmp_path, raw / "m.json"), raw, lambda _: None)
            deadline = time.monotonic() + BOOT_S
            while not talk.over and time.monotonic() < deadline:
                talk.turn(0.2)
    shown = (raw / "console.txt").read_text(encoding="utf-8", errors="replace")
    assert log.read_text() == "", shown
    assert "b5cfa9d6c8febd618f91ac2843d50a1c  -" in shown
    assert "written" in shown
    (line,) = [one for one in shown.splitlines() if one.startswith("stat ")]
    reads, _, _, waited_ms = (int(word) for word in line.split()[1:5])
    assert reads > 0
    assert waited_ms >= reads * LATENCY_MS
    assert sorted(one.name for one in tmp_path.iterdir()) == ["files", "log", "raw"]
