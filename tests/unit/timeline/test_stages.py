"""The track of stages: bars that do not lie over one another, and bounds that are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.report_fixture import WALL0, S, write_tables

from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Tables
from pyrometer.timeline import timeline
from pyrometer.timeline.timeline import stage_tracks

AXIS = Axis(WALL0, WALL0 + 20 * S, {})
# Stage: attempt, submission and completion in seconds.
STAGES: list[tuple[int, int, float, float | None]] = [
    (0, 0, 1, 4), (1, 0, 2, 3), (2, 0, 3, 9), (3, 0, 4, 4), (1, 1, 4.5, 6), (4, 0, 9, None),
]  # fmt: skip


def made(folder: Path, stages: list[tuple[int, int, float, float | None]]) -> tuple[Any, Any]:
    write_tables(
        folder,
        {
            "stages": [
                {
                    "app_index": 0, "stage_id": stage, "stage_attempt": attempt,
                    "name": "n" * 500, "submit_wall_ns": int(WALL0 + begin * S),
                    "complete_wall_ns": None if end is None else int(WALL0 + end * S),
                }
                for stage, attempt, begin, end in stages
            ]
        },
    )  # fmt: skip
    added: dict[str, Any] = {}

    class Kept(Pack):
        def add(self, name: str, values: Any) -> str:
            added[name] = values
            return super().add(name, values)

    with Tables(folder) as tables:
        return stage_tracks(tables, AXIS, Kept()), added


def test_bars_of_a_lane_do_not_overlap(tmp_path: Path) -> None:
    (track,), columns = made(tmp_path, STAGES)
    assert [s["label"] for s in track["stages"]] == [
        "stage 0", "stage 1", "stage 2", "stage 3", "stage 1.1", "stage 4",
    ]  # fmt: skip
    assert columns["stages.lane"].tolist() == [0, 1, 1, 0, 0, 0]
    assert columns["stages.length"].tolist() == [3000, 1000, 6000, 0, 1500, 11000]
    ends = columns["stages.start"] + columns["stages.length"]
    for lane in range(track["lanes"]):
        mine = columns["stages.lane"] == lane
        assert (columns["stages.start"][mine][1:] >= ends[mine][:-1]).all()
    assert all(len(s["name"]) == timeline.MAX_NAME for s in track["stages"])
    assert track["note"] is None


def test_what_is_left_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_STAGES", 4)
    monkeypatch.setattr(timeline, "MAX_STAGE_LANES", 1)
    (track,), columns = made(tmp_path, STAGES)
    assert [s["stage_id"] for s in track["stages"]] == [0, 1, 4]
    assert columns["stages.lane"].tolist() == [0, 0, 0]
    assert track["note"] == "the longest 4 of 6 are drawn; 1 of 2 lanes are drawn"


def test_no_stage_no_track(tmp_path: Path) -> None:
    assert made(tmp_path, []) == ([], {})
