"""Threads take turns where one needs more memory: neither loses what it was given."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from pyrometer.core.beside import Beside
from pyrometer.store.sql.turns import Turns

SOON_S = 0.2
LATE_S = 30.0


class Limits:
    """What was set, in order; it fails where ``fails`` says so."""

    def __init__(self) -> None:
        self.kept: list[str | None] = []
        self.fails = False

    def __call__(self, limit: str | None) -> bool:
        self.kept.append(limit)
        return not self.fails


@pytest.fixture
def limits() -> Limits:
    return Limits()


@pytest.fixture
def turns(limits: Limits) -> Turns:
    return Turns(limits)


def _beside(turns: Turns, begun: Event, end: Event) -> Callable[[], None]:
    def run() -> None:
        with turns.beside():
            begun.set()
            assert end.wait(LATE_S)

    return run


def _alone(turns: Turns, begun: Event, end: Event) -> Callable[[], None]:
    def run() -> None:
        with turns.alone() as limit:
            limit("more")
            begun.set()
            assert end.wait(LATE_S)

    return run


def test_queries_within_the_usual_limit_go_side_by_side(turns: Turns, limits: Limits) -> None:
    begun, end = Event(), Event()
    with Beside(_beside(turns, begun, end)) as other:
        assert begun.wait(LATE_S)
        with turns.beside():
            end.set()
        other.outcome()
    assert limits.kept == []


def test_one_that_needs_more_waits_until_others_have_ended(turns: Turns, limits: Limits) -> None:
    first, first_end, second, second_end = Event(), Event(), Event(), Event()
    second_end.set()
    with (
        Beside(_beside(turns, first, first_end)) as small,
        Beside(_alone(turns, second, second_end)) as large,
    ):
        try:
            assert first.wait(LATE_S)
            assert not second.wait(SOON_S)
            assert limits.kept == []
        finally:
            first_end.set()
        small.outcome()
        large.outcome()
    assert limits.kept == ["more"]


@pytest.mark.parametrize("kind", [_beside, _alone])
def test_none_begins_beside_one_that_has_more(
    kind: Callable[[Turns, Event, Event], Callable[[], None]], turns: Turns, limits: Limits
) -> None:
    first, first_end, second, second_end = Event(), Event(), Event(), Event()
    second_end.set()
    with (
        Beside(_alone(turns, first, first_end)) as large,
        Beside(lambda: first.wait(LATE_S) and kind(turns, second, second_end)()) as other,
    ):
        try:
            assert first.wait(LATE_S)
            assert not second.wait(SOON_S)
            assert limits.kept == ["more"]
        finally:
            first_end.set()
        large.outcome()
        other.outcome()


def test_the_next_query_takes_the_usual_limit_back_once(turns: Turns, limits: Limits) -> None:
    with turns.alone() as limit:
        limit("more")
    for _ in range(2):
        with turns.beside():
            pass
    assert limits.kept == ["more", None]


def test_it_is_tried_again_where_it_could_not_be_taken_back(turns: Turns, limits: Limits) -> None:
    with turns.alone() as limit:
        limit("more")
    limits.fails = True
    with turns.beside():
        pass
    limits.fails = False
    for _ in range(2):
        with turns.beside():
            pass
    assert limits.kept == ["more", None, None]


def test_a_query_that_fails_ends_its_turn(turns: Turns, limits: Limits) -> None:
    for turn in (turns.beside, turns.alone):
        with pytest.raises(ZeroDivisionError), turn():
            raise ZeroDivisionError
    with turns.alone() as limit:
        limit("more")
    assert limits.kept == ["more"]
