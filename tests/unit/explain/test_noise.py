"""Times of tasks drawn again: those of each stage from its own, and of few tasks none."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.simulation.simulated import Log

from pyrometer.accounts.window import open_scope
from pyrometer.explain.change import State
from pyrometer.explain.facts import Facts
from pyrometer.explain.noise import ALONE, LEAST, REPLICATES, noise_of
from pyrometer.explain.schema import Noise
from pyrometer.explain.what_if import WhatIf
from pyrometer.simulation.measured import Floats
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

ALIKE = [1_000] * 12
FEW = [5_000, 6_000, 7_000]
MIXED = [2_000, 3_000] * 10
EMPTY: list[int] = []


def drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *stages: Sequence[int], elapsed: float = 0.0
) -> list[Floats]:
    """Give the times of all tasks of each schedule of the noise; schedules differ by `elapsed`."""
    log = Log(200_000)
    log.executor("1", 2)
    now = 0
    for number, lengths in enumerate(stages):
        log.job(number, now, now + 60_000, [number])
        log.stage(number, now, now + 60_000, [])
        for place, length in enumerate(lengths):
            log.task(number, now + place, length)
        now += 60_000
    seen: list[Floats] = []

    def of_states(_: WhatIf, states: Iterable[State]) -> list[float]:
        found = [state.duration_ns / 1e6 for state in states]
        seen.extend(found)
        return [1.0 + elapsed * number for number in range(len(found))]

    with Run.open(log.write(folder)) as run:
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope))
        assert facts.what_if is not None
        monkeypatch.setattr(WhatIf, "of_states", of_states)
        assert noise_of(facts).ratio >= ALONE
    return seen


def test_each_stage_is_drawn_from_its_own_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = drawn(tmp_path, monkeypatch, ALIKE, FEW, MIXED)
    assert len(every) == REPLICATES
    for times in every:
        assert times[:12].tolist() == ALIKE
        assert times[12:15].tolist() == FEW
        assert set(times[15:]) == {2_000.0, 3_000.0}
    assert len({tuple(times) for times in every}) == REPLICATES


def test_schedules_that_differ_much_are_drawn_by_the_spread_of_like_work_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = drawn(tmp_path, monkeypatch, ALIKE, FEW, MIXED, elapsed=1.0)
    assert len(every) == 2 * REPLICATES
    for times in every[REPLICATES:]:
        assert times[:12].tolist() == ALIKE
        assert times[12:15].tolist() == FEW
        assert not set(times[15:]) & {2_000.0, 3_000.0}
        # Each around what it was.
        assert np.median(times[15::2]) < np.median(times[16::2])


@pytest.mark.parametrize("stages", [[FEW], [FEW, FEW], [EMPTY, FEW]])
def test_of_few_tasks_none_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: list[list[int]]
) -> None:
    for times in drawn(tmp_path, monkeypatch, *stages):
        assert times.tolist() == [length for lengths in stages for length in lengths]


def test_a_stage_without_tasks_moves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for times in drawn(tmp_path, monkeypatch, EMPTY, ALIKE, EMPTY, MIXED):
        assert times[:12].tolist() == ALIKE
        assert set(times[12:]) <= {2_000.0, 3_000.0}


def repeated(
    folder: Path, rounds: Sequence[int], rest_ms: int = 0, rows: Sequence[int] = (1_000,)
) -> Noise:
    """Give the noise of a run whose stage, of two tasks, repeats; each time takes so long."""
    log = Log(sum(rounds) + rest_ms)
    log.executor("1", 2)
    now = rest_ms
    for number, length in enumerate(rounds):
        log.job(number, now, now + length, [number])
        log.stage(number, now, now + length, [])
        log.rows["stages"][-1]["name"] = "count at job.py:7"
        for _ in range(2):
            log.task(number, now, length, input_records_count=rows[number % len(rows)])
        now += length
    with Run.open(log.write(folder)) as run:
        scope = open_scope(run, None)
        return noise_of(Facts(scope, summarise(scope)))


def test_what_repeats_in_a_run_measures_its_noise(tmp_path: Path) -> None:
    draw = random.Random(1)
    for name, sd in (("quiet", 0.001), ("loud", 0.5)):
        rounds = [round(10_000 * math.exp(draw.gauss(0, sd))) for _ in range(40)]
        (tmp_path / name).mkdir()
        found = repeated(tmp_path / name, rounds)
        assert found.kind == "measured"
        assert found.method == "40 stages repeat others, 100 % of the time"
        # The time of all varies less than that of each: 1.96 sd / sqrt(40).
        assert found.ratio == pytest.approx(max(LEAST, 1.96 * sd / math.sqrt(40)), rel=0.4)


@pytest.mark.parametrize(
    ("rounds", "more", "why"),
    [
        ([10_000] * 3, {}, "only 3 stages repeat others"),
        ([10_000, 20_000] * 10, {"rows": range(10, 30)}, "nothing in this run repeats"),
        ([10_000] * 20, {"rest_ms": 600_000}, "only 20 stages repeat others, 25.0 % of the time"),
    ],
)
def test_where_too_little_repeats_the_noise_is_assumed(
    tmp_path: Path, rounds: list[int], more: dict[str, Any], why: str
) -> None:
    found = repeated(tmp_path, rounds, **more)
    assert (found.ratio, found.kind) == (ALONE, "assumed")
    assert found.method.startswith(why)
