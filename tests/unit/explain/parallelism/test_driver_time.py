from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from pyrometer.explain.evidence.driver_time import nodes_of
from pyrometer.explain.facts import Facts

Spans = list[tuple[float, float]]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(15.0, 25.0), (55.0, 57.0)], {0: 10.0, 2: 2.0}),
        ([(15.0, 25.0), (20.0, 40.0)], {0: 15.0, 1: 5.0}),
        ([(10.0, 60.0), (12.0, 14.0)], {0: 20.0, 1: 10.0, 2: 10.0}),
        ([(15.0, 25.0), (15.0, 25.0)], {0: 10.0}),
    ],
    ids=["apart", "overlapping", "inside", "twice"],
)
def test_time_that_several_spans_hold_counts_once(spans: Spans, expected: dict[int, float]) -> None:
    begins, ends = np.array([10.0, 35.0, 50.0]), np.array([30.0, 45.0, 60.0])
    facts = SimpleNamespace(what_if=object(), gaps=([0, 1, 2], begins, ends))
    assert nodes_of(cast(Facts, facts), spans) == expected
