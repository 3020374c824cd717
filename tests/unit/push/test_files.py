"""What is read of a run that grows: chunks once they are whole, and the tasks that matter."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from tests.support.growing_run import CHUNK, START_NS, GrowingRun, chunk, growing_run, open_chunk

from pyrometer.push.recording import Recording, TaskLog

PID = 20632


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    return growing_run(tmp_path / "run")


def test_a_chunk_is_given_once_it_is_whole(run: GrowingRun) -> None:
    recording = Recording(run.recording(PID))
    assert recording.next() is None
    for part in (CHUNK[:40], CHUNK[40:30_000]):
        run.grow(PID, part)
        assert recording.next() is None
    run.grow(PID, CHUNK[30_000:])
    found = recording.next()
    assert found is not None
    assert (found.offset, found.size) == (0, len(CHUNK))
    assert found.start_mono_ns == START_NS
    recording.offset = found.end
    assert recording.next() is None
    run.grow(PID, open_chunk())
    assert recording.next() is None
    assert recording.reason is None
    assert recording.left_bytes() == (0, 20_000)


def test_chunks_are_gathered_for_a_longer_period(run: GrowingRun) -> None:
    recording = Recording(run.recording(PID))
    run.grow(PID, chunk(0) + chunk(1))
    chunks, whole = recording.ready(5_000_000_000)
    assert (len(chunks), whole) == (2, False)
    run.grow(PID, chunk(2) + chunk(3))
    chunks, whole = recording.ready(5_000_000_000)
    assert (len(chunks), whole) == (3, True)
    target = run.root / "part.jfr"
    recording.offset = chunks[0].end
    recording.copy(chunks[1:], target)
    assert target.read_bytes() == chunk(1) + chunk(2)


def test_what_is_no_recording_is_told(run: GrowingRun) -> None:
    run.grow(PID, CHUNK + b"no chunk" * 20)
    recording = Recording(run.recording(PID))
    recording.offset = len(CHUNK)
    assert recording.next() is None
    where = f"byte {len(CHUNK)}"
    assert recording.reason == (
        f"profile-executor-{PID}.jfr: not a chunk of a JFR recording at {where}"
    )


def test_a_chunk_without_monotonic_ticks_has_no_monotonic_time(run: GrowingRun) -> None:
    header = bytearray(CHUNK)
    struct.pack_into(">q", header, 56, 24_000_000)
    run.grow(PID, bytes(header))
    found = Recording(run.recording(PID)).next()
    assert found is not None
    assert found.start_mono_ns is None
    assert found.end_mono_ns is None


def log_of(run: GrowingRun) -> TaskLog:
    return TaskLog(run.paths.raw / f"plugin-executor-{PID}-{PID}.ndjson")


def kept(log: TaskLog, since: int, target: Path) -> list[tuple[str, int]]:
    log.write(since, target)
    records = [json.loads(line) for line in target.read_bytes().splitlines()]
    return sorted((r["k"], r["task"]) for r in records if "task" in r)


def test_records_are_read_as_far_as_the_time_asked_for(run: GrowingRun) -> None:
    run.executor(PID)
    run.task(PID, 1, 11, 3, START_NS, START_NS + 10)
    run.task(PID, 1, 12, 3, START_NS + 100)
    log = log_of(run)
    assert not log.read_past(START_NS + 1000)
    assert log.app_id == "app-1"
    assert log.alloc_bytes == 512 << 10
    target = run.root / "part.ndjson"
    assert kept(log, START_NS, target) == [("task", 11), ("task_start", 12)]
    run.clock(PID, START_NS + 2000)
    run.task(PID, 2, 13, 3, START_NS + 3000)
    assert log.read_past(START_NS + 1000)
    assert kept(log, START_NS, target) == [("task", 11), ("task_start", 12)]
    assert not log.read_past(START_NS + 5000)
    # What ended long before the chunk is let go of.
    later = START_NS + 60_000_000_000
    assert kept(log, later, target) == [("task_start", 12), ("task_start", 13)]


def test_a_record_is_read_when_its_line_is_whole(run: GrowingRun) -> None:
    run.executor(PID)
    log = log_of(run)
    with log.path.open("ab") as out:
        out.write(b'{"k":"clock","mono_ns":99')
        out.flush()
        assert not log.read_past(START_NS)
        out.write(b'99999999999999,"wall_ns":1}\n')
    assert log.read_past(START_NS)


def test_broken_records_are_passed_over(run: GrowingRun) -> None:
    run.executor(PID)
    with log_of(run).path.open("ab") as out:
        out.write(b'{"k":"task","tid":1\n\xff\xff\n\n{"k":"task_start","tid":2}\n[]\n')
    run.task(PID, 1, 12, 3, START_NS + 100)
    log = log_of(run)
    assert not log.read_past(START_NS + 1000)
    assert kept(log, START_NS, run.root / "part.ndjson") == [("task_start", 12)]


def test_a_second_application_of_a_jvm_takes_over(run: GrowingRun) -> None:
    run.executor(PID, app=None)
    log = log_of(run)
    log.read_past(START_NS)
    assert log.app_id is None
    run.executor(PID, app="app-1")
    run.records(PID, {"k": "bye", "mono_ns": START_NS + 1})
    run.executor(PID, app="app-2")
    log.read_past(START_NS + 10)
    assert log.app_id == "app-2"
    assert not log.closed


def test_the_application_is_found_however_late_it_begins(run: GrowingRun) -> None:
    run.executor(PID, app=None)
    run.clock(PID, START_NS + 20)
    run.executor(PID, app="app-1")
    log = log_of(run)
    assert log.read_past(START_NS + 10)
    assert log.app_id == "app-1"
