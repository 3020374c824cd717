"""`pyrometer push` as users call it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.support.cli import environment, pyrometer, start
from tests.support.growing_run import CHUNK, chunk, growing_run
from tests.support.pyroscope import fake_pyroscope


@pytest.mark.slow
def test_push_and_its_failures(tmp_path: Path) -> None:
    run = growing_run(tmp_path / "run")
    run.executor(101)
    run.grow(101, chunk(0))
    token = tmp_path / "token"
    token.write_text("hush-hush")
    with fake_pyroscope() as fake:
        fake.always = 401
        denied = pyrometer("push", "run", "--to", fake.url, "--token-file", "token", cwd=tmp_path)
        assert denied.code == 3
        assert "HTTP 401" in denied.stderr
        assert f"pyrometer push run --to {fake.url}" in denied.stderr
        fake.always = 200
        env = environment(PYROMETER_PUSH_TENANT="t", PYROMETER_PUSH_LABELS="cluster=blue")
        done = pyrometer("push", "run", "--to", fake.url, "--json", cwd=tmp_path, env=env)
        assert done.code == 0, done.stderr
        assert done.json["schema"] == "pyrometer/push/1"
        assert done.json["profiles"]["taken"] == len(fake.taken) == 4
        assert fake.taken[0].labels["cluster"] == "blue"
        assert fake.taken[0].headers["X-Scope-OrgID"] == "t"
    texts = [path.read_text() for path in run.paths.push_accounts()]
    assert len(texts) == 2
    assert "hush" not in "".join(texts) + denied.stderr + denied.stdout
    nowhere = pyrometer("push", "nowhere", "--to", "http://localhost:1", cwd=tmp_path)
    assert nowhere.code == 2
    assert "is not a run directory" in nowhere.stderr


@pytest.mark.slow
def test_follow_ends_when_told_even_by_a_parent_that_holds_signals_back(tmp_path: Path) -> None:
    run = growing_run(tmp_path / "run")
    run.executor(os.getpid())
    run.grow(os.getpid(), chunk(0))
    with fake_pyroscope() as fake:
        # This process is the JVM: while it lives the run goes on.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        p = start("push", "run", "--to", fake.url, "--follow", "--every", "2s", cwd=tmp_path)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with p:
            until = time.monotonic() + 60
            while len(fake.taken) < 4 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(fake.taken) == 4
            assert p.poll() is None
            run.grow(os.getpid(), chunk(1) + CHUNK[:1000])
            p.send_signal(signal.SIGTERM)
            assert p.wait(60) == 0
        assert len(fake.taken) == 8
