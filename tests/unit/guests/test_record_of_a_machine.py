"""The record of a trial in a machine: completed, doubted, or refused with what was said in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pyrometer.collect.launch.record import Record, new_manifest
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError, WorkloadError
from pyrometer.guests.conversation import Heard, Milestone
from pyrometer.guests.described import shown
from pyrometer.guests.hearing import TIME_OUT
from pyrometer.guests.machine import machine_of
from pyrometer.guests.parts.kernels import Kernel
from pyrometer.orchestrator.guest_files import GuestFiles
from pyrometer.orchestrator.guest_record import GUEST_MANIFEST, Guest, begin, complete
from pyrometer.store.manifest import ClockPair, Host, Phase, read_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial

TRIAL = Trial(
    command=("java", "-version"), treatment=parse_treatment(["machine.memory=1g", "jvm.heap=256m"])
)
SEEN = {
    "event": "machine", "release": "6.1", "cmdline": "quiet", "cpus_count": 1,
    "memory_bytes": 990 << 20, "swap_bytes": 0,
}  # fmt: skip
FINISHED = {
    "event": "finished", "code": 0, "signal": None, "interrupted_by": None, "mono_ns": 9 * 10**9,
    "wall_ns": 10**18,
}  # fmt: skip


@pytest.fixture
def record(tmp_path: Path) -> Record:
    paths = RunPaths(tmp_path / "run")
    paths.raw.mkdir(parents=True)
    return Record(paths, new_manifest(TRIAL, Host(hostname="here"), ["os"], []))


def guest(*messages: dict[str, Any], **more: Any) -> Guest:
    steps = [Milestone("kernel", 1.0, 5), Milestone("started", 2.5, 10)]
    given: dict[str, Any] = {
        "heard": Heard(milestones=more.pop("milestones", steps), messages=list(messages)),
        "clock": {"host_to_machine_ns": 3 * 10**12, "bound_ns": 1},
        "accelerator": "tcg", "emulated_because": "/dev/kvm: Permission denied", "kernel": "6.1",
        "interrupted_by": None, "code": 0, "qemu_said": "", "sent_bytes": 7, "started_mono_ns": 0,
        "ended_mono_ns": 99,
    }  # fmt: skip
    return Guest(**{**given, **more})


def send_manifest(record: Record, **fields: Any) -> None:
    theirs = new_manifest(TRIAL, Host(hostname="guest"), ["os"], [])
    theirs.treatment = {"jvm.heap": 268435456}
    theirs.state = "finished"
    theirs.phases = [Phase(name="prepare", start_mono_ns=3 * 10**9)]
    theirs.clock_pairs = [ClockPair(mono_ns=4, wall_ns=5)]
    body = {**theirs.model_dump(mode="json", by_alias=True), **fields}
    (record.paths.raw / GUEST_MANIFEST).write_text(json.dumps(body))


def finish(record: Record, found: Guest) -> Any:
    machine = machine_of(TRIAL.treatment, 1)
    assert machine is not None
    return complete(record, TRIAL, machine, found)


def test_what_the_machine_wrote_is_kept_and_what_was_asked_of_it_added(record: Record) -> None:
    send_manifest(record)
    ours = record.manifest.model_copy()
    ending = finish(record, guest(SEEN, FINISHED))
    manifest = record.manifest
    assert (ending.code, ending.mono_ns) == (0, 9 * 10**9)
    assert manifest.state == "finished"
    assert manifest.host.hostname == "guest"
    assert (manifest.run_id, manifest.launcher) == (ours.run_id, ours.launcher)
    assert manifest.treatment == {"machine.memory": 1 << 30, "jvm.heap": 268435456}
    assert [(one.name, one.start_mono_ns) for one in manifest.phases] == [
        ("boot", 0), ("prepare", 3 * 10**9)
    ]  # fmt: skip
    assert manifest.phases[0].end_mono_ns == 2_500_000_000
    assert manifest.machine is not None
    assert manifest.machine["asked"] == {"machine.memory": 1 << 30}
    assert manifest.machine["found"]["memory_bytes"] == 990 << 20
    assert manifest.machine["clock"]["host_to_machine_ns"] == 3 * 10**12
    assert [doubt.code for doubt in manifest.doubts] == ["emulated"]
    assert "Permission denied" in manifest.doubts[0].message
    assert "absolute" in manifest.doubts[0].message
    with record.phase("ingest"):
        pass
    offset = manifest.phases[-1].start_mono_ns - time.monotonic_ns()
    assert -(10**10) < offset - 3 * 10**12 < 10**10


def test_with_kvm_no_time_is_doubted(record: Record) -> None:
    send_manifest(record)
    finish(record, guest(SEEN, FINISHED, accelerator="kvm", emulated_because=None))
    assert record.manifest.doubts == []


def test_the_host_of_a_machine_is_kept_beside_it(record: Record) -> None:
    record.manifest.host = Host(hostname="here", cpu_model="EPYC", cpus_count=2, kernel="6.5")
    begin(record, TRIAL, "6.1", qemu="7.2.0")
    send_manifest(record)
    finish(record, guest(SEEN, FINISHED))
    assert record.manifest.host.hostname == "guest"
    assert record.manifest.machine is not None
    host = record.manifest.machine["host"]
    assert (host["hostname"], host["kernel"], host["qemu_version"]) == ("here", "6.5", "7.2.0")
    assert host["ended_mono_ns"] == 99
    assert shown(record.manifest.machine)["Its host"] == (
        "here, EPYC, 2 CPUs, Linux 6.5, QEMU 7.2.0"
    )


@pytest.mark.parametrize(("waited", "codes"), [(9, []), (10, ["machine_waited"])])
def test_a_machine_that_waited_long_for_its_host_is_doubted(
    waited: int, codes: list[str], record: Record
) -> None:
    cpus = [{"cpu": 0, "run_ns": 20, "wait_ns": waited}, {"cpu": 1, "run_ns": 1, "wait_ns": 0}]
    line = {"mono_ns": 90, "cpus": cpus, "other_run_ns": 3}
    (record.paths.raw / "vcpus.ndjson").write_text(json.dumps(line) + "\n")
    send_manifest(record)
    kvm = guest(SEEN, FINISHED, accelerator="kvm", emulated_because=None, ended_mono_ns=100)
    finish(record, kvm)
    assert [one.code for one in record.manifest.doubts] == codes
    assert all("waited 10.0 % of the" in one.message for one in record.manifest.doubts)


@pytest.mark.parametrize(
    ("accelerator", "code"), [("kvm", "machine_oversubscribed"), ("tcg", "emulated")]
)
def test_more_cpus_than_the_host_may_use_are_doubted(
    accelerator: str, code: str, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    begin(record, TRIAL, "6.1")
    send_manifest(record)
    machine = machine_of(parse_treatment(["machine.cpus=8"]), 1)
    assert machine is not None
    said = {**SEEN, "cpus_count": 8, "memory_bytes": 2000 << 20}
    complete(record, TRIAL, machine, guest(said, FINISHED, accelerator=accelerator))
    assert [one.code for one in record.manifest.doubts] == [code]
    if accelerator == "kvm":
        assert "8 CPUs of the machine take turns on" in record.manifest.doubts[0].message


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"asked": {}, "kernel": "6.1"}, "Linux 6.1"),
        ({"kernel": "6.1", "boot": 7}, "its record cannot be read"),
        ({}, "of an unknown kind"),
    ],
)
def test_a_record_of_a_machine_that_is_not_whole_can_be_shown(
    block: dict[str, Any], text: str
) -> None:
    assert shown(block) == {"Virtual machine": text}


@pytest.mark.parametrize(("said", "kept"), [({"oom_kills_count": 2}, 2), ({}, None)])
def test_what_the_machine_s_kernel_killed_is_kept(
    said: dict[str, int], kept: int | None, record: Record
) -> None:
    send_manifest(record)
    finish(record, guest(SEEN, {**FINISHED, **said}))
    assert record.manifest.machine is not None
    assert record.manifest.machine["oom_kills_count"] == kept


def test_a_machine_that_is_another_is_doubted(record: Record) -> None:
    send_manifest(record)
    finish(record, guest({**SEEN, "memory_bytes": 100 << 20}, FINISHED))
    assert [one.code for one in record.manifest.doubts] == ["machine_differs", "emulated"]
    assert record.manifest.machine is not None
    assert "machine.memory" in record.manifest.machine["differs"][0]


def test_a_machine_that_does_not_say_what_it_has_is_doubted(record: Record) -> None:
    send_manifest(record)
    finish(record, guest({"event": "machine", "cpus_count": "many"}, FINISHED))
    assert [one.code for one in record.manifest.doubts] == ["machine_differs", "emulated"]
    assert record.manifest.machine is not None
    assert record.manifest.machine["found"] is None


def test_a_machine_that_is_lost_before_it_wrote_anything_has_no_time_of_its_end(
    record: Record,
) -> None:
    begin(record, TRIAL, "6.1")
    finish(record, guest(SEEN, code=-9))
    assert record.manifest.ended_mono_ns is None
    assert record.manifest.ended_wall_ns is None


@pytest.mark.parametrize("direct", [True, False])
def test_disks_that_pass_the_hosts_page_cache_are_doubted(
    direct: bool, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.guests.parts.nameless.direct", lambda folder: direct)
    kernel = Kernel("6.1", tmp_path / "vmlinuz", tmp_path, "here")
    files = GuestFiles(kernel, {}, b"", 0, tmp_path)
    begin(record, TRIAL, "6.1", files.doubts())
    send_manifest(record)
    finish(record, guest(SEEN, FINISHED))
    codes = [one.code for one in record.manifest.doubts]
    assert ("machine_disk_cached" in codes) == (not direct)


def test_a_clock_that_does_not_keep_time_is_doubted(record: Record) -> None:
    send_manifest(record)
    finish(record, guest(SEEN, FINISHED, clock={"rate": 35.0}))
    assert [one.code for one in record.manifest.doubts] == ["machine_clock", "emulated"]


@pytest.mark.parametrize(
    ("found", "why", "state"),
    [
        (guest(SEEN, code=-9), "QEMU ended with code -9", "failed"),
        (guest(SEEN, code=None, interrupted_by="SIGINT"), "ended by SIGINT", "interrupted"),
        (guest(SEEN, code=None, interrupted_by=TIME_OUT), "which hung", "interrupted"),
        (guest(SEEN, {**FINISHED, "mono_ns": "soon"}), "QEMU ended with code 0", "failed"),
        (guest(SEEN, {**FINISHED, "code": None}), "QEMU ended with code 0", "failed"),
        (guest(SEEN, {**FINISHED, "code": 10**30}), "QEMU ended with code 0", "failed"),
        (guest(SEEN, {**FINISHED, "signal": "SIGNONE"}), "QEMU ended with code 0", "failed"),
        (guest(SEEN, {**FINISHED, "signal": "SIGRTMIN+x"}), "QEMU ended with code 0", "failed"),
        (guest(SEEN, {**FINISHED, "signal": "SIGRTMIN+999"}), "QEMU ended with code 0", "failed"),
    ],
)
def test_a_machine_that_is_lost_leaves_what_had_come(
    found: Guest, why: str, state: str, record: Record
) -> None:
    send_manifest(record, state="running")
    ending = finish(record, found)
    assert record.manifest.state == state
    assert why in (record.manifest.exit.reason or "")
    assert "machine_lost" in [one.code for one in record.manifest.doubts]
    assert ending.exit_code == 137
    assert record.manifest.host.hostname == "guest"


def test_a_machine_that_lies_is_not_believed(record: Record) -> None:
    why = "the virtual machine sent what cannot be: a frame whose checksum is wrong"
    finish(record, guest(heard=Heard(messages=[SEEN], damaged=why)))
    assert record.manifest.exit.reason == why
    assert [one.code for one in record.manifest.doubts] == ["machine_lost", "emulated"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1}', "[" * 100_000])
def test_a_manifest_that_is_none_breaks_nothing(text: str, record: Record) -> None:
    (record.paths.raw / GUEST_MANIFEST).write_text(text)
    finish(record, guest(SEEN, FINISHED))
    assert record.manifest.host.hostname == "here"
    assert record.manifest.state == "failed"
    assert record.manifest.machine is not None


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        ("usage", UsageError, 2),
        ("capability", CapabilityError, 3),
        ("command-not-found", UsageError, 127),
        ("command-not-executable", UsageError, 126),
        ("workload", WorkloadError, 1),
        (7, PyrometerError, 4),
    ],
)
def test_what_is_refused_in_a_machine_is_refused_here(
    kind: object, error: type[PyrometerError], code: int, record: Record
) -> None:
    said = {"event": "refused", "kind": kind, "message": "os.thp: no such file", "remedy": "boot"}
    with pytest.raises(error, match=r"in the virtual machine: os\.thp") as caught:
        finish(record, guest(SEEN, said))
    assert (caught.value.remedy, caught.value.exit_code) == ("boot", code)
    assert not record.launched


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            guest(milestones=[Milestone("failed", 1.0, 1, "disk base is missing")]),
            "disk base is missing",
        ),
        (guest(qemu_said="qemu: out of memory"), "qemu: out of memory"),
        (guest(heard=Heard(damaged="bytes that do not begin a frame")), "not begin a frame"),
        (guest(), "Kernel panic"),
    ],
)
def test_a_machine_that_does_not_come_up_says_why(found: Guest, why: str, record: Record) -> None:
    (record.paths.raw / "console.txt").write_bytes(b"\x1b[0m Kernel panic - not syncing\r\n")
    with pytest.raises(CapabilityError, match=why):
        finish(record, found)


def test_of_a_kernel_that_crashed_its_first_complaint_is_said(record: Record) -> None:
    trace = "".join(f"[ 1.61] R{i:02}: {i:016x}\r\n" for i in range(200))
    said = "[ 1.60] Oops: double fault: 0000 [#1]\r\n[ 1.61] RIP: 0010:kmem_cache_alloc+0xc3\r\n"
    end = "[ 1.62] Kernel panic - not syncing\r\n"
    (record.paths.raw / "console.txt").write_text(said + trace + end)
    with pytest.raises(CapabilityError, match="double fault") as caught:
        finish(record, guest())
    assert "kmem_cache_alloc" in caught.value.message
    assert "Kernel panic" in caught.value.message
    assert "R17" not in caught.value.message


@pytest.mark.parametrize("event", ["refused", "broken", "other"])
def test_who_ends_it_before_anything_was_launched_has_no_run(event: str, record: Record) -> None:
    messages: list[dict[str, Any]] = [{"event": event, "message": "KeyboardInterrupt"}]
    messages += [SEEN] if event != "other" else []
    with pytest.raises(KeyboardInterrupt):
        finish(record, guest(*messages, interrupted_by="SIGINT"))
    assert not record.launched


def test_a_kill_of_ours_leaves_what_was_asked_for_and_no_clock_of_this_host(
    record: Record,
) -> None:
    begin(record, TRIAL, "6.1")
    found = read_manifest(record.paths.root)
    assert found.state == "running"
    assert found.treatment == {"machine.memory": 1 << 30, "jvm.heap": 268435456}
    assert found.machine is not None
    assert (found.machine["asked"], found.machine["kernel"]) == ({"machine.memory": 1 << 30}, "6.1")
    assert found.machine["host"]["hostname"] == "here"
    assert found.clock_pairs == []
    gone = {"pid": 2**22 + 1, "start_ticks": 1}
    record.manifest.launcher = record.manifest.launcher.model_copy(update=gone)  # type: ignore[union-attr]
    record.save()
    assert read_manifest(record.paths.root).state == "interrupted"
