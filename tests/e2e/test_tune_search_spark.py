"""A table of trials of a real Spark workload, its search killed once, and engines on the table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.tune.made import read_header
from benchmarks.tune.race import replay
from benchmarks.tune.table import read_table

from pyrometer.experiments.journal import read_journal
from pyrometer.tune.trials.records import KINDS

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2400)]

ROOT = Path(__file__).parents[2]
SPACE = """\
name: two
knobs:
  spark.default.parallelism: {from: 1, to: 16}
  jvm.gc: [g1, parallel, serial]
"""
SEARCH = """\
import math
from pathlib import Path
from benchmarks.tune.jobs import Searched
from benchmarks.tune.search import Limits, carry_out
job = Searched("sort-text", "words sorted by an RDD", "test", space="space.yaml")
carry_out({"sort": job}, Path("tables"), Limits(4, math.inf), guard="flag", fill=5)
"""


def begun(folder: Path, said: Path) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with said.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-c", SEARCH], cwd=folder, env=environment, stdout=out, stderr=out
        )


def test_a_table_is_made_of_real_trials_whatever_kills_the_search(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(SPACE)
    said, root = tmp_path / "said.txt", tmp_path / "tables" / "sort"
    process = begun(tmp_path, said)
    # A busy machine takes its time; what ends the wait is the second trial, or the process.
    while process.poll() is None:
        entries = read_journal(root, KINDS)
        if entries.ended and entries.open:
            break
        time.sleep(0.2)
    assert process.poll() is None, said.read_text()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    first = read_journal(root, KINDS).ended[1]
    assert begun(tmp_path, said).wait() == 0, said.read_text()
    path = tmp_path / "tables" / "sort.csv"
    header = read_header(path)
    assert header is not None
    assert sum(header.trials.values()) == 4, said.read_text()
    assert header.versions["java"]
    assert header.machine["memory_bytes"]
    table = read_table(path, header.space.read())
    assert table.seen[0].configuration == {}
    assert first.seconds is not None
    assert table.seen[0].value == pytest.approx(first.seconds * 1e9)
    assert len({tuple(one.configuration.items()) for one in table.seen}) == 4
    # Of runs that finished only the manifest is kept; of the others (killed, or given up as slower
    # than the limit) all is.
    entries = read_journal(root, KINDS)
    read = [one for one in entries.ended.values() if one.status == "finished"]
    assert 1 in {one.trial for one in read}
    for one in [*read, *entries.disturbed]:
        assert [file.name for file in (root / "trials" / one.folder).iterdir()] == ["manifest.json"]
    course = replay(table, "random", 0, (3.0,))
    assert course.trials > 0
    assert course.spent <= 3.0
