"""What a machine has, is heard to say, and costs its host."""

from __future__ import annotations

import errno
import json
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from pyrometer.guests import facts, frames, vcpus
from pyrometer.guests.conversation import Conversation, milestone
from pyrometer.guests.emulator import Running
from pyrometer.guests.facts import Seen, differences
from pyrometer.guests.frames import Decoder, Piece
from pyrometer.guests.hearing import TIME_OUT, Patience, hear
from pyrometer.guests.machine import Machine, machine_of
from pyrometer.guests.pings import MOST_WAITING, Pings, off
from pyrometer.guests.receive import Received
from pyrometer.trial.factors import parse_treatment

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def machine_root(root: Path, lru_gen: str = "0x0007\n") -> Path:
    system = "sys/devices/system"
    return write(
        root,
        {
            "proc/meminfo": "MemTotal: 1980000 kB\nSwapTotal: 1048572 kB\n",
            "proc/sys/kernel/osrelease": "6.1.0-51-cloud-amd64\n",
            "proc/cmdline": "quiet numa_balancing=disable\n",
            "sys/kernel/mm/lru_gen/enabled": lru_gen,
            "pyrometer/run_dir": "/home/me/my run",
            "proc/mounts": "overlay / overlay rw 0 0\n/dev/vdb /home/me/my\\040run xfs rw 0 0\n",
            f"{system}/cpu/online": "0-3\n",
            f"{system}/cpu/cpu0/topology/thread_siblings_list": "0-1\n",
            f"{system}/node/node0/cpulist": "0-1\n",
            f"{system}/node/node0/distance": "10 21\n",
            f"{system}/node/node0/meminfo": "Node 0 MemTotal:  980000 kB\n",
            f"{system}/node/node1/cpulist": "2-3\n",
            f"{system}/node/node1/distance": "21 10\n",
            f"{system}/node/node1/meminfo": "Node 1 MemTotal:  1000000 kB\n",
        },
    )


def asked(*settings: str) -> Machine:
    found = machine_of(parse_treatment([f"machine.{one}" for one in settings]), 4)
    assert found is not None
    return found


WANTED = ("cpus=4", "smt=2", "memory=2g", "numa=2@21", "swap=1g", "lru_gen=on", "filesystem=xfs")


def test_a_machine_that_has_what_was_asked_for_differs_in_nothing(tmp_path: Path) -> None:
    seen = Seen.model_validate(facts.read(machine_root(tmp_path)))
    wanted = asked(*WANTED, "cmdline=numa_balancing=disable")
    assert differences(wanted, "6.1.0-51-cloud-amd64", seen) == []


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("memory=4g", "machine.memory=4.00 GiB, but it has 1.89 GiB"),
        ("swap=2g", "machine.swap=2.00 GiB"),
        ("lru_gen=off", "the kernel shows 0x0007"),
        ("filesystem=btrfs", "machine.filesystem=btrfs, but the kernel shows xfs"),
        ("cpus=2", "machine.cpus=2, but it has 4"),
        ("numa=2", "node 0 has the distances [10, 21]"),
        ("numa=1", "1 nodes, but it has 2"),
        ("smt=1", "a core has 2 threads"),
        ("cmdline=mitigations=off", "was not given mitigations=off"),
    ],
)
def test_each_difference_is_said(setting: str, why: str, tmp_path: Path) -> None:
    seen = Seen.model_validate(facts.read(machine_root(tmp_path)))
    name = setting.partition("=")[0]
    levels = [one for one in WANTED if not one.startswith(f"{name}=")]
    if name == "cpus":
        levels = [one for one in levels if not one.startswith("numa=")]
    found = differences(asked(*levels, setting), seen.release, seen)
    assert any(why in text for text in found), found


def test_a_kernel_without_lru_gen_shows_nothing(tmp_path: Path) -> None:
    root = machine_root(tmp_path)
    (root / "sys/kernel/mm/lru_gen/enabled").unlink()
    seen = Seen.model_validate(facts.read(root))
    assert seen.lru_gen is None
    assert "shows nothing" in differences(asked(*WANTED), seen.release, seen)[0]
    wanted = asked(*(one for one in WANTED if not one.startswith("lru_gen")))
    assert differences(wanted, seen.release, seen) == []


