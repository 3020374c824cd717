"""What of a block's value is a result, and when two results are the same."""

from __future__ import annotations

import datetime

import pytest

from pyrometer.workloads.results import result_rows, unlike


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (None, None),
        (0, [(0,)]),
        ("text", [("text",)]),
        ([], []),
        ([1, 2], [(1,), (2,)]),
        ([(1, "a"), (2, None)], [(1, "a"), (2, None)]),
        ([("a", [1, {"k": 2}])], [("a", [1, {"k": 2}])]),
        (datetime.date(2024, 1, 1), [(datetime.date(2024, 1, 1),)]),
        (datetime.timedelta(1), [(datetime.timedelta(1),)]),
        (bytearray(b"x"), [(bytearray(b"x"),)]),
        (object(), None),
        ([(1, object())], None),
        (iter([1]), None),
    ],
)
def test_rows_and_plain_values_are_results(value, rows):
    assert result_rows(value) == rows


@pytest.mark.parametrize(
    ("first", "rows", "said"),
    [
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], None),
        ([(0.1 + 0.2,)], [(0.3,)], None),
        ([(0.0,)], [(0.1 + 0.2 - 0.3,)], None),
        ([(1e-7,)], [(2e-7,)], "row 1, column 1: expected 1e-07, got 2e-07"),
        ([], [], None),
        ([(1,)], [(2,)], "row 1, column 1: expected 1, got 2"),
        ([(0.3,)], [(0.31,)], "row 1, column 1: expected 0.3, got 0.31"),
        ([], [(1,)], "number of rows: expected 0, got 1"),
        ([({"k": 0.3},)], [({"k": 0.1 + 0.2},)], None),
        ([({"k": 1},)], [({"k": 2},)], "row 1, column 1: expected {'k': 1}, got {'k': 2}"),
    ],
)
def test_results_are_the_same_in_any_order_and_nearly(first, rows, said):
    wrong = unlike(first, rows)
    assert (wrong and str(wrong)) == said
