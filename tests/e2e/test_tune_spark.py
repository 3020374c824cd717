"""A small tuning of a real Spark workload, killed once: trials, confirmation, page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from pyrometer.experiments.journal import read_journal
from pyrometer.store.manifest import read_manifest
from pyrometer.tune.believe.verdict import FEWEST, Outcome
from pyrometer.tune.trials.folder import TuningPaths
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import history_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2400)]

SPACE = """\
name: two
knobs:
  spark.sql.shuffle.partitions: {from: 1, to: 16}
  jvm.gc: [g1, parallel]
"""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "pyrometer", "tune", *words]


def begun(tmp_path: Path) -> list[str]:
    (tmp_path / "space.yaml").write_text(SPACE)
    return command(
        "sort-text", "--scale", "test", "--iterations", "1", "--warmup", "0", "--guard",
        "flag", "--space", "space.yaml", "--budget", "8", "-o", "t", "--json",
    )  # fmt: skip


def test_a_tuning_survives_a_kill_and_ends_with_a_confirmation(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    with said.open("w") as out:
        process = subprocess.Popen(begun(tmp_path), cwd=tmp_path, stdout=out, stderr=out)
    paths = TuningPaths(tmp_path / "t")
    # A busy machine takes its time; what ends the wait is the second trial, or the process.
    while process.poll() is None:
        entries = read_journal(paths.root, KINDS)
        if entries.ended and entries.open:
            break
        time.sleep(0.2)
    assert process.poll() is None, said.read_text()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = history_of(read_journal(paths.root, KINDS))
    again = subprocess.run(
        command("resume", "t", "--json"), cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout.splitlines()[-1])
    assert found["state"] == "done"
    # The first trial is the one that had ended, and no number was given twice.
    assert found["trials"][0]["value"] == before.steps[0].told.value
    assert [one["trial"] for one in found["trials"]] == list(range(1, len(found["trials"]) + 1))
    for one in found["trials"]:
        manifest = read_manifest(tmp_path / one["folder"])
        assert manifest.treatment.keys() == one["configuration"].keys()
        # One that was given up was stopped by us, and nothing of it was measured to its end.
        if one["status"] == "gave up":
            assert one["configuration"]
            assert one["metrics"] == {}
            assert manifest.state == "interrupted"
            continue
        assert one["status"] == "finished", one["failed"]
        assert {"elapsed", "peak_memory", "core_seconds"} <= one["metrics"].keys(), one["missing"]
        assert manifest.state == "finished"
    if found["best"]["configuration"]:
        # What the search left of the budget, which depends on how long its trials took.
        pairs, outcome = found["confirmation"]["pairs"], found["confirmation"]["verdict"]["outcome"]
        assert 2 <= len(pairs) <= 3
        assert outcome in get_args(Outcome)
        if len(pairs) < FEWEST:
            assert outcome in ("cannot tell", "failed")
    assert (paths.root / "report.html").is_file()
