"""Processes beside the application: neighbours, and what becomes of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pyrometer.collect.host import neighbours
from pyrometer.collect.host.ballast import READY
from pyrometer.collect.host.memory import ballast_command
from pyrometer.collect.host.neighbours import Companions, Neighbour, ended_after
from pyrometer.collect.launch.cluster import Cluster, start
from pyrometer.collect.launch.treatment import apply_treatment
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.liveness import runs
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import resolve_layout

WAIT_S = 30.0


def until(ready: object, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not ready():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_levels_say_what_runs_and_where() -> None:
    cpu = min(os.sched_getaffinity(0))
    level = str(parse_treatment([f"co.run=memory:2+disk@{cpu}"])["co.run"])
    assert neighbours.neighbours(level) == (
        Neighbour("memory"), Neighbour("memory"), Neighbour("disk", frozenset({cpu})),
    )  # fmt: skip
    assert neighbours.neighbours("none") == ()
    for wrong in ("gpu", "cpu:0", "cpu@", "cpu+", ""):
        with pytest.raises(UsageError):
            parse_treatment([f"co.run={wrong}"])
    for cpus in ("4095", "3-1"):
        with pytest.raises(UsageError, match=f"CPUs {cpus} may not be used"):
            neighbours.neighbours(f"cpu@{cpus}")


@pytest.mark.parametrize("kind", ["cpu", "memory", "cache", "disk"])
def test_a_neighbour_tells_what_it_got_done(kind: str, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    wanted = neighbours.neighbours(f"{kind}@{cpu}")
    log = tmp_path / f"neighbour-0-{kind}.ndjson"
    with ended_after() as companions:
        neighbours.start(wanted, companions, tmp_path)
        until(lambda: log.read_text().count("\n") >= 1, "it does not begin")
        (pid,) = companions.pids
        assert os.sched_getaffinity(pid) == {cpu}
        assert companions.gone == []
    assert not runs(pid)
    (found,) = neighbours.done(wanted, tmp_path)
    assert (found["kind"], found["cpus"]) == (kind, [cpu])
    assert (found["per_s"] is None) == (found["reason"] is not None)
    log.write_text('{"mono_ns": 0, "work": 0}\n{"mono_ns": 2000000000, "work": 6}\n{"mono')
    assert neighbours.done(wanted, tmp_path)[0]["per_s"] == 3.0
    assert [path.name for path in tmp_path.iterdir()] == [log.name]


def test_companions_die_with_us(tmp_path: Path) -> None:
    says = (
        "import sys, time; from pathlib import Path;"
        "from pyrometer.collect.host.neighbours import Companions; c = Companions();"
        "c.start('x', ['sleep', '600'], Path(sys.argv[1]));"
        "print(c.pids[0], flush=True); time.sleep(600)"
    )
    us = subprocess.Popen(
        [sys.executable, "-c", says, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert us.stdout is not None
    pid = int(us.stdout.readline())
    # It binds itself to our life before it becomes the command.
    until(lambda: b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()[:6], "it does not begin")
    os.kill(us.pid, signal.SIGKILL)
    us.wait()
    us.stdout.close()
    until(lambda: not runs(pid), "it outlived us")


def test_one_that_ends_by_itself_is_named(tmp_path: Path) -> None:
    companions = Companions()
    companions.start("burner", ["false"], tmp_path / "log")
    until(lambda: companions.gone, "it does not end")
    assert companions.gone == ["burner ended with code 1"]
    companions.stop()
    assert companions.pids == []


def test_a_cluster_that_does_not_start_says_what_it_wrote(tmp_path: Path) -> None:
    script = tmp_path / "spark-class"
    script.write_text("#!/bin/sh\necho no such host >&2; exit 3\n")
    script.chmod(0o755)
    cluster = Cluster(str(script), 2, 1, 512, 1, 2)
    with ended_after() as companions, pytest.raises(CapabilityError) as caught:
        start(cluster, companions, dict(os.environ), tmp_path / "cluster")
    assert "master.Master ended with code 3: no such host" in caught.value.message


def test_a_ballast_that_cannot_be_held_says_why(tmp_path: Path) -> None:
    log = tmp_path / "ballast.log"
    with ended_after() as companions, pytest.raises(CapabilityError) as caught:
        companions.hold("ballast", ballast_command(1 << 60), log, READY)
    assert re.fullmatch(
        r"ballast ended with code 1: OSError: .* at most [0-9]+ are free for it",
        caught.value.message,
    )


def test_the_master_is_asked_itself_whatever_proxy_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Master(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/json/"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"aliveworkers": 1}')

        def log_message(self, *_: object) -> None:
            pass

    script = tmp_path / "spark-class"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with HTTPServer(("127.0.0.1", 0), Master) as master, ended_after() as companions:
        Thread(target=master.serve_forever, args=(0.01,), daemon=True).start()
        cluster = Cluster(str(script), 1, 1, 512, 1, master.server_port)
        start(cluster, companions, dict(os.environ), tmp_path / "cluster")
        assert len(companions.pids) == 2
        master.shutdown()


def test_what_a_standalone_cluster_needs_is_asked_for() -> None:
    with pytest.raises(UsageError, match="needs layout"):
        resolve_layout(parse_treatment(["layout.cluster=standalone"]))
    given = ["layout.cluster=standalone", "layout.executors=2", "layout.tasks=2"]
    treatment = parse_treatment(given)
    assert "spark.master" not in apply_treatment(treatment, resolve_layout(treatment), None).force
