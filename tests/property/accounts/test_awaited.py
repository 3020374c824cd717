"""Executors that were asked for and were not there: every missing slot counts once."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.accounts.ledger.cluster.awaited import (
    Awaited,
    Executors,
    Time,
    of_number,
    of_requests,
)

END = 60
TIME = st.integers(0, END)


@st.composite
def executors(draw: st.DrawFn) -> Executors:
    """Executors of two slots, in the order in which they registered."""
    rows: list[Any] = []
    for _ in range(draw(st.integers(1, 6))):
        requested, began, since, until = sorted(draw(st.tuples(TIME, TIME, TIME, TIME)))
        created, scheduled = sorted(draw(st.tuples(TIME, TIME)))
        known, asked, podded = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
        fate, error = draw(st.sampled_from(["stayed", "good", "lost"])), draw(st.integers(0, 5))
        pod = (created, scheduled, podded)
        rows.append((since, until, began, requested, known, asked, fate, error, pod))
    since, until, began, requested, known, asked, fate, error, pods = zip(
        *sorted(rows), strict=True
    )
    created, scheduled, podded = zip(*pods, strict=True)

    def whole(values: Any) -> Any:
        return np.array(values, np.int64)

    return Executors(
        slots=np.full(len(rows), 2),
        since=whole(since),
        until=whole(until),
        began=whole(began),
        error=whole(error),
        known=np.array(known),
        requested=whole(requested),
        asked=np.array(asked),
        created=whole(created),
        scheduled=whole(scheduled),
        podded=np.array(podded),
        decommissioned=np.array([one == "good" for one in fate]),
        lost=np.array([one == "lost" for one in fate]),
    )


def naive(made: Executors, wanted: int, t: int) -> Counter[str]:
    """Say of one instant what became of the executors that were missing."""
    there = sum(int(a) <= t < int(b) for a, b in zip(made.since, made.until, strict=True))
    found: Counter[str] = Counter()
    rest = max(0, wanted - there)
    for number in range(len(made)):
        if rest and made.since[number] > t:
            name = "unsplit"
            if made.known[number]:
                name = "starting" if made.began[number] <= t else "came_later"
            found[name] += 1
            rest -= 1
            if name == "came_later" and made.podded[number]:
                placed = made.scheduled[number] <= t
                pending = "scheduling" if made.created[number] <= t else "no_pod"
                found["image_and_container" if placed else pending] += 1
    for name in ("decommissioned", "lost"):
        many = min(rest, int((getattr(made, name) & (made.until <= t)).sum()))
        found[name] += many
        rest -= many
    found["never_came"] += rest
    return found


@given(executors(), st.integers(0, 5), TIME, TIME)
@settings(deadline=None)
def test_missing_slots_are_those_of_a_naive_count(
    made: Executors, wanted: int, one: int, other: int
) -> None:
    first, last = sorted((one, other))
    found = of_number(made, wanted, [(first, last)])
    expected: Counter[str] = Counter()
    for t in range(first, last):
        expected.update(naive(made, wanted, t))
    for name in (each.name for each in fields(Awaited)):
        time: Time = getattr(found, name)
        assert time.ns == 2 * expected[name], name
        assert 0 <= time.low_ns <= time.ns <= time.high_ns
    # What one may have more, the other has less.
    whole = found.came_later.ns + found.starting.ns
    assert found.came_later.high_ns <= whole
    assert found.starting.low_ns + found.came_later.high_ns <= whole


@given(executors(), TIME, TIME)
@settings(deadline=None)
def test_times_of_requests_add_up_to_the_time_from_each_to_its_registration(
    made: Executors, one: int, other: int
) -> None:
    first, last = sorted((one, other))
    found = of_requests(made, [(first, last)])
    whole = 0
    for number in range(len(made)):
        since = np.minimum(made.created, made.began) if made.podded[number] else made.began
        since = made.requested if made.asked[number] else since
        if made.asked[number] or made.known[number]:
            end = min(last, int(made.since[number]))
            whole += 2 * max(0, end - max(first, int(since[number])))
    assert found.came_later.ns + found.starting.ns + found.unsplit.ns == whole
    phases = found.no_pod.ns + found.scheduling.ns + found.image_and_container.ns
    assert phases <= found.came_later.ns
    if made.podded.all():
        assert phases == found.came_later.ns
