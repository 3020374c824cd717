"""Every recorded log, and a whole run: no rule breaks, and no saving exceeds the elapsed time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import needs
from tests.support.eventlog.recorded import each_log

from pyrometer.explain.findings import explain
from pyrometer.explain.schema import Findings
from pyrometer.store import Run

MEASURED = Path(__file__).parents[3] / "examples" / "slow-job"


def judged(path: Path) -> Findings:
    with Run.open(path) as run:
        return explain(run)


def check(found: Findings) -> None:
    broken = [f"{one.code}: {one.missing}" for one in found.unjudged if "broke" in one.missing]
    assert not broken
    for one in found.findings:
        elapsed = one.saving.elapsed_ns
        assert (elapsed.high or 0) <= found.baseline.elapsed_ns
        assert one.mechanism.endswith(".")
        assert "nan" not in one.mechanism
        assert one.evidence
        assert one.remedies
    if found.joint_saving is not None:
        assert (found.joint_saving.elapsed_ns.high or 0) <= found.baseline.elapsed_ns
        added = sum(one.added_ratio for one in found.findings if one.shown)
        assert found.joint_ratio is not None
        assert added == pytest.approx(found.joint_ratio.value, abs=1e-6)


@pytest.mark.parametrize("log", each_log())
def test_a_log_of_somebody_else(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check(judged(log))


@pytest.mark.slow
def test_jobs_that_list_other_paths_each_are_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs about 2 % of the elapsed time, and all of them a tenth."""
    (log,) = needs.corpus().glob("eventlogs/*/gpu_oom_eventlog.zstd")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (one,) = [each for each in judged(log).findings if each.code == "driver.listing"]
    assert one.shown
    assert one.place.places_count > 5
    assert (one.saving_ratio.low or 0) > 0.08
    assert [each.text for each in one.remedies] == ["compact the files, or partition less finely"]


@pytest.mark.slow
def test_a_measured_run() -> None:
    found = judged(MEASURED)
    check(found)
    assert found.findings[0].code.startswith("python.")
    assert found.findings[0].place.operator == "BatchEvalPython"
