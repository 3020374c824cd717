from __future__ import annotations

import json
from pathlib import Path

from tests.support.explain.planted import beside, holds, job, judged, series
from tests.support.tables import MS, World, mono

from pyrometer.explain.catalogue.machine.contended_jvm_threads_from_host import RULE


def world(quota_ms: int, gc_ms: int) -> World:
    made = job()
    series(made, "cgroup", "cpu_quota_ns", quota_ms * MS, quota_ms * MS)
    series(made, "cgroup", "cpu_period_ns", 100 * MS, 100 * MS)
    for row in made.rows["tasks"]:
        row["jvm_gc_time_ns"] = gc_ms * MS
    return made


def test_threads_for_four_cpus_on_a_quota_of_one(tmp_path: Path) -> None:
    (found,) = judged(world(100, 500).write(tmp_path), RULE).findings
    # Pauses of 2 s: between none and three quarters of them.
    assert holds(found, 2 * 0.75 / 2)
    assert found.remedies[0].level == "-XX:ActiveProcessorCount=1"
    assert not found.shown  # nothing of it is certain


def test_the_quota_was_gone_before_the_stage_ran(tmp_path: Path) -> None:
    made = world(100, 500)
    for row in made.rows["os_series"]:
        if row["name"] == "cpu_quota_ns":
            row["t_mono_ns"] = min(row["t_mono_ns"], mono(10))
    assert judged(made.write(tmp_path), RULE).findings == []


def test_no_pauses_to_shorten(tmp_path: Path) -> None:
    assert judged(world(100, 0).write(tmp_path), RULE).findings == []


def test_a_jvm_of_another_application_counts_more_cpus(tmp_path: Path) -> None:
    made = beside(world(100, 500))
    made.rows["processes"][0]["facts"] = json.dumps({"cpus_count": 1})
    assert judged(made.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(world(400, 500).write(tmp_path), RULE).findings == []
