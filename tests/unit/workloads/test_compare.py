from __future__ import annotations

import itertools
import math
import random
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest
from pyspark.ml.linalg import Vectors

from pyrometer.workloads.results import checksum, differences, same_rows, unequal_rows
from pyrometer.workloads.values import PartResult


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ([], []),
        ([(1, "a"), (2, None)], [(2, None), (1, "a")]),
        ([(0.3,)], [(0.1 + 0.2,)]),
        ([(25.522,)], [(Decimal("25.522000"),)]),
        ([(Decimal("1.50"),)], [(Decimal("1.5"),)]),
        ([(3,)], [(Decimal(3),)]),
        ([(math.nan,)], [(math.nan,)]),
        ([(date(1995, 1, 2), "x")], [(date(1995, 1, 2), "x")]),
        ([("k", 1.0, 5.0), ("k", 1.0 + 1e-12, 4.0)], [("k", 1.0, 4.0), ("k", 1.0 + 1e-12, 5.0)]),
        ([([1, "a"],)], [((1, "a"),)]),
        ([({"a": [0.3], "b": 1},)], [({"b": 1, "a": [0.1 + 0.2]},)]),
        ([({"a": 0.3, "b": 5.0},)], [({"b": 5.0, "a": 0.1 + 0.2},)]),
        ([((1, 0.3),), ((2, 0.5),)], [((2, 0.5),), ((1, 0.1 + 0.2),)]),
        ([({1: "a"}, {"k": None})], [({1: "a"}, {"k": None})]),
        ([(bytearray(b"x"),)], [(b"x",)]),
    ],
)
def test_equal_results(expected, got):
    assert differences(expected, got) is None
    assert same_rows(expected, got)


@pytest.mark.parametrize(
    ("expected", "got", "message"),
    [
        ([(1,)], [], "number of rows: expected 1, got 0"),
        ([(1, 2)], [(1,)], "number of columns in row 1: expected 2, got 1"),
        ([(1, "a"), (2, "b")], [(2, "c"), (1, "a")], "row 2, column 2: expected 'b', got 'c'"),
        ([("a", 1.0)], [("a", 1.001)], "row 1, column 2: expected 1.0, got 1.001"),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], "row 2, column 1: expected 1, got 2"),
        ([(None,)], [(0.0,)], "row 1, column 1: expected None, got 0.0"),
        ([(True,)], [(1,)], "row 1, column 1: expected True, got 1"),
        ([(date(2000, 1, 1),)], [(datetime(2000, 1, 1),)],
         "row 1, column 1: expected 2000-01-01, got 2000-01-01 00:00:00"),
        ([(Decimal("10000000000000000.01"),)], [(Decimal("10000000000000000.02"),)],
         "row 1, column 1: expected 10000000000000000.01, got 10000000000000000.02"),
        ([({"a": 1},)], [({"a": 2},)], "row 1, column 1: expected {'a': 1}, got {'a': 2}"),
        ([([0.3],)], [([0.31],)], "row 1, column 1: expected [0.3], got [0.31]"),
        ([((10**10, 0.5),)], [((10**10 + 1, 0.5),)],
         "row 1, column 1: expected (10000000000, 0.5), got (10000000001, 0.5)"),
    ],
)  # fmt: skip
def test_differences_say_where(expected, got, message):
    assert str(differences(expected, got)) == message
    assert not same_rows(expected, got)


MANY = 50_000


@pytest.fixture
def counted(monkeypatch):
    """Fail at more than ten comparisons of numbers a row."""
    compared, isclose = itertools.count(), math.isclose

    def few(a, b, **room):
        assert next(compared) < 10 * MANY
        return isclose(a, b, **room)

    monkeypatch.setattr(math, "isclose", few)


@pytest.mark.usefixtures("counted")
def test_many_rows_of_numbers_are_not_compared_each_with_each():
    drawn = random.Random(1)
    first, other = ([(drawn.random(),) for _ in range(MANY)] for _ in range(2))
    assert differences(first, other) is not None


@pytest.mark.usefixtures("counted")
def test_many_rows_that_differ_by_a_later_number_are_not_compared_each_with_each():
    drawn = random.Random(2)
    values = [drawn.random() for _ in range(MANY)]
    first, other = ([(0.3 + drawn.random() * 1e-12, x) for x in values] for _ in range(2))
    drawn.shuffle(other)
    assert differences(first, other) is None


@pytest.mark.usefixtures("counted")
def test_a_verdict_on_many_rows_ends_at_the_first_without_an_equal():
    drawn = random.Random(3)
    first, other = (
        [(drawn.randrange(9) / 8, drawn.randrange(9) / 8) for _ in range(MANY)] for _ in range(2)
    )
    assert not same_rows(first, other)


class Point:
    """A value of a user's type, which is not written in a form of its own."""

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize(
    ("make", "one", "another"),
    [
        (lambda n: timedelta(microseconds=n), 1, 2),
        (lambda n: time(1, 2, n), 3, 4),
        (Point, 0.5, 0.25),
        (lambda x: {"at": Point(x)}, 0.5, 0.25),
        (lambda x: Vectors.dense(x, 2.0), 1.00001, 1.00002),
        (lambda x: Vectors.sparse(9, {1: x}), 1.00001, 1.00002),
    ],
)
def test_whatever_spark_collects_has_a_checksum_and_is_compared(make, one, another):
    assert checksum([(make(one),)]) == checksum([(make(one),)])
    assert checksum([(make(one),)]) != checksum([(make(another),)])
    assert differences([(make(one),)], [(make(one),)]) is None
    assert differences([(make(one),)], [(make(another),)]) is not None


def test_order_matters_where_asked():
    rows, turned = [(1,), (2,)], [(2,), (1,)]
    assert differences(rows, turned, ordered=False) is None
    assert str(differences(rows, turned, ordered=True)) == "row 1, column 1: expected 1, got 2"


def test_tolerance_is_the_callers():
    assert differences([(100.0,)], [(101.0,)], relative=0.02) is None
    assert differences([(100.0,)], [(101.0,)], relative=0.002) is not None
    assert differences([(0.0,)], [(0.5,)], absolute=1.0) is None


def test_a_part_is_recorded_without_its_answer():
    part = PartResult("q05", 1, "00", 3, 4, answer=[(1,)])
    assert part.record() == {
        "name": "q05", "rows": 1, "checksum": "00", "started_mono_ns": 3, "ended_mono_ns": 4,
        "error": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ([(1.0, 2), (3.0,)], None),
        ([(1.0, 2), (3.0 + 1e-9,)], None),
        ([(1.0, 2), (3.1,)], "cost, column 1: expected 3.0, got 3.1"),
        ([(1.0, 3), (3.1,)], "centre, column 2: expected 2, got 3"),
        ([(1.0,), (3.0,)], "number of columns in centre: expected 2, got 1"),
        ([(1.0, 2)], "number of rows: expected 2, got 1"),
        ([(1.0, 2), (3.0,), (4.0,)], "number of rows: expected 2, got 3"),
        ([(1.0, 2), (float("nan"),)], "cost, column 1: expected 3.0, got nan"),
    ],
)
def test_rows_that_have_names_are_compared_under_them(got, said):
    wrong = unequal_rows({"centre": (1.0, 2), "cost": (3.0,)}, got, relative=1e-6)
    assert (wrong and str(wrong)) == said
