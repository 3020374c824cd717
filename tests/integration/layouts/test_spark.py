"""Layouts of a real workload: each executor where the kernel was told to let it run."""

from __future__ import annotations

import os

import pytest
from tests.support import needs
from tests.support.cli import pyrometer

from pyrometer.trial.factors import parse_cpus

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def cpus_of(text: str) -> set[int]:
    """Read a list of the kernel's: one number is a CPU there, not a count."""
    return set(parse_cpus(f"{text},{text}"))  # type: ignore[arg-type]


def test_one_and_two_jvms_are_bound_to_cpus_of_their_own(tmp_path):
    needs.cpus(2)
    mine = sorted(os.sched_getaffinity(0))
    done = pyrometer(
        "layout", "parquet-scan", "--scale", "test", "--slots", str(len(mine)), "--jvms", "1,2",
        "--places", "2C", "--blocks", "1", "--iterations", "2", "--guard", "flag", "--json",
        "-o", tmp_path / "layouts", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    report = done.json
    assert report["done_count"] == 2
    found = {one["layout"]: one for one in report["layouts"]}
    one, two = (
        [cpus_of(its["cpus"]) for its in found[name]["trials"][0]["executors"]]
        for name in ("1×2", "2×1")
    )
    assert one == [set(mine[:2])]
    assert len(two) == 2
    assert not two[0] & two[1]
    assert two[0] | two[1] == set(mine[:2])
    pids = [its["pid"] for its in found["2×1"]["trials"][0]["executors"]]
    assert len(set(pids)) == 2
    for its in found.values():
        assert its["elapsed_s"]["value"] > 0
        assert {"gc_share", "lock_share", "spin_share"} <= its["measures"].keys()
        assert all(0 <= its["measures"][name]["value"] < 1
                   for name in ("gc_share", "lock_share", "spin_share"))  # fmt: skip
    assert found["2×1"]["throughput"]["value"] > 0
    again = pyrometer("layout", tmp_path / "layouts", "--json", cwd=tmp_path)
    assert again.json == {**report, "folder": str(tmp_path / "layouts")}
    assert (tmp_path / "layouts" / "report.html").is_file()
