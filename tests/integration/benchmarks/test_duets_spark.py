"""A duet on real Spark: a bare application beside a measured one, and two bare ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.duets.__main__ import main
from tests.support import needs

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]


def test_one_pair_of_the_smallest_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.cpus(2)
    output = tmp_path / "duets.json"
    words = ("--workload", "new plans", "--profile", "light", "--pairs", "1", "--seed", "1")
    assert main([*words, "--warmup", "1", "--iterations", "4", "-o", str(output)]) == 0
    found = json.loads(output.read_bytes())
    assert sorted(pair["kind"] for pair in found["pairs"]) == ["A/A", "light"]
    for pair in found["pairs"]:
        assert len(set(pair["cpus"])) == 2
        (a, a_end), (b, b_end) = (side["application_ns"] for side in pair["sides"].values())
        # At once: apart by less than a tenth of what they took.
        assert abs(a - b) < min(a_end - a, b_end - b) / 10
        for side in pair["sides"].values():
            began, ended = side["application_ns"]
            ran = side["iterations_ns"]
            assert len(ran) == 5
            assert began < ran[0][0] < ran[-1][1] < ended
        assert pair["ratios"]["application"] > 0
    (measured,) = [pair for pair in found["pairs"] if pair["kind"] == "light"]
    assert measured["tier"] is not None
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["new", "plans", "light", "iterations"],
        ["new", "plans", "light", "application"],
    ]
