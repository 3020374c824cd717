"""The benchmark of the viewer: its stacks, and its figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.random_stacks import KINDS, NAMES, frames_of, write_run
from benchmarks.viewer import figures

from pyrometer.flame.page import write_flame


@pytest.mark.parametrize("kind", KINDS)
def test_stacks_are_distinct_and_the_same_for_the_same_seed(kind):
    found = frames_of(kind, 2_000, 12, seed=3)
    assert found.shape == (2_000, 12)
    assert np.unique(found, axis=0).shape == found.shape
    assert (found == frames_of(kind, 2_000, 12, seed=3)).all()
    assert 0 <= found.min() <= found.max() < NAMES


def test_every_stack_is_in_the_page(tmp_path):
    write_run(tmp_path / "run", "independent", 500, 9, seed=1)
    made = write_flame(tmp_path / "run", tmp_path / "page.html")
    assert (made.weight, made.samples_count, made.note) == (500 * 10_000_000, 500, None)
    assert (tmp_path / "page.html").stat().st_size == made.size_bytes


def test_figures_have_intervals_and_say_whether_the_goal_is_met():
    samples = [
        {"arm": "a", "block": block, "metrics": {"open_ms": value, "frame_p95_ms": 40.0}}
        for block, value in enumerate([1_000.0, 1_100.0, 900.0])
    ]
    lines = figures({"arms": [{"name": "a"}], "samples": samples})
    told = {line.split()[1]: line for line in lines[1:]}
    mean = math.prod([1_000.0, 1_100.0, 900.0]) ** (1 / 3)
    assert f"{mean:,.1f}" in told["open_ms"]
    assert told["open_ms"].endswith("< 2,000: met")
    assert told["frame_p95_ms"].endswith("< 33: MISSED")
    assert "-" in told["memory_bytes"]
