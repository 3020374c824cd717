"""Readings fall when they are due, not when a busy machine lets the reader have a CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support import needs

from pyrometer import _core
from pyrometer.collect.probes.base import read_object
from pyrometer.collect.probes.os import OsProbe
from pyrometer.store.paths import RunPaths

# Two processes that take turns, as a server and its client: the server mostly computes. A reader
# that gets a CPU when one of them goes to sleep finds the server asleep.
TURNS = """
import os, socket, time
try:
    os.nice(-20)
except OSError:
    pass
ours, theirs = socket.socketpair()
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
if os.fork() == 0:
    ours.close()
    while theirs.recv(1):
        burn(0.002)
        theirs.send(b"x")
    os._exit(0)
end = time.monotonic() + 4
while time.monotonic() < end:
    ours.send(b"x")
    ours.recv(1)
    burn(0.0005)
"""
_SEEN = """
SELECT (SELECT max(run_ns) - min(run_ns) FROM thread_counters WHERE tid = $1),
  (SELECT max(run_delay_ns) - min(run_delay_ns) FROM thread_counters WHERE tid = $1),
  (SELECT max(t_mono_ns) - min(t_mono_ns) FROM thread_counters WHERE tid = $1),
  (SELECT sum(weight_ns) FROM thread_states WHERE tid = $1 AND state = 'sleeping')
"""


@pytest.mark.slow
def test_a_server_is_seen_asleep_as_long_as_it_sleeps(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    paths.tables.mkdir()
    process = subprocess.Popen([sys.executable, "-S", "-c", TURNS])
    probe = OsProbe(hz=100.0, host="here")
    probe.start(paths, process.pid)
    process.wait(timeout=60)
    probe.stop()
    report = read_object(paths.probe_reports()[0])
    assert report is not None
    assert report["urgency"] in {"real_time", "short_turns", "ordinary"}
    if report["urgency"] == "ordinary":
        needs.machine_lacks("a way to go first: CAP_SYS_NICE or Linux 6.12")
    streams = [str(path) for path in paths.probe_streams()]
    assert json.loads(_core.ingest_probe(streams, str(paths.tables)))["doubts"] == []
    (server,) = [p["pid"] for p in report["processes"] if p["pid"] != process.pid]
    with duckdb.connect() as connection:
        for table in ("thread_counters", "thread_states"):
            connection.execute(f"CREATE VIEW {table} AS FROM '{paths.tables}/{table}.parquet'")
        run, queued, span, asleep = connection.execute(_SEEN, [server]).fetchall()[0]
    assert run > 0
    # Of readings by chance 0.02; more by where the scheduler put the reader (0.05 in eight runs).
    assert asleep / span == pytest.approx(1 - (run + queued) / span, abs=0.2)
