"""A curve of a real workload: its levels, and slots' time that is accounted for without a rest."""

from __future__ import annotations

import pytest
from tests.support.cli import pyrometer

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_slots_times_elapsed_is_what_the_ledger_holds(tmp_path):
    done = pyrometer(
        "scale", "parquet-scan", "--scale", "test", "--levels", "1,2", "--blocks", "1",
        "--iterations", "2", "--guard", "flag", "--predict", "4", "--json",
        "-o", tmp_path / "curve", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    report = done.json
    assert (report["done_count"], report["factor"]) == (2, "layout.tasks")
    for one in report["levels"]:
        slots = one["level"] * one["elapsed_s"]["value"]
        rows = sum(row["value"] for row in one["ledger_s"].values())
        assert rows == pytest.approx(slots, rel=0.02)
        measures = {name: its["value"] for name, its in one["measures"].items()}
        assert 0 < measures["cpu_time_s"] <= measures["process_cpu_s"]
        assert measures["cpu_time_s"] <= measures["run_time_s"] <= slots
        assert measures["read_bytes"] > 0
    laws = {one["name"]: one for one in report["fit"]["laws"]}
    assert set(laws) == {"amdahl", "gustafson", "usl", "ernest", "simulator"}
    assert laws["simulator"]["reason"] is None
    assert laws["simulator"]["predictions"][0]["value"]["value"] > 0
    again = pyrometer("scale", tmp_path / "curve", "--predict", "4", "--json", cwd=tmp_path)
    assert again.json == {**report, "folder": str(tmp_path / "curve")}
    assert (tmp_path / "curve" / "report.html").is_file()
