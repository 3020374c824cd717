"""Metrics of a trial: what is not known is missing with a reason, never 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.experiments.folder import Ended
from pyrometer.simulation.analysis import Prices
from pyrometer.tune.trials.measured import measured


def ended(*times: float) -> Ended:
    return Ended(
        trial=1, attempt=1, block=0, treatment="baseline", status="finished", folder="0001",
        seconds=sum(times) / len(times), iterations_s=list(times), wall_ns=1,
    )  # fmt: skip


def test_without_prices_nothing_is_known_of_the_cost(tmp_path: Path) -> None:
    found = measured(tmp_path, ended(2.0, 4.0), (4, 1e9), None)
    assert "cost" not in found.metrics
    assert "--price FILE" in found.missing["cost"]
    # Nor is of a run that cannot be read what its processes used.
    assert found.missing.keys() == {"cost", "core_seconds", "peak_memory"}
    assert found.metrics["elapsed"] == 3.0


def test_the_cost_is_that_of_what_is_reserved_for_the_time_of_an_iteration(tmp_path: Path) -> None:
    found = measured(tmp_path, ended(1800.0), (4, 2e9), Prices(core_hour=0.1, gb_hour=0.01))
    assert found.metrics["cost"] == pytest.approx(0.5 * 4 * 0.1 + 0.5 * 2 * 0.01)
