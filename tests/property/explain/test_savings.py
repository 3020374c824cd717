"""Whatever is changed: a saving is at most the elapsed time, alone and together."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.simulation.simulated import Log, measured

from pyrometer.explain.change import (
    Apart,
    Change,
    Edit,
    Even,
    Less,
    LessGap,
    Recount,
    Slots,
    State,
)
from pyrometer.explain.divided import Divided
from pyrometer.explain.schema import Earlier
from pyrometer.explain.what_if import Extent, Part, WhatIf
from pyrometer.simulation.cluster import Shape
from pyrometer.simulation.scheduler import calibrate, schedules

EARLIER = st.none() | st.builds(Earlier, st.floats(0, 3), st.floats(-1, 3), st.booleans())
LENGTHS = st.lists(st.integers(1, 400), min_size=1, max_size=6)


def applications(stages: list[list[int]], cores: int, gap: int) -> WhatIf:
    """Stages one after another on one executor, in jobs of their own."""
    now = gap
    rows: list[tuple[int, int, list[int]]] = []
    for lengths in stages:
        slots = [now] * cores
        for length in lengths:
            at = min(range(cores), key=lambda n: slots[n])
            slots[at] += length
        rows.append((now, max(slots), lengths))
        now = max(slots) + gap
    log = Log(now)
    log.executor("1", cores)
    for number, (since, until, lengths) in enumerate(rows):
        log.job(number, since, until, [number])
        log.stage(number, since, until, [])
        free = [since] * cores
        for length in lengths:
            at = min(range(cores), key=lambda n: free[n])
            log.task(number, free[at], length)
            free[at] += length
    with tempfile.TemporaryDirectory() as folder:
        return WhatIf(calibrate(measured(log.write(Path(folder)))))


@st.composite
def changes(draw: st.DrawFn, stages: int) -> Change:
    def edits() -> Iterator[Edit]:
        for _ in range(draw(st.integers(1, 3))):
            stage = draw(st.integers(0, stages - 1))
            share = draw(st.floats(0, 2))
            yield draw(
                st.sampled_from(
                    [
                        Less(draw(st.sampled_from(["gc", "spill"])), {stage: share}),
                        Divided({stage: share / 2}),
                        Even([stage], conserved=draw(st.booleans())),
                        Even([stage], onto=draw(st.integers(1, 8))),
                        Apart(stage, draw(st.floats(0, 1e10))),
                        Recount({stage: draw(st.floats(0.01, 50))}, draw(st.floats(0, 1e9))),
                        LessGap({draw(st.integers(0, stages)): share * 1e9}),
                        Slots(draw(st.floats(0.5, 4))),
                    ]
                )
            )

    return tuple(edits())


@settings(max_examples=examples(20, 60))
@given(st.data(), st.lists(LENGTHS, min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 200))
def test_changes_together_never_save_more_than_the_elapsed_time(
    data: st.DataObject, stages: list[list[int]], cores: int, gap: int
) -> None:
    what_if = applications(stages, cores, gap)
    parts = []
    for _ in range(data.draw(st.integers(1, 4))):
        low, value, high = sorted(data.draw(st.floats(0, 1)) for _ in range(3))
        extent = Extent(value, low, high)
        parts.append(Part(data.draw(changes(len(stages))), extent, data.draw(EARLIER)))
    for some in ([one] for one in parts):
        check(what_if, some)
    check(what_if, parts)


def check(what_if: WhatIf, parts: list[Part]) -> None:
    elapsed, cores = what_if.saving(parts)
    for one in (elapsed, cores):
        assert one.low is not None
        assert one.value is not None
        assert one.high is not None
        assert one.low <= one.value <= one.high
        assert np.isfinite([one.low, one.value, one.high]).all()
    assert (elapsed.high or 0) <= what_if.measured_ns


TRIED = [[100, 100, 400], [200, 300, 200], [50, 60, 70]]
ASSUMED = Extent(1.0, 0.9, 1.0).times(0.5, 1.0)


def interval(*earlier: Earlier | None) -> tuple[float, float, float]:
    """Give the saving of changes of a stage each, whose remedies achieve half of it or more."""
    what_if = applications(TRIED, 2, 50)
    parts = [Part((Less("cpu", {n: 0.5}),), ASSUMED, one) for n, one in enumerate(earlier)]
    found = what_if.saving(parts)[0]
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.value, found.high


def test_trials_of_many_jobs_narrow_what_was_assumed_or_widen_it() -> None:
    low, value, high = interval(None)
    exact, off = interval(Earlier(0.0, 1.0, True)), interval(Earlier(0.6, 1.0, True))
    assert exact[1] == off[1] == value
    assert low < exact[0] < value < exact[2] < high
    assert off[0] < low
    assert high < off[2]
    # Of few jobs they only add to what is assumed.
    assert interval(Earlier(0.0, 1.0, False)) == (low, value, high)


def test_what_trials_saved_of_their_predictions_is_what_the_next_one_says() -> None:
    plain, half = interval(Earlier(0.0, 1.0, True)), interval(Earlier(0.0, 0.5, True))
    assert half == pytest.approx([one / 2 for one in plain])
    none, first = Earlier(0.0, 1.0, True), Earlier(0.0, 0.5, True)
    alone, both = interval(none)[1], interval(none, none)[1]
    assert interval(first, none)[1] == pytest.approx(0.5 * alone + (both - alone))


@settings(max_examples=examples(8, 20))
@given(st.data(), st.lists(LENGTHS, min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 200))
def test_a_change_of_which_nothing_comes_true_saves_nothing(
    data: st.DataObject, stages: list[list[int]], cores: int, gap: int
) -> None:
    what_if = applications(stages, cores, gap)
    assert what_if.saved_ratio([(data.draw(changes(len(stages))), 0.0)]) == 0


@settings(max_examples=examples(30, 100))
@given(st.data(), st.lists(LENGTHS, min_size=1, max_size=9), st.integers(1, 4), st.integers(0, 200))
def test_an_elapsed_time_is_that_of_the_whole_schedule_to_the_last_bit(
    data: st.DataObject, stages: list[list[int]], cores: int, gap: int
) -> None:
    what_if = applications(stages, cores, gap)
    asked = [(data.draw(changes(len(stages))), data.draw(st.floats(0, 1)))]
    assert what_if.elapsed(asked) == whole(what_if, what_if.state(asked))


def whole(what_if: WhatIf, state: State) -> float:
    """Schedule an edited plan from its beginning to its end."""
    calibrated = what_if.calibrated
    plan = replace(
        calibrated.plan,
        tasks=replace(calibrated.plan.tasks, duration_ns=state.duration_ns),
        delay_ns=state.gap_ns,
        locality_wait_ns=calibrated.plan.locality_wait_ns * state.locality_wait_ratio,
    )
    ratios = {n: float(ratio) for n, ratio in enumerate(state.tasks_ratio) if ratio != 1}
    cluster = calibrated.cluster(Shape(state.slots_ratio))
    return schedules(plan, [cluster], [{"tasks_ratios": ratios}])[0].elapsed_ns
