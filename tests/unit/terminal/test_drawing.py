"""Pieces of terminal output."""

from __future__ import annotations

from pyrometer.terminal.drawing import interval


def test_plus_minus_reaches_the_further_end_of_an_uneven_interval() -> None:
    assert interval(9_000, 5_000, 10_000) == "9.00 µs [dim]± 4.00 µs[/]"
    assert interval(1_000, 500, 8_000) == "1.00 µs [dim]± 7.00 µs[/]"


def test_a_time_without_both_ends_stands_alone() -> None:
    assert interval(9_000, None, 10_000) == "9.00 µs"
    assert interval(None, 5_000, 10_000) == "–"
