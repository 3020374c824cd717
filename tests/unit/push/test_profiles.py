"""Profiles of a chunk: the same sums as the tables, labelled by what is known of each sample."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.growing_run import CHUNK, LENGTH_NS, START_NS, growing_run
from tests.support.profile_proto import Profile, read_profile

from pyrometer.push.options import Settings, Window
from pyrometer.push.profiles import profiles
from pyrometer.push.recording import Recording
from pyrometer.store.ingest import native
from pyrometer.store.tables import Tables

PID = 20632


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    run = growing_run(tmp_path_factory.mktemp("run") / "run")
    run.grow(PID, CHUNK)
    folder = run.root / "whole"
    folder.mkdir()
    native().ingest_jfr([str(run.recording(PID))], [], str(folder), "box")
    run.executor(PID)
    with Tables(folder) as tables:
        ((tid, last),) = tables.query(
            "SELECT any_value(tid), max(t_ns) FROM samples WHERE thread_name = 'burner-1'"
        )
    run.task(PID, tid, 11, 3, START_NS, START_NS + LENGTH_NS // 2)
    run.task(PID, tid, 12, 4, START_NS + LENGTH_NS // 2, last + 1)
    return Recording(run.recording(PID))


def made(
    recording: Recording, folder: Path, settings: Settings, window: Window | None = None
) -> list[tuple[str, Profile]]:
    chunk = recording.next()
    assert chunk is not None
    window = window or Window(chunk.start_wall_ns, chunk.end_wall_ns, chunk.start_mono_ns)
    folder.mkdir()
    records = recording.path.with_name(f"plugin-executor-{PID}-{PID}.ndjson")
    found = profiles(recording.path, records, folder, window, settings, 512 << 10)
    return [(profile.name, read_profile(profile.data)) for profile in found]


def sums(recording: Recording) -> dict[str, int]:
    with Tables(recording.path.parents[1] / "whole") as tables:
        return dict(
            tables.query("SELECT event::VARCHAR, sum(weight)::BIGINT FROM samples GROUP BY 1")
        )


def totals(found: list[tuple[str, Profile]]) -> dict[str, int]:
    added: Counter[str] = Counter()
    for name, profile in found:
        added[name] += profile.total(-1)
    names = {"process_cpu": "cpu", "wall": "wall", "memory": "alloc", "mutex": "lock"}
    return {names[name]: total for name, total in added.items()}


def test_sums_types_and_times_are_those_of_the_recording(
    recording: Recording, tmp_path: Path
) -> None:
    found = made(recording, tmp_path / "out", Settings())
    assert totals(found) == sums(recording)
    by_name = dict(found)
    assert len(found) == len(by_name)
    cpu = by_name["process_cpu"]
    assert cpu.sample_types == [("cpu", "nanoseconds")]
    assert (cpu.period_type, cpu.period) == (("cpu", "nanoseconds"), 10_000_000)
    chunk = recording.next()
    assert chunk is not None
    assert (cpu.time_ns, cpu.duration_ns) == (chunk.start_wall_ns, LENGTH_NS)
    assert by_name["memory"].period == 512 << 10
    assert by_name["wall"].period == 50_000_000
    assert by_name["mutex"].sample_types == [("contentions", "count"), ("delay", "nanoseconds")]


def test_samples_of_tasks_are_labelled_by_stage(recording: Recording, tmp_path: Path) -> None:
    by_name = dict(made(recording, tmp_path / "out", Settings()))
    stages: Counter[str | None] = Counter()
    for stack, (weight,), labels in by_name["process_cpu"].samples:
        stages[labels.get("stage")] += weight
        assert ("sql" in labels) == ("stage" in labels)
        if labels.get("stage"):
            assert labels["thread_role"] == "task"
            assert stack[-1][0] == "java.lang.Thread.run"
    # The thread spun for 1.5 s: 1 s and 0.5 s, cut where the second task began.
    assert stages["3"] + stages["4"] == pytest.approx(1_500_000_000, rel=0.05)
    assert stages["3"] == pytest.approx(LENGTH_NS / 2, rel=0.1)
    assert stages[None] > 0
    assert {labels["state"] for _, _, labels in by_name["wall"].samples} <= {"running", "sleeping"}


def test_periods_part_the_time(recording: Recording, tmp_path: Path) -> None:
    found = made(recording, tmp_path / "out", Settings(every_ns=1_000_000_000))
    cpu = [profile for name, profile in found if name == "process_cpu"]
    assert len(cpu) == 2
    assert cpu[1].time_ns - cpu[0].time_ns == cpu[0].duration_ns == pytest.approx(LENGTH_NS / 2, 1)
    assert totals(found) == sums(recording)
    assert min(profile.total() for profile in cpu) > 500_000_000


def test_large_profiles_are_parted_and_times_differ(recording: Recording, tmp_path: Path) -> None:
    whole = made(recording, tmp_path / "whole", Settings())
    for limits in (Settings(part_samples=3), Settings(part_bytes=2000)):
        found = made(recording, tmp_path / str(limits.part_samples), limits)
        assert totals(found) == sums(recording)
        assert len(found) > len(whole)
        times = [(name, profile.time_ns // 1_000_000) for name, profile in found]
        assert len(set(times)) == len(times)
        if limits.part_samples == 3:
            assert max(len(profile.samples) for _, profile in found) == 3


def test_light_stages_become_other(recording: Recording, tmp_path: Path) -> None:
    by_name = dict(made(recording, tmp_path / "out", Settings(stages=1)))
    told = Counter(labels.get("stage") for _, _, labels in by_name["process_cpu"].samples)
    assert set(told) == {"3", "other", None}
    assert by_name["process_cpu"].total() == sums(recording)["cpu"]


def test_without_labels_samples_of_a_stack_are_one(recording: Recording, tmp_path: Path) -> None:
    found = made(recording, tmp_path / "out", Settings(by=()))
    assert totals(found) == sums(recording)
    assert found
    for _, profile in found:
        assert profile.samples
        stacks = [tuple(stack) for stack, _, _ in profile.samples]
        assert len(set(stacks)) == len(stacks)
        assert all(not labels for _, _, labels in profile.samples)


def test_a_wrong_clock_loses_no_sample(recording: Recording, tmp_path: Path) -> None:
    chunk = recording.next()
    assert chunk is not None
    far = Window(chunk.start_wall_ns, chunk.start_wall_ns, (chunk.start_mono_ns or 0) + 10**18)
    assert totals(made(recording, tmp_path / "out", Settings(), far)) == sums(recording)


def test_a_clock_that_was_set_back_between_chunks_makes_no_period_shorter_than_nothing(
    recording: Recording, tmp_path: Path
) -> None:
    chunk = recording.next()
    assert chunk is not None
    back = Window(chunk.start_wall_ns, chunk.start_wall_ns - 10**9, chunk.start_mono_ns)
    found = made(recording, tmp_path / "out", Settings(), back)
    assert totals(found) == sums(recording)
    assert {profile.duration_ns for _, profile in found} == {1}
