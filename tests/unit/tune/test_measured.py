"""Metrics of a trial: what is not known is missing with a reason, never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.tuning import tuning

from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Ended
from pyrometer.simulation.analysis import Prices
from pyrometer.tune.engine import adviser_of
from pyrometer.tune.trials.measured import Reserved, check_measured, measured


def ended(*times: float) -> Ended:
    return Ended(
        trial=1, attempt=1, block=0, treatment="baseline", status="finished", folder="0001",
        seconds=sum(times) / len(times), iterations_s=list(times), wall_ns=1,
    )  # fmt: skip


def test_without_prices_nothing_is_known_of_the_cost(tmp_path: Path) -> None:
    found = measured(tmp_path, ended(2.0, 4.0), Reserved(4, 1e9), None)
    assert "cost" not in found.metrics
    assert "--price FILE" in found.missing["cost"]
    # Nor is of a run that cannot be read what its processes used.
    assert found.missing.keys() == {"cost", "core_seconds", "peak_memory", "executor_memory"}
    assert found.metrics["elapsed"] == 3.0


def test_the_cost_is_that_of_what_is_reserved_for_the_time_of_an_iteration(tmp_path: Path) -> None:
    found = measured(tmp_path, ended(1800.0), Reserved(4, 2e9), Prices(core_hour=0.1, gb_hour=0.01))
    assert found.metrics["cost"] == pytest.approx(0.5 * 4 * 0.1 + 0.5 * 2 * 0.01)


@pytest.mark.parametrize(
    ("keys", "message", "remedy"),
    [
        ({"objective": "core-seconds"}, "--objective core-seconds needs CPU time", "light"),
        ({"conditions": ["peak_memory < 3g"]}, "'peak_memory < 3g' needs highest res", "light"),
        ({"objective": "p95", "profile": "light"}, "a trial has one time", "--iterations 20"),
        ({"objective": "p95", "iterations": 5}, "a trial has 5 times", "--iterations 20"),
        (
            {"conditions": ["p95 < 3"], "command": ["x"]}, "'p95 < 3': a trial has one time",
            "leave it out: each trial is one iteration",
        ),
        (
            {"objective": "p95", "workload": "job.yaml"}, "a trial has one time",
            "--objective elapsed: each trial is one iteration",
        ),
    ],
)  # fmt: skip
def test_what_trials_would_not_show_is_refused_before_the_first(
    keys: dict[str, Any], message: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("{name: job, summary: s., command: [x]}")
    with pytest.raises(UsageError, match=message) as caught:
        check_measured(tuning(**keys))
    assert remedy in caught.value.remedy
    kept = {"iterations": 20, "profile": "light", "objective": "p95"}
    check_measured(tuning(**kept, conditions=["peak_memory < 3g", "elapsed < 30"]))


def test_the_margin_that_is_asked_for_is_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    monkeypatch.setattr(
        "pyrometer.tune.advise.engines.Own.__init__",
        lambda self, space, margin, **keys: seen.append(margin),
    )
    adviser_of(tuning(margin=0.07))
    assert seen == [0.07]