def test_kills_for_want_of_memory_are_counted(tmp_path: Path) -> None:
    assert facts.oom_kills(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 9\noom_kill 3\noom_kill_x 7\n")
    assert facts.oom_kills(tmp_path) == 3


def test_this_host_can_be_read_as_if_it_were_a_machine() -> None:
    seen = Seen.model_validate(facts.read())
    assert seen.cpus_count >= 1
    assert seen.memory_bytes > 0


@pytest.mark.parametrize(
    "line", ["", " ", "7 1.0", "kernel", "a\x00b 1", "kernel nan x", "Ü 1", "x" * 5000]
)
def test_lines_of_a_boot_port_are_milestones_or_nothing(line: str) -> None:
    found = milestone(line, 5)
    assert found is None or (len(found.name) <= 32 and found.uptime_s is None)


def test_round_trips_bound_the_clock_and_wrong_answers_are_left_out() -> None:
    pings = Pings()
    true_offset = -5_000_000
    for at in range(10**10, 15 * 10**9, 10**9):
        number = pings.ask(at)["number"]
        pings.heard({"number": number + 7, "mono_ns": 1}, at + 1)
        pings.heard({"number": number, "mono_ns": at + 400 + true_offset}, at + 1000)
        pings.heard({"number": number, "mono_ns": 1}, at + 1001)
    number = pings.ask(0)["number"]
    for wrong in (True, -1, 1 << 63, "1", None):
        pings.heard({"number": number, "mono_ns": wrong}, 1)
    found = pings.clock()
    assert found["round_trips_count"] == 5
    assert abs(found["host_to_machine_ns"] - true_offset) <= found["bound_ns"]
    assert found["bound_ns"] < 600
    assert "reason" in Pings().clock()
    assert found["rate"] is None


def test_late_answers_count_and_forgotten_questions_do_not_pile_up() -> None:
    pings = Pings()
    first, second = (pings.ask(at)["number"] for at in (10, 20))
    pings.heard({"number": first, "mono_ns": 15}, 30)
    pings.heard({"number": second, "mono_ns": 25}, 31)
    assert pings.trips == [(10, 15, 30), (20, 25, 31)]
    forgotten = pings.ask(40)["number"]
    for at in range(MOST_WAITING):
        pings.ask(50 + at)
    pings.heard({"number": forgotten, "mono_ns": 45}, 1000)
    assert len(pings.trips) == 2


@pytest.mark.parametrize(
    ("rate", "sound"), [(1.0, True), (1.0005, True), (35.0, False), (0.9, False)]
)
def test_the_rate_of_a_machines_clock_is_seen(rate: float, sound: bool) -> None:
    pings = Pings()
    for at in range(10**10, 20 * 10**9, 10**9):
        number = pings.ask(at)["number"]
        pings.heard({"number": number, "mono_ns": round(at * rate)}, at + 1000)
    found = pings.clock()
    assert found["rate"] == pytest.approx(rate, rel=1e-6)
    assert (off(found) is None) == sound


def test_threads_of_cpus_are_told_from_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "7/task/7/comm": "qemu-system-x86\n", "7/task/7/schedstat": "5 1 1\n",
            "7/task/8/comm": "CPU 0/TCG\n", "7/task/8/schedstat": "100 20 3\n",
            "7/task/9/comm": "CPU 1/KVM\n", "7/task/9/schedstat": "200 30 3\n",
            "7/task/10/comm": "worker\n",
        },
    )  # fmt: skip
    found = vcpus.read(7, 99, tmp_path)
    assert found == vcpus.Reading(99, {0: (100, 20), 1: (200, 30)}, 5)
    assert json.loads(json.dumps(found.line()))["cpus"][1] == {
        "cpu": 1, "run_ns": 200, "wait_ns": 30
    }  # fmt: skip


def test_one_thread_may_run_all_cpus_in_turn(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "7/task/7/comm": "qemu-system-x86\n", "7/task/7/schedstat": "5 1 1\n",
            "7/task/8/comm": "ALL CPUs/TCG\n", "7/task/8/schedstat": "100 20 3\n",
        },
    )  # fmt: skip
    found = vcpus.read(7, 99, tmp_path)
    assert found == vcpus.Reading(99, {None: (100, 20)}, 5)
    assert found.line()["cpus"] == [{"cpu": None, "run_ns": 100, "wait_ns": 20}]


