"""Waits for blocks on invented hosts: every instant of a wait counts once, as in a naive count."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.accounts.ledger.cluster.served import KINDS, NETWORK, UNSEEN, Stretches, served

END = 40
TIME = st.integers(0, END)


@st.composite
def stretches(draw: st.DrawFn, errors: bool = False) -> Stretches:
    """Some stretches of time at three places."""
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        since, until = sorted(draw(st.tuples(TIME, TIME)))
        error = draw(st.integers(0, 4)) if errors else 0
        kind, place = draw(st.integers(0, len(KINDS) - 1)), draw(st.integers(0, 2))
        rows.append((since, until, place, kind, error))
    return Stretches(*np.array(rows, np.int64).reshape(-1, 5).T)


def during(one: Stretches, t: int, place: int, widened: bool = False) -> list[int]:
    """Give the kinds of stretches at other places at an instant."""
    return [
        int(one.kind[i])
        for i in range(len(one))
        if one.place[i] != place
        and one.since[i] - widened * one.error[i] <= t < one.until[i] + widened * one.error[i]
    ]


def naive(waits: Stretches, work: Stretches, unseen: Stretches) -> tuple[Any, Any, int]:
    parts = dict.fromkeys((*KINDS, NETWORK, UNSEEN), 0.0)
    most = dict.fromkeys(KINDS, 0)
    quiet = 0
    for since, until, place in zip(waits.since, waits.until, waits.place, strict=True):
        for t in range(int(since), int(until)):
            if during(unseen, t, place):
                parts[UNSEEN] += 1
                continue
            now, maybe = during(work, t, place), set(during(work, t, place, widened=True))
            for kind in now:
                parts[KINDS[kind]] += 1 / len(now)
            parts[NETWORK] += not now
            quiet += not maybe
            for kind in maybe:
                most[KINDS[kind]] += 1
    return parts, most, quiet


@given(stretches(), stretches(errors=True), stretches())
@settings(deadline=None)
def test_parts_add_up_to_the_waits_and_are_those_of_a_naive_count(
    waits: Stretches, work: Stretches, unseen: Stretches
) -> None:
    found = served(waits, work, unseen)
    whole = int((waits.until - waits.since).sum())
    assert math.isclose(sum(found.parts.values()), whole, abs_tol=1e-6)
    parts, most, quiet = naive(waits, work, unseen)
    for name, value in parts.items():
        assert math.isclose(found.parts[name], value, abs_tol=1e-6), name
        assert found.parts[name] <= found.most[name] + 1e-6
    for name in KINDS:
        assert math.isclose(found.most[name], most[name], abs_tol=1e-6), name
    assert math.isclose(found.least_network, quiet, abs_tol=1e-6)
    assert found.least_network <= found.parts[NETWORK] + 1e-6


def many(n: int, places: int, seed: int, error: int = 0) -> Stretches:
    """Give stretches of 20 ms in a minute."""
    made = np.random.default_rng(seed)
    since = made.integers(0, 60 * 10**9, n)
    place, kind = made.integers(0, places, n), made.integers(0, len(KINDS), n)
    return Stretches(since, since + 20_000_000, place, kind, np.full(n, error))


def test_moments_of_waits_tell_what_all_of_them_would() -> None:
    waits, work, unseen = many(300, 5, 1), many(3000, 5, 2, 10**6), many(300, 5, 3)
    whole, some = served(waits, work, unseen, 10**9), served(waits, work, unseen, 20_000)
    total = sum(whole.parts.values())
    assert math.isclose(sum(some.parts.values()), total, rel_tol=1e-9)
    for name, value in whole.parts.items():
        assert abs(some.parts[name] - value) < 0.01 * total, name
        assert abs(some.most[name] - whole.most[name]) < 0.01 * total, name


def test_a_thousand_hosts_take_no_more_than_their_waits_and_states() -> None:
    waits, work, unseen = many(20_000, 1000, 1), many(80_000, 1000, 2, 10**6), many(0, 1, 3)
    tracemalloc.start()
    found = served(waits, work, unseen)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert math.isclose(sum(found.parts.values()), 20_000 * 20e6, rel_tol=1e-9)
    assert most < 32 << 20
