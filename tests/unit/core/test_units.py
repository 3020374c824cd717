"""Numbers are written as on the page: both are held to one file of examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrometer.core import units

FIXTURE = Path(__file__).parents[2] / "fixtures" / "units.json"
CASES = json.loads(FIXTURE.read_text(encoding="utf-8"))
WRITERS = {
    "duration": units.duration,
    "size": units.size,
    "rate": units.rate,
    "count": units.count,
    "percent": units.percent,
    "signed_percent": lambda ratio: units.percent(ratio, signed=True),
    "digits": units.digits,
}


def test_every_kind_has_examples() -> None:
    assert set(CASES) == set(WRITERS)


@pytest.mark.parametrize(("kind", "value", "text"), [(k, *one) for k in CASES for one in CASES[k]])
def test_numbers_are_written_as_the_examples_say(kind: str, value: float, text: str) -> None:
    assert WRITERS[kind](value) == text


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "count"])
def test_what_is_no_number_is_missing(kind: str) -> None:
    assert [WRITERS[kind](value) for value in (float("inf"), float("nan"))] == [units.MISSING] * 2
