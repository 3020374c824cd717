"""Any number of a summary or manifest may be missing: the report is still made."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.report_fixture import manifest
from tests.support.summary_fixture import summary

from pyrometer.pages.page import render
from pyrometer.report.data import build

SUMMARY, MANIFEST = summary(), manifest()


def thinned(value: Any, rng: random.Random, share: float) -> Any:
    """The same structure with leaves set to null and keys or items left out, at random."""
    if isinstance(value, dict):
        return {k: thinned(v, rng, share) for k, v in value.items() if rng.random() >= share / 3}
    if isinstance(value, list):
        return [thinned(v, rng, share) for v in value if rng.random() >= share / 3]
    return None if rng.random() < share else value


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.floats(0, 1))
def test_holes_anywhere_leave_a_report(seed: int, share: float) -> None:
    rng = random.Random(seed)
    data = build(thinned(SUMMARY, rng, share), thinned(MANIFEST, rng, share), None)
    text = render(data)
    assert json.loads(json.dumps(data.content, allow_nan=False)) == data.content
    for figure in data.content["figures"]:
        assert (figure["value"] is None) == (figure["reason"] is not None)
    assert "The tables of this run cannot be read." in text
