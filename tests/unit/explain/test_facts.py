"""What rules ask of a run of several applications: numbers of stages alone do not tell them."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import beside, job
from tests.support.explain.summarised import summarised

from pyrometer.explain.facts import Facts


def test_samples_of_another_application_with_the_same_stages_are_not_its_own(
    tmp_path: Path,
) -> None:
    world = job()
    rows = world.rows
    own = [row for row in rows["samples"] if row["event"] == "cpu" and row["role"] == "task"]
    rows["samples"] += [{**row, "category": "hash"} for row in own]
    beside(world, "samples", category="hash")
    with summarised(tmp_path, world) as (scope, summary):
        found = Facts(scope, summary, app_index=0).samples_by_stage
    assert found[0]
    assert "hash" not in found[0]
