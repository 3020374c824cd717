"""Trials that run at the same time in one machine: launched inside, recorded here."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import socket
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support import guests

from pyrometer.collect.launch import together
from pyrometer.collect.launch.observe import Silent
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError
from pyrometer.experiments.run import parallel
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.guests import frames, job
from pyrometer.guests.emulator import Ends, Running
from pyrometer.guests.frames import Piece
from pyrometer.guests.machine import Machine
from pyrometer.orchestrator import guest, inside
from pyrometer.orchestrator.guest_record import GUEST_MANIFEST
from pyrometer.store.manifest import Host, read_manifest
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial

SEEN = {
    "event": "machine", "release": "6.1", "cmdline": "quiet", "cpus_count": 2,
    "memory_bytes": 2000 << 20, "swap_bytes": 0,
}  # fmt: skip
FINISHED = {"event": "finished", "code": 0, "signal": None, "interrupted_by": None}
REFUSED = {"event": "refused", "kind": "usage", "message": "no such CPU", "remedy": "another"}


def trials(folder: Path) -> list[Trial]:
    return [
        Trial(
            name="svm",
            treatment=parse_treatment(["machine.cpus=2", f"host.cpus={at}-{at}"]),
            run_dir=folder / f"trials/{at}",
            overlap=(0.0, 0.0),
            co_running=("svm",),
            profile="off",
        )
        for at in range(2)
    ]


MAIN = """
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_SETMASK, [])
from pyrometer.guests import job
from pyrometer.orchestrator import inside
job.FILE = pathlib.Path(sys.argv[1])
sys.exit(inside.main())
"""


def spinning(folder: Path, iterations: int) -> list[Trial]:
    path = str(guests.spinning(folder))
    its = {"iterations": iterations, "warmup": 1, "scale": "test"}
    return [replace(one, name=path, treatment={"machine.cpus": 2}, **its) for one in trials(folder)]


class Simulated:
    """A machine that says what a test has it say, and is over when it was heard."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.says: list[bytes] = []
        self.given: list[Trial] = []
        self.inside: Path | None = None
        self.machines = 0
        files = SimpleNamespace(
            kernel=SimpleNamespace(release="6.1"), cache=cache, doubts=lambda: (),
            opened=lambda log: contextlib.nullcontext(
                SimpleNamespace(arguments=lambda *_: [], descriptors=())
            ),
        )  # fmt: skip

        def made(machine: Machine, given: Sequence[Trial], watch: object) -> SimpleNamespace:
            self.given = job.read(job.write(given))
            return files

        monkeypatch.setattr(guest, "check_here", lambda *_: Machine(cpus_count=2))
        monkeypatch.setattr(guest, "guest_files", made)
        monkeypatch.setattr(guest.emulator, "running", self._running)
        monkeypatch.setattr(guest.emulator, "accelerator", lambda **_: ("kvm", None))
        monkeypatch.setattr(guest.emulator, "version", lambda: "7.2")

    @contextlib.contextmanager
    def _running(
        self, arguments: object, ends: Ends, descriptors: object, log: Path
    ) -> Iterator[Running]:
        self.machines += 1
        log.touch()
        console, boot, stream = ends.theirs
        qemu = subprocess.Popen(["sleep", "300"])

        def speak() -> None:
            console.sendall(b"Linux\n")
            boot.sendall(b"kernel 1.0\nstarted 2.0\n")
            if self.inside is not None:
                with contextlib.suppress(OSError):
                    self._run_inside(self.inside, stream)
            else:
                for one in self.says:
                    stream.sendall(one)
                # The host has looked, and says so.
                stream.recv(1)
            qemu.kill()
            for port in ends.theirs:
                port.close()

        speaking = threading.Thread(target=speak)
        speaking.start()
        yield Running(qemu, *ends.ours)
        for port in ends.ours:
            port.close()
        speaking.join()
        qemu.wait()
        ends.close()

    def _run_inside(self, root: Path, stream: socket.socket) -> None:
        """Run what a machine runs, as a process of this host with folders of its own."""
        root.mkdir()
        trials = [replace(one, run_dir=root / f"trials/{at}") for at, one in enumerate(self.given)]
        (root / "job.json").write_bytes(job.write(trials))
        near, far = pty.openpty()
        tty.setraw(near)
        tty.setraw(far)
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, str(root / "job.json")],
            env={**os.environ, "STREAM": os.ttyname(far)},
        )
        try:
            while process.poll() is None:
                ready, _, _ = select.select([near, stream], [], [], 0.05)
                if near in ready:
                    stream.sendall(os.read(near, 1 << 16))
                if stream in ready:
                    os.write(near, stream.recv(1 << 16))
        finally:
            # Those that it started end with it.
            process.kill()
            process.wait()
            os.close(near)
            os.close(far)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulated:
    return Simulated(monkeypatch, tmp_path)


