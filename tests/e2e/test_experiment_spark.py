"""A real experiment: two codecs, two blocks, four launches of Spark."""

from __future__ import annotations

import pytest
from tests.support import cli

from pyrometer.experiments.journal import read_journal

FILE = """\
name: codecs
workload: parquet-scan
scale: test
matrix:
  data.codec: [snappy, none]
set: {layout.tasks: 2}
baseline: {data.codec: snappy}
blocks: 2
iterations: 2
warmup: 1
guard: {policy: flag}
timeout: 3m
seed: 4
"""


@pytest.mark.spark
@pytest.mark.slow
def test_an_experiment_with_spark(tmp_path):
    path, root = tmp_path / "codecs.yaml", tmp_path / "out"
    path.write_text(FILE)
    done = cli.pyrometer("experiment", "run", path, "-o", root, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    found = done.json
    assert [one["ends"] for one in found["treatments"]] == [{"finished": 2}, {"finished": 2}]
    codes = {one["code"] for one in found["doubts"]}
    # Both codecs hold the same rows and are read by the same plan.
    assert not codes & {"results_differ", "plan_changed", "trials_censored", "blocks_incomplete"}
    ended = read_journal(root).ended.values()
    assert all(len(one.iterations_s) == 2 and one.plan and one.checksum for one in ended)
    assert all(one.canaries and one.canaries.alu_ns and one.canaries.latency_ns for one in ended)
    pair = found["comparison"]["pairs"][0]
    assert (pair["a"], pair["b"]) == ("data.codec=snappy", "data.codec=none")
    assert pair["change"]["n"] == 2
    one = next(iter(ended))
    shown = cli.pyrometer("show", root / "trials" / one.folder, "--json", cwd=tmp_path)
    assert shown.code == 0, shown.stderr
    assert shown.json["run"]["treatment"]["data.codec"] in ("snappy", "none")
    again = cli.pyrometer("experiment", "plan", path, "--pilot", root, "--json", cwd=tmp_path)
    assert again.json["forecast"]["trial_s"]["n"] == 4
