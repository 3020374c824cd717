"""What the run says of the OS probe, from the probe's own report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrometer.collect.probes.os import OsProbe
from pyrometer.store.paths import RunPaths


@pytest.mark.parametrize(
    ("urgency", "told"), [("ordinary", True), ("short_turns", False), ("real_time", False)]
)
def test_a_probe_that_has_to_wait_for_a_cpu_says_what_that_does(
    tmp_path: Path, urgency: str, told: bool
) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    report = {"state": "finished", "passes_count": 1, "rows_count": {}, "urgency": urgency}
    (paths.raw / "probe-here.report.json").write_text(json.dumps(report))
    reason = OsProbe(host="here").report(paths).reason or ""
    assert ("CAP_SYS_NICE" in reason and "asleep" in reason) == told