class Simulated:
    """A machine that says what a test has it say."""

    def __init__(self, folder: Path) -> None:
        pairs = [socket.socketpair() for _ in range(3)]
        self.console, self.boot, self.stream = (other for _, other in pairs)
        self.process = subprocess.Popen(["sleep", "60"])
        (folder / "raw").mkdir()
        running = Running(self.process, *(one for one, _ in pairs))
        self.progress: list[dict[str, Any]] = []
        self.talk = Conversation(
            running, Received(folder, folder / "m.json"), folder / "raw", self.progress.append
        )

    def heard_in(self, turns: int = 8) -> None:
        for _ in range(turns):
            self.talk.turn(0.01)

    def end(self) -> None:
        for port in (self.console, self.boot, self.stream):
            port.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def simulated(tmp_path: Path) -> Any:
    found = Simulated(tmp_path)
    yield found
    found.end()


def test_a_machine_is_heard_to_its_end(simulated: Simulated, tmp_path: Path) -> None:
    simulated.boot.send(b"kernel 2.5\nmounted 3")
    simulated.console.send(b"hello\r\n")
    simulated.stream.send(frames.say({"event": "machine"}) + frames.say({"event": "progress"}))
    simulated.heard_in()
    simulated.boot.send(b".25 \n")
    simulated.stream.send(frames.piece(Piece("raw/log", 0, 0, b"line\n")))
    simulated.heard_in()
    heard = simulated.talk.heard
    assert [(one.name, one.uptime_s) for one in heard.milestones] == [
        ("kernel", 2.5), ("mounted", 3.25)
    ]  # fmt: skip
    assert heard.said("machine") is not None
    assert simulated.progress == [{"event": "progress"}]
    assert (tmp_path / "raw/log").read_bytes() == b"line\n"
    assert (tmp_path / "raw/console.txt").read_bytes() == b"hello\r\n"
    assert (tmp_path / "raw/vcpus.ndjson").read_bytes().count(b"\n") >= 1
    assert not simulated.talk.over
    simulated.end()
    simulated.heard_in()
    assert simulated.talk.over


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not begin a frame"),
        (frames.piece(Piece("raw/../../etc/passwd", 0, 0, b"x")), "not the name of a file"),
        (frames.piece(Piece("raw/a", 0, 9, b"x")), "gap"),
    ],
)
def test_a_machine_that_sends_what_cannot_be_is_not_believed_any_more(
    sent: bytes, why: str, simulated: Simulated, tmp_path: Path
) -> None:
    simulated.stream.send(sent + frames.say({"event": "finished"}))
    simulated.heard_in()
    assert why in (simulated.talk.heard.damaged or "")
    simulated.stream.send(frames.piece(Piece("raw/b", 0, 0, b"x")))
    simulated.heard_in()
    assert not list((tmp_path / "raw").glob("b"))
    assert simulated.talk.heard.said("finished") is None


def test_a_disk_of_this_host_that_is_full_ends_the_machine_and_is_said(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Received, "take", full)
    simulated.boot.send(b"kernel 1\n")
    simulated.stream.send(frames.piece(Piece("raw/a", 0, 0, b"x")))
    assert hear(simulated.talk, QUICK, list) is None
    assert simulated.talk.heard.damaged == (
        "what the virtual machine sent could not be written: No space left on device"
    )


def test_a_file_that_is_gone_there_is_gone_here(simulated: Simulated, tmp_path: Path) -> None:
    simulated.stream.send(frames.piece(Piece("raw/a", 0, 0, b"x")))
    simulated.stream.send(frames.say({"event": "gone", "name": "raw/a"}))
    simulated.heard_in()
    assert not (tmp_path / "raw/a").exists()
    assert simulated.talk.heard.damaged is None