def manifest_of(trial: Trial, state: str = "finished") -> bytes:
    theirs = new_manifest(trial, Host(hostname="guest"), [], [])
    return json.dumps({**theirs.model_dump(mode="json", by_alias=True), "state": state}).encode()


def word(trial: int, **more: Any) -> bytes:
    times = {"mono_ns": 9 * 10**9, "wall_ns": 10**18}
    return frames.say({**FINISHED, **times, **more, "trial": trial})


@pytest.mark.timeout(60)
def test_they_are_launched_once_and_each_is_recorded_in_its_run_directory(
    simulated: Simulated, tmp_path: Path
) -> None:
    both = trials(tmp_path)
    simulated.says = [frames.say(SEEN)]
    for at, one in enumerate(both):
        simulated.says += [
            frames.piece(Piece(f"{at}/raw/stdout", 0, 0, f"said by {at}\n".encode())),
            frames.piece(Piece(f"{at}/manifest.json", 0, 0, manifest_of(one))),
        ]
    simulated.says += [word(0), word(1, code=3)]
    found = guest.measure_in_guest(both, Silent())
    assert simulated.machines == 1
    assert [one.treatment for one in simulated.given] == [
        {"host.cpus": "0-0"}, {"host.cpus": "1-1"}
    ]  # fmt: skip
    assert [one.run_dir for one in simulated.given] == [one.run_dir for one in both]
    assert {one.overlap for one in simulated.given} == {(0.0, 0.0)}
    assert [ending.code for _, ending in found] == [0, 3]
    for at, (record, _) in enumerate(found):
        raw = record.paths.raw
        assert (raw / "stdout").read_text() == f"said by {at}\n"
        assert (raw / "console.txt").read_text() == "Linux\n"
        assert (raw / "vcpus.ndjson").is_file()
        assert (raw / GUEST_MANIFEST).is_file()
        manifest = read_manifest(record.paths.root)
        assert manifest.machine is not None
        assert manifest.machine["found"]["cpus_count"] == 2
        assert manifest.treatment["machine.cpus"] == 2
        assert manifest.treatment["co.run"] == "svm"
        assert manifest.host.hostname == "guest"
    clocks = [read_manifest(record.paths.root).machine for record, _ in found]
    assert clocks[0] is not None
    assert clocks[1] is not None
    assert clocks[0]["clock"] == clocks[1]["clock"]


@pytest.mark.timeout(300)
def test_workloads_wait_for_each_other_and_count_under_load_of_each_other(
    simulated: Simulated, tmp_path: Path
) -> None:
    simulated.inside = tmp_path / "machine"
    both = spinning(tmp_path, iterations=2)
    found = guest.measure_in_guest(both, Silent())
    assert [ending.code for _, ending in found] == [0, 0]
    for record, _ in found:
        manifest = read_manifest(record.paths.root)
        assert manifest.state == "finished"
        assert [one.status for one in manifest.results] == ["ok"] * 3
        assert manifest.treatment == {"machine.cpus": 2, "co.run": "svm"}
        assert (record.paths.raw / "console.txt").is_file()
    guests.check_at_once([record.paths for record, _ in found])


