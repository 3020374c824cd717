"""What the benchmark of switched instruments says of blocks that are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.toggled.__main__ import comparisons, main, sources, table, table_of_sources
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


def test_threads_that_use_more_are_named_with_how_much() -> None:
    def arm(listeners: float) -> dict[str, Any]:
        return {
            "wall_ns": [1e8] * 3,
            "jvm_cpu_ns": [2e8] * 3,
            "cpu_ns": {"task": 1.5e8, "listeners": listeners},
        }

    given = [
        {"workload": "shuffle", "arms": {"off": arm(1e6 + n), "light": {**arm(5e6 - n)}}}
        for n in range(12)
    ]
    rows = {(row["treatment"], row["role"]): row["of_cpu_ratio"] for row in sources(given)}
    assert rows["light", "task"]["value"] == 0
    found = rows["light", "listeners"]
    assert found["low"] < 0.02 == pytest.approx(found["value"], abs=1e-6)
    lines = table_of_sources(sources(given)).splitlines()
    assert len(lines) == 2
    assert lines[1].split()[:5] == ["shuffle", "light", "listeners", "12", "+2.00"]


def test_a_probe_that_only_a_treatment_has_is_all_more() -> None:
    alone = {"wall_ns": [1e8], "jvm_cpu_ns": [1e8], "cpu_ns": {"task": 1e8}}
    light = {**alone, "cpu_ns": {"task": 1e8, "probe": 3e6}}
    given = [{"workload": "scan", "arms": {"off": alone, "light": light}}] * 4
    rows = {row["role"]: row["of_cpu_ratio"]["value"] for row in sources(given)}
    assert rows == {"task": 0, "probe": pytest.approx(0.03)}


def test_a_size_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--size", "0"])
    assert ended.value.code == 2
    assert "--size is a whole number from 1 on, not 0" in capsys.readouterr().err
