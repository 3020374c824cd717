"""What rules ask of a run of several applications: numbers of stages alone do not tell them."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import job
from tests.support.explain.summarised import summarised
from tests.support.tables import PID

from pyrometer.explain.facts import Facts


def test_samples_of_another_application_with_the_same_stages_are_not_its_own(
    tmp_path: Path,
) -> None:
    world = job()
    rows = world.rows
    rows["apps"].append({**rows["apps"][0], "app_index": 1, "app_id": "local-2"})
    rows["processes"].append({**rows["processes"][0], "pid": PID + 1, "app_id": "local-2"})
    own = [row for row in rows["samples"] if row["event"] == "cpu" and row["role"] == "task"]
    rows["samples"] += [{**row, "pid": PID + 1, "category": "hash"} for row in own]
    with summarised(tmp_path, world) as (scope, summary):
        found = Facts(scope, summary, app_index=0).samples_by_stage
    assert found[0]
    assert "hash" not in found[0]