def test_a_machine_cannot_fill_the_disk_by_its_console_nor_memory_by_words(
    simulated: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.guests.conversation.CONSOLE_BYTES", 10)
    simulated.console.send(b"x" * 50)
    simulated.boot.send(b"kernel 1\n" * 1000 + b"y" * 9000)
    simulated.stream.send(frames.say({"event": "other"}) * 200)
    simulated.heard_in()
    assert (tmp_path / "raw/console.txt").stat().st_size == 10
    assert len(simulated.talk.heard.milestones) == 64
    assert len(simulated.talk.heard.messages) == 64


QUICK = Patience(first_sign_s=30, start_s=30, grace_s=30, last_s=30, turn_s=0.01)


def test_a_machine_that_was_asked_to_end_is_let_go_as_soon_as_it_has_said_its_last_word(
    simulated: Simulated,
) -> None:
    simulated.boot.send(b"kernel 1\n")
    simulated.stream.send(frames.say({"event": "machine"}))
    simulated.stream.settimeout(20)
    asked: list[object] = []

    def machine() -> None:
        decoder = Decoder()
        while "end" not in asked:
            for one in decoder.feed(simulated.stream.recv(4096)):
                assert isinstance(one, dict)
                asked.append(
                    (one["ask"], one.get("signal")) if one["ask"] == "stop" else one["ask"]
                )
                if one["ask"] == "stop":
                    simulated.stream.send(frames.say({"event": "finished"}))
        simulated.end()

    thread = threading.Thread(target=machine)
    thread.start()
    signals = iter([["SIGINT"]])
    assert hear(simulated.talk, QUICK, lambda: next(signals, [])) == "SIGINT"
    thread.join()
    assert [one for one in asked if one != "time"] == [("stop", "SIGINT"), "end"]
    assert simulated.talk.over


@pytest.mark.parametrize(
    ("boot", "said", "patience"),
    [
        (b"", None, Patience(first_sign_s=0, start_s=30, grace_s=30, turn_s=0.01)),
        (b"kernel 1\n", None, Patience(first_sign_s=30, start_s=0, grace_s=30, turn_s=0.01)),
    ],
)
def test_a_machine_that_does_not_come_up_is_not_waited_for(
    boot: bytes, said: None, patience: Patience, simulated: Simulated
) -> None:
    if boot:
        simulated.boot.send(boot)
    assert hear(simulated.talk, patience, list) is said
    assert not simulated.talk.over


def test_a_machine_that_waits_for_its_host_is_waited_for(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    starved = vcpus.Reading(0, {0: (0, 10**12), 1: (0, 0)}, 0)
    monkeypatch.setattr(vcpus, "read", lambda pid, now: starved)
    turns = iter(range(1000))

    def comes_up_late() -> list[str]:
        if next(turns) == 20:
            simulated.boot.send(b"kernel 1\n")
            simulated.stream.send(frames.say({"event": "machine"}))
            simulated.end()
        return []

    at_once = Patience(first_sign_s=0, start_s=0, grace_s=0, turn_s=0.01)
    assert hear(simulated.talk, at_once, comes_up_late) is None
    assert simulated.talk.over
    assert simulated.talk.heard.said("machine") is not None


def test_time_in_which_the_host_ran_nobody_is_none_that_a_machine_had() -> None:
    given = vcpus.Given()
    for second in (0.0, 0.5, 3600.5, 3601.0):
        given.turn(second)
    assert given.seconds == pytest.approx(1.0 + vcpus.LONGEST_TURN_S)
    given.look(vcpus.Reading(0, {0: (0, 10**9), 1: (0, 2 * 10**9)}, 0))
    given.look(vcpus.Reading(0, {}, 0))
    assert given.seconds == pytest.approx(1.0 + vcpus.LONGEST_TURN_S - 2.0)


def test_a_machine_that_hangs_is_ended_and_a_second_signal_ends_it_at_once(
    simulated: Simulated,
) -> None:
    simulated.boot.send(b"kernel 1\n")
    simulated.stream.send(frames.say({"event": "machine"}))
    simulated.heard_in()
    hangs = Patience(first_sign_s=30, start_s=30, grace_s=30, longest_s=0, turn_s=0.01)
    assert hear(simulated.talk, hangs, list) == TIME_OUT
    signals = iter([["SIGTERM"], ["SIGINT"]])
    assert hear(simulated.talk, QUICK, lambda: next(signals)) == "SIGTERM"
