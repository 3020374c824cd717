"""How a run on a cluster of one's own is judged."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cluster import check, figures

HOST = {"host": "n1", "tier": "T2", "observed": True, "bound_ns": 90_000, "core": 0.01, "slot": 0.0}
WHOLE: dict[str, Any] = {
    "executors": {"ran": 2, "recorded": 2, "probed": 2},
    "tasks": {"count": 41, "succeeded": 40},
    "spans": {"count": 41, "cpu_ns": 1_004_000_000},
    "spark_task_ns": 1_000_000_000,
    "closure": {"core_view": 0.2, "slot_view": 0.2},
    "hosts": [HOST, {**HOST, "host": "n2", "core": -0.02}],
    "tiers": ["T2"],
    "samples": {"orphans": 0, "samples": 900},
    "agents": [{"host": "n1", "core_ratio": 0.004, "peak_bytes": 5 << 20}],
}
NAMES = [one.name for one in check.checks(WHOLE)]


def test_a_whole_account_holds_in_everything() -> None:
    found = check.checks(WHOLE)
    assert [one.holds for one in found] == [True] * len(found)
    assert found[3].found == "furthest from 0: -2.00 % (n2)"


@pytest.mark.parametrize(
    ("number", "path", "value", "holds"),
    [
        (0, ("executors", "probed"), 1, False),
        (0, ("executors", "ran"), 0, None),
        (1, ("spans", "count"), 39, False),
        (2, ("spans", "cpu_ns"), 1_011_000_000, False),
        (2, ("spark_task_ns",), None, None),
        (3, ("hosts", 1, "core"), -0.06, False),
        (3, ("hosts", 1, "core"), None, None),
        (4, ("hosts", 0, "slot"), 0.051, False),
        (5, ("hosts", 0, "observed"), False, False),
        (6, ("hosts", 0, "bound_ns"), None, False),
        (7, ("samples", "orphans"), 1, False),
        (7, ("samples",), {"orphans": 0, "samples": 0}, None),
        (8, ("agents", 0, "core_ratio"), 0.02, False),
        (8, ("agents", 0, "core_ratio"), None, None),
        (8, ("agents", 0, "peak_bytes"), 51 << 20, False),
        (8, ("agents",), [], None),
    ],
)
def test_what_is_missing_is_named_and_the_rest_holds(
    number: int, path: tuple[str | int, ...], value: Any, holds: bool | None
) -> None:
    run = copy.deepcopy(WHOLE)
    place: Any = run
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found = check.checks(run)
    assert found[number].holds is holds
    assert all(one.holds for one in found if one.name != NAMES[number])


def test_a_host_that_is_open_counts_although_another_is_not_known() -> None:
    run = copy.deepcopy(WHOLE)
    run["hosts"][0]["core"], run["hosts"][1]["core"] = None, 0.3
    found = check.checks(run)[3]
    assert (found.holds, found.found) == (False, "furthest from 0: 30.00 % (n2); not known: n1")


def test_runs_are_judged_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {**WHOLE, "executors": {"ran": 2, "recorded": 1, "probed": 1}}
    monkeypatch.setattr(figures, "of_run", lambda run: lost if run == Path("b") else WHOLE)
    assert check.main(["a"]) == 0
    assert check.main(["a", "b"]) == 1
    said = capsys.readouterr().out
    assert "  no  every executor was recorded: 1 recorded, 1 seen by a probe, of 2\n" in said
    assert check.main(["--json", "b"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["checks"][0]["holds"] is False


def test_what_is_no_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_a_run_that_takes_too_long_to_read_is_said_and_the_others_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "READ_S", 0.01)
    assert check.main([str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" from ")[0] for line in told] == [
        f"error: {tmp_path / name}: no answer in 10.0 ms" for name in "ab"
    ]
