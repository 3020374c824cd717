"""Real experiments whose treatments share a launch: in turn in one JVM, side by side on halves."""

from __future__ import annotations

import json
import os

import pytest
from tests.support import cli, needs

from pyrometer.experiments.journal import read_journal

HEAD = """\
name: codecs
workload: parquet-scan
scale: test
set: {layout.tasks: 1}
blocks: 2
iterations: 3
warmup: 1
guard: {policy: flag}
timeout: 3m
seed: 4
"""
WITH_SQL = "matrix: {data.codec: [snappy, none], spark.sql.files.maxPartitionBytes: [1m, 64m]}\n"


@pytest.mark.spark
@pytest.mark.slow
def test_codecs_and_settings_take_turns_in_one_jvm(tmp_path):
    path, root = tmp_path / "turns.yaml", tmp_path / "out"
    path.write_text(HEAD + WITH_SQL + "design: {kind: toggle}\n")
    done = cli.pyrometer("experiment", "run", path, "-o", root, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    found = done.json
    assert found["estimand"].startswith("treatments took turns")
    assert [one["ends"] for one in found["treatments"]] == [{"finished": 2}] * 4
    assert 0 <= found["carry_over_p"] <= 1
    assert "results_differ" not in {one["code"] for one in found["doubts"]}
    ended = read_journal(root).ended.values()
    assert len({one.folder for one in ended}) == 2
    assert all(len(one.series_s) == 4 and len(one.iterations_s) == 3 for one in ended)
    assert all(one.canaries and one.canaries.alu_ns for one in ended)
    run = root / "trials" / next(iter(ended)).folder
    # What each iteration had is on record, and its own data and settings were used.
    results = json.loads((run / "manifest.json").read_text())["results"]
    assert {one["levels"]["data.codec"] for one in results} == {"snappy", "none"}
    shown = cli.pyrometer("show", run, "--json", cwd=tmp_path).json
    tasks = {}
    for stage in shown["stages"]:
        if stage["iteration"] is not None:
            whose = results[stage["iteration"]]["levels"]["spark.sql.files.maxPartitionBytes"]
            tasks[whose] = max(tasks.get(whose, 0), stage["tasks_count"])
    assert tasks["1m"] > tasks["64m"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=f"{needs.LACKS}two CPUs")
def test_two_run_side_by_side_with_their_iterations_in_step(tmp_path):
    path, root = tmp_path / "duet.yaml", tmp_path / "out"
    path.write_text(HEAD + "matrix: {data.codec: [snappy, none]}\ndesign: {kind: duet}\n")
    done = cli.pyrometer("experiment", "run", path, "-o", root, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert [one["ends"] for one in done.json["treatments"]] == [{"finished": 2}] * 2
    starts = {}
    for one in read_journal(root).ended.values():
        raw = root / "trials" / one.folder / "raw" / "iterations.ndjson"
        for line in map(json.loads, raw.read_text().splitlines()):
            if line["k"] == "start":
                starts.setdefault((one.block, line["iteration"]), []).append(line["mono_ns"])
    assert all(len(both) == 2 for both in starts.values())
    # In step: nobody waits for the clock, so both start within a fraction of an iteration.
    assert sum(abs(a - b) for a, b in starts.values()) / len(starts) < 0.2e9
