"""In a time namespace all times of the probe are of one clock, whoever reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.ipc
import pytest
from tests.support import needs

from pyrometer import _artifacts
from pyrometer.collect.probes.os import capabilities

AHEAD_S = 10_000

# Has a child recorded that runs and sleeps from then on; says between which times of its own clock.
WATCHED = '''
import json, subprocess, sys, time
begun = time.monotonic_ns()
work = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for _ in range(5):
    sum(range(10**6))
    time.sleep(0.05)
"""
child = subprocess.Popen([sys.executable, "-S", "-c", work, sys.argv[2] + "/probe-h.report.json"])
words = ["record", "--root-pid", str(child.pid), "--host", "h", "--hz", "50"]
subprocess.run([sys.argv[1], *words, "--raw-dir", sys.argv[2], "--tier", sys.argv[3]], check=True)
child.wait()
print(json.dumps([begun, time.monotonic_ns()]))
'''


@pytest.mark.parametrize(
    ("tier", "tables"),
    [("T1", {"series", "threads", "states"}), ("T0", {"series", "threads", "states", "off-cpu"})],
)
def test_every_reading_lies_within_its_namespace(
    tmp_path: Path, tier: str, tables: set[str]
) -> None:
    needs.root()
    found = {row.tier: row for row in capabilities() if row.name == "os"}
    if not found[tier].available:
        needs.tier(tier, found[tier].reason)
    apart = [needs.tool("unshare"), "--time", "--monotonic", str(AHEAD_S), "--fork"]
    words = [
        sys.executable,
        "-S",
        "-c",
        WATCHED,
        str(_artifacts.probe_binary()),
        str(tmp_path),
        tier,
    ]
    done = subprocess.run([*apart, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    begun, ended = json.loads(done.stdout)
    report = json.loads((tmp_path / "probe-h.report.json").read_text())
    assert report["tier"] == tier, report["tier_reason"]
    read = set()
    for file in tmp_path.glob("probe-h-*.arrows"):
        with pyarrow.ipc.open_stream(file) as stream:
            rows = stream.read_all()
        for column in (name for name in rows.column_names if name.endswith("_mono_ns")):
            times = [one for one in rows[column].to_pylist() if one is not None]
            assert all(begun <= one <= ended for one in times), (file.name, column)
            if times:
                read.add(file.name.removeprefix("probe-h-").removesuffix(".arrows"))
    assert tables <= read
