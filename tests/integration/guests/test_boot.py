"""A machine boots from what is made for it, has what was asked for, and is heard."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrometer.guests import emulator, frames
from pyrometer.guests.conversation import Conversation
from pyrometer.guests.frames import Piece
from pyrometer.guests.machine import machine_of
from pyrometer.guests.parts import initrd, nameless
from pyrometer.guests.parts.kernels import Kernel
from pyrometer.guests.qemu import Boot, Disk, command_line
from pyrometer.guests.receive import Received
from pyrometer.trial.factors import parse_treatment

pytestmark = pytest.mark.slow

BOOT_S = 150
SCRIPT = """\
cat /proc/cmdline /proc/swaps /sys/kernel/mm/lru_gen/enabled
cat /sys/devices/system/node/node*/distance
cat /hello /run/hello
echo written >/hello && cat /hello
cat /pyrometer/frames >$STREAM
exit 7
"""


@pytest.fixture
def descriptors() -> Iterator[list[int]]:
    held: list[int] = []
    yield held
    for one in held:
        os.close(one)


def test_a_machine_has_what_was_asked_for_and_leaves_what_it_sent(
    kernel: Kernel, descriptors: list[int], tmp_path: Path
) -> None:
    machine = machine_of(
        parse_treatment(
            ["machine.memory=512m", "machine.cpus=2", "machine.numa=2@21", "machine.swap=32m",
             "machine.lru_gen=on", "machine.cmdline=mitigations=off"]
        ),
        1,
    )  # fmt: skip
    assert machine is not None
    disks = tmp_path / "disks"
    (disks / "files/run").mkdir(parents=True)
    (disks / "files/hello").write_text("from the host\n")
    (disks / "files/run/hello").write_text("from its run folder\n")
    sent = frames.say({"event": "machine"}) + frames.piece(Piece("raw/log", 0, 0, b"line\n"))
    first = {
        "images": b"base\n", "hostname": b"guest", "run_dir": b"/a run", "lru_gen": b"y\n",
        "start.sh": SCRIPT.encode(), "frames": sent,
    }  # fmt: skip
    archive = initrd.build(
        initrd.busybox().read_bytes(), kernel.loading_order(), first, initrd.INIT.read_bytes()
    )
    opened = [
        nameless.with_content(disks, archive),
        nameless.nameless(disks, 32 << 20),
        nameless.nameless(disks, 256 << 20),
        nameless.nameless(disks, 32 << 20),
    ]
    descriptors += opened
    files = [nameless.path_of(one) for one in opened]
    nameless.format_ext4(files[1], 32 << 20, disks / "files", pass_fd=opened[1])
    nameless.format_ext4(files[2], 256 << 20, pass_fd=opened[2])
    ends = emulator.Ends()
    console, boot, stream = ends.descriptors
    what = Boot(
        str(kernel.image),
        files[0],
        (Disk("base", files[1]), Disk("scratch", files[2], True), Disk("swap", files[3], True)),
        (("boot", boot), ("stream", stream)),
        console,
    )
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    arguments = command_line(machine, what, "tcg")
    with emulator.running(arguments, ends, opened, tmp_path / "log") as running:
        talk = Conversation(running, Received(run, run / "m.json"), run / "raw", lambda _: None)
        deadline = time.monotonic() + BOOT_S
        while not talk.over and time.monotonic() < deadline:
            talk.turn(0.2)
    assert running.process.returncode == 0, (tmp_path / "log").read_text()
    steps = {one.name: one for one in talk.heard.milestones}
    assert list(steps) == ["kernel", "modules", "mounted", "started", "ended"]
    assert steps["ended"].said == "7"
    uptimes = [one.uptime_s or 0 for one in steps.values()]
    assert uptimes == sorted(uptimes)
    assert talk.heard.said("machine") is not None
    assert (run / "raw/log").read_bytes() == b"line\n"
    shown = (run / "raw/console.txt").read_text(encoding="utf-8", errors="replace")
    assert "mitigations=off" in shown
    assert "/dev/vdc" in shown
    assert "10 21" in shown
    assert "from the host" in shown
    assert "from its run folder" in shown
    assert "written" in shown
    assert [one.name for one in disks.iterdir()] == ["files"]
    assert '"cpu":null' in (run / "raw/vcpus.ndjson").read_text()


def test_a_disk_that_is_missing_ends_the_machine_with_a_word(
    kernel: Kernel, descriptors: list[int], tmp_path: Path
) -> None:
    machine = machine_of({"machine.memory": 256 << 20, "machine.cpus": 1}, 1)
    assert machine is not None
    first = {"images": b"base\n", "hostname": b"guest", "run_dir": b"/run", "start.sh": b""}
    archive = initrd.build(
        initrd.busybox().read_bytes(), kernel.loading_order(), first, initrd.INIT.read_bytes()
    )
    descriptors.append(nameless.with_content(tmp_path, archive))
    ends = emulator.Ends()
    console, boot, stream = ends.descriptors
    what = Boot(
        str(kernel.image),
        nameless.path_of(descriptors[0]),
        (),
        (("boot", boot), ("stream", stream)),
        console,
    )
    (tmp_path / "raw").mkdir()
    arguments = command_line(machine, what, "tcg")
    with emulator.running(arguments, ends, descriptors, tmp_path / "log") as running:
        received = Received(tmp_path, tmp_path / "m.json")
        talk = Conversation(running, received, tmp_path / "raw", lambda _: None)
        deadline = time.monotonic() + BOOT_S
        while not talk.over and time.monotonic() < deadline:
            talk.turn(0.2)
    failed = talk.heard.at("failed")
    assert failed is not None
    assert failed.said == "disk base is missing"
