"""Whatever two stages are, the causes of their change add up to it, and are minus those back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.compare.makespan import Tasks, last_chain, length
from pyrometer.compare.stage_change import Held, stage_change

COLUMNS = ("cpu", "gc", "task")
PER_TASK = np.array([False, False, True])
SECONDS = st.one_of(st.just(0.0), st.floats(1e-4, 1e4))


@st.composite
def tasks(draw: Any) -> Tasks | None:
    count = draw(st.integers(0, 12))
    if not count:
        return None
    rows = [[draw(SECONDS) for _ in COLUMNS] for _ in range(count)]
    volume = [draw(st.one_of(st.just(0.0), st.floats(1, 1e9))) for _ in range(count)]
    return Tasks(np.array(rows), PER_TASK, np.array(volume))


@st.composite
def held(draw: Any) -> Held:
    shares = {0: {"Filter": 0.25, draw(st.sampled_from(("Sort", "Scan"))): 0.75}}
    return Held(
        waits=draw(st.dictionaries(st.sampled_from(("finishing", "waiting")), SECONDS)),
        net=draw(SECONDS),
        others=draw(st.floats(0, 1)),
        tasks=draw(tasks()),
        slots=draw(st.integers(1, 9)),
        shares=draw(st.sampled_from(({}, shares))),
    )


@given(held(), held())
def test_causes_add_up_and_turn_round(a: Held, b: Held) -> None:
    there, back = stage_change(a, b, COLUMNS), stage_change(b, a, COLUMNS)
    size = 1 + a.total + b.total
    assert sum(there.values()) == pytest.approx(b.total - a.total, abs=1e-7 * size)
    for cause in there.keys() | back.keys():
        assert there.get(cause, 0.0) == pytest.approx(-back.get(cause, 0.0), abs=1e-7 * size * 100)


@given(held())
def test_nothing_changes_from_a_stage_to_itself(a: Held) -> None:
    assert all(
        abs(seconds) < 1e-9 * (1 + a.total) for seconds in stage_change(a, a, COLUMNS).values()
    )


@given(tasks().filter(lambda one: one is not None), st.integers(1, 9))
def test_the_length_is_what_its_last_slot_ran_and_no_slot_ran_longer(one: Any, slots: int) -> None:
    durations = one.parts.sum(axis=1)
    chain = last_chain(durations, slots)
    found = length(one, slots)
    assert found.total == pytest.approx(durations[chain].sum())
    assert found.total >= max(durations.max(), durations.sum() / slots) * (1 - 1e-9)
    assert found.total <= durations.sum() * (1 + 1e-9)


@given(tasks().filter(lambda one: one is not None), st.integers(1, 40))
def test_another_number_of_tasks_has_the_same_work(one: Any, count: int) -> None:
    split = one.split(count)
    assert split.count == count
    assert split.parts[:, ~PER_TASK].sum(axis=0) == pytest.approx(
        one.parts[:, ~PER_TASK].sum(axis=0)
    )
    assert split.volume.sum() == pytest.approx(one.volume.sum())
