"""What the benchmark of switched instruments says of blocks that are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.toggled.__main__ import comparisons, table
from benchmarks.toggled.app import TREATMENTS


def blocks(slower: float, count: int, noise: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)

    def block() -> dict[str, Any]:
        # What the machine does in a block meets all treatments.
        speed = math.exp(rng.normal(0, 0.3))
        factors = {"off": 1.0, "light": 1.0, "full": slower}
        arms = {
            arm: {
                value: [speed * factor * math.exp(rng.normal(0, noise)) * 1e8 for _ in range(4)]
                for value in ("wall_ns", "jvm_cpu_ns")
            }
            for arm, factor in factors.items()
        }
        return {"workload": "scan", "arms": arms}

    return [block() for _ in range(count)]


def test_a_slow_down_is_found_and_what_costs_nothing_is_below_two_per_cent() -> None:
    rows = comparisons(blocks(1.05, 60, 0.03))
    found = {(row["treatment"], row["value"]): row["ratio"] for row in rows}
    full, light = found["full", "wall_ns"], found["light", "wall_ns"]
    assert 1.03 < full["low"] < 1.05 < full["high"] < 1.07
    assert light["low"] < 1 < light["high"] < 1.02
    text = table(rows).splitlines()
    assert [line.split()[1] for line in text[1:]] == ["light", "light", "full", "full"]
    assert text[1].endswith("below 2 %")
    assert text[3].endswith("above 2 %")


def test_too_few_blocks_say_how_many_it_would_take() -> None:
    line = table(comparisons(blocks(1.0, 12, 0.15))).splitlines()[1]
    assert "blocks for ±2 %" in line
    assert int(line.rpartition(" ")[2]) > 12


@pytest.mark.parametrize("treatment", ["light", "full"])
def test_profiles_are_made_of_instruments_that_can_be_taken_alone(treatment: str) -> None:
    assert set(TREATMENTS[treatment]) <= set(TREATMENTS)