@pytest.mark.timeout(300)
def test_all_are_ended_where_we_are_asked_to_end(
    simulated: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated.inside = tmp_path / "machine"
    both = spinning(tmp_path, iterations=100_000)
    asked: list[str] = []

    def ask() -> list[str]:
        begun = [tmp_path / f"trials/{at}/raw/iterations.ndjson" for at in range(2)]
        if asked or not all(one.is_file() and one.stat().st_size for one in begun):
            return []
        asked.append("SIGTERM")
        return asked

    monkeypatch.setattr(guest.process, "asked_to_end", ask)
    found = guest.measure_in_guest(both, Silent())
    for record, ending in found:
        assert ending.interrupted_by == "SIGTERM"
        assert record.manifest.state == "interrupted"
        assert record.manifest.results


@pytest.mark.timeout(60)
def test_where_one_is_refused_in_the_machine_none_has_run(
    simulated: Simulated, tmp_path: Path
) -> None:
    both = trials(tmp_path)
    simulated.says = [frames.say(SEEN), word(0), frames.say({**REFUSED, "trial": 1})]
    with pytest.raises(UsageError, match="in the virtual machine: no such CPU"):
        guest.measure_in_guest(both, Silent())
    assert not list(tmp_path.glob("trials/*"))
    assert (
        parallel.run_parallel(both, Silent())
        == [Attempt("failed", reason="in the virtual machine: no such CPU")] * 2
    )


@pytest.mark.timeout(60)
def test_a_machine_that_is_lost_loses_those_that_said_nothing(
    simulated: Simulated, tmp_path: Path
) -> None:
    both = trials(tmp_path)
    simulated.says = [frames.say(SEEN)]
    simulated.says += [
        frames.piece(Piece(f"{at}/manifest.json", 0, 0, manifest_of(one, "running")))
        for at, one in enumerate(both)
    ]
    found = guest.measure_in_guest(both, Silent())
    for record, _ in found:
        assert "machine_lost" in [one.code for one in record.manifest.doubts]
        assert record.manifest.state == "failed"


@pytest.mark.timeout(120)
def test_inside_each_runs_in_a_process_of_its_own_and_says_how_it_ended(tmp_path: Path) -> None:
    scripts = ("echo first; exit 3", "echo second")
    both = [
        Trial(
            command=("sh", "-c", script), profile="off", run_dir=tmp_path / str(at), captured=True
        )
        for at, script in enumerate(scripts)
    ]
    # A folder that is not empty is refused, and leaves no word but that.
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    both.append(Trial(command=("true",), profile="off", run_dir=tmp_path / "full", captured=True))
    answers, asked = together.run_each(both, inside.MODULE)
    words = [json.loads(one.output) for one in answers]
    assert not asked
    assert [one["event"] for one in words] == ["finished", "finished", "refused"]
    assert [one.get("code") for one in words] == [3, 0, None]
    assert "not an empty folder" in words[2]["message"]
    texts = [(tmp_path / str(at) / "raw/stdout").read_text() for at in range(2)]
    assert texts == ["first\n", "second\n"]
    assert [read_manifest(tmp_path / str(at)).state for at in range(2)] == ["failed", "finished"]
    assert not list(tmp_path.glob(f"{together.BARRIER}*"))


def test_a_process_that_ends_without_a_word_is_broken() -> None:
    found = inside._said(together.Answer(b"", "MemoryError"))
    assert found == {"event": "broken", "message": "MemoryError"}


def test_a_process_whose_parent_has_ended_already_runs_nothing() -> None:
    one = subprocess.run(
        [sys.executable, "-m", inside.MODULE, str(os.getppid())],
        input=b"[]",
        capture_output=True,
        check=False,
    )
    assert one.returncode != 0
    assert f"process {os.getppid()} has ended".encode() in one.stderr
