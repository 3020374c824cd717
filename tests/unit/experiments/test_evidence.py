"""Evidence of a trial read from its tables and manifest, and why some cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, StageSpec, World, mono

from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.schema import doubt
from pyrometer.experiments.judge.schema import Measures
from pyrometer.experiments.run.attempt import read as read_outcome
from pyrometer.experiments.studies.evidence import read_trial
from pyrometer.store.manifest import read_manifest, write_manifest
from pyrometer.trial.trial import Trial


def read(made: World, scope: str, name: str, *levels: tuple[int, int]) -> None:
    for at, value in levels:
        made.add("os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name=name, value=value)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    world = World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])
    end = world.end_ms
    read(world, "host", "refaulted_file_pages_count", (-100, 50), (0, 100), (end, 1100))
    read(world, "host", "scanned_kswapd_pages_count", (0, 0), (end, 2000))
    read(world, "kernel/kswapd", "cpu_ns", (0, 5), (end, 25))
    read(world, "host", "procs_blocked_count", (0, 1), (end // 2, 7), (end, 2))
    return world.write(tmp_path)


def test_series_are_what_they_grew_by_in_the_window_and_gauges_their_largest(root: Path) -> None:
    paths = [
        "series.host.refaulted_file_pages_count", "series.host.scanned_kswapd_pages_count",
        "series.kernel/kswapd.cpu_ns", "series.host.procs_blocked_count",
        "series.host.psi_memory_some_ns", "ledger.task/on_cpu", "ledger.task/waiting/reclame",
        "manifest.memory.swapped_ratio", "manifest.numa.bound_ratio",
    ]  # fmt: skip
    if not (root / "manifest.json").is_file():
        write_manifest(root, new_manifest(Trial(name="x"), this_host(with_card=False), [], []))
    manifest = read_manifest(root)
    manifest.memory = {"swapped_ratio": 0.125}
    write_manifest(root, manifest)
    found = read_trial(root, paths)
    values = found.measures
    assert values["series.host.scanned_kswapd_pages_count"] > 0
    ratio = (
        values["series.host.refaulted_file_pages_count"]
        / values["series.host.scanned_kswapd_pages_count"]
    )
    # Both grow evenly: whatever part of it the window is, the ratio is theirs.
    assert ratio == pytest.approx(0.5)
    assert 0 < values["series.kernel/kswapd.cpu_ns"] <= 20
    # The largest lies between two iterations, or in one: never below its neighbours.
    assert 2 < values["series.host.procs_blocked_count"] <= 7
    assert values["ledger.task/on_cpu"] > 0
    assert values["manifest.memory.swapped_ratio"] == 0.125
    assert found.missing["series.host.psi_memory_some_ns"] == (
        "the kernel shows no psi_memory_some_ns of host"
    )
    assert "no row task/waiting/reclame" in found.missing["ledger.task/waiting/reclame"]
    assert "manifest.numa.bound_ratio" in found.missing
    assert set(values) | set(found.missing) == set(paths)


def evidence(world: World, folder: Path, *rows: str) -> Measures:
    root = world.write(folder)
    if not (root / "manifest.json").is_file():
        write_manifest(root, new_manifest(Trial(name="x"), this_host(with_card=False), [], []))
    return read_trial(root, [f"ledger.task/waiting/{name}" for name in rows])


def test_a_wait_that_was_looked_for_and_not_seen_took_no_time(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])
    found = evidence(world, tmp_path, "block_io", "lock", "reclaim")
    assert found.measures["ledger.task/waiting/block_io"] > 0
    assert found.measures["ledger.task/waiting/lock"] == 0
    assert "do not show reclaim" in found.missing["ledger.task/waiting/reclaim"]


def test_a_wait_that_nobody_looked_for_is_unknown(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])
    world.rows["samples"] = [one for one in world.rows["samples"] if one["event"] != "wall"]
    found = evidence(world, tmp_path, "lock")
    assert not found.measures
    assert "was not observed" in found.missing["ledger.task/waiting/lock"]


def test_a_run_without_a_probe_says_so(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30], iteration=0), StageSpec([40, 40], iteration=1)])
    world.rows = {k: v for k, v in world.rows.items() if k != "os_series"}
    root = world.write(tmp_path)
    if not (root / "manifest.json").is_file():
        write_manifest(root, new_manifest(Trial(name="x"), this_host(with_card=False), [], []))
    found = read_trial(root, ["series.host.refaulted_file_pages_count"])
    assert not found.measures
    assert list(found.missing) == ["series.host.refaulted_file_pages_count"]


def test_a_trial_knows_what_its_run_wrote_and_which_levels_did_not_hold(tmp_path: Path) -> None:
    world = World([StageSpec([40, 30]), StageSpec([40])])
    for stage in (0, 1):
        world.add("jobs", app_index=0, job_id=stage, status="succeeded", stage_ids=[stage])
    written = [one for one in world.rows["tasks"] if one["stage_id"] == 0]
    for one in written:
        one |= {"output_records_count": 500, "output_bytes": 9000}
    # A copy of a task, and one that failed, write nothing that is kept.
    first = written[0]
    world.rows["tasks"] += [
        {**first, "task_attempt_id": 90, "speculative": True},
        {**first, "task_attempt_id": 91, "task_index": 7, "status": "failed"},
    ]
    root = world.write(tmp_path)
    manifest = new_manifest(Trial(name="x"), this_host(with_card=False), [], [])
    manifest.state, manifest.started_mono_ns, manifest.ended_mono_ns = "finished", 0, 10**9
    why = "jvm.gc=z, but the driver's collectors are G1."
    manifest.doubts = [doubt("treatment_not_applied", why)]
    write_manifest(root, manifest)
    facts = read_outcome(root).facts
    assert facts is not None
    wanted = {
        "jobs": 2, "stages": 2, "rows_read": 30_000, "bytes_read": 3_000_000, "rows_written": 1000,
        "bytes_written": 18_000,
    }  # fmt: skip
    assert facts.work.items() >= wanted.items()
    assert (facts.doubted, facts.unapplied) == (("treatment_not_applied",), (why,))
