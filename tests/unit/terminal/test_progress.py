"""How a run is said to go on where stderr is no terminal."""

from __future__ import annotations

import re

import pytest

from pyrometer.terminal import console
from pyrometer.terminal.console import Progress
from pyrometer.trial.trial import Trial


@pytest.fixture(autouse=True)
def fresh_console() -> None:
    console.err.cache_clear()


def steps(text: str) -> list[str]:
    for line in text.splitlines():
        assert re.fullmatch(r"\[ *\d+ s\] [^\x1b]+", line), line
    return [line.partition("] ")[2] for line in text.splitlines()]


def test_every_step_of_a_workload_is_one_plain_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(Trial(name="parquet-scan")) as progress:
        progress.phase("prepare")
        for done in range(100):
            progress.progress("web_sales", done, 100)
        progress.running(0, 3, warmup=True)
        progress.running(0, 3, warmup=True)
        monkeypatch.setattr(console, "PLAIN_EVERY_S", 0.0)
        progress.running(0, 3, warmup=True)
        progress.phase("report")
    warm_up = "running parquet-scan: iteration 0 (warm-up)"
    expected = ["getting ready", "web_sales: 0 %", warm_up, warm_up, "writing the report"]
    assert steps(capfd.readouterr().err) == expected


def test_beside_a_command_of_the_users_nothing_is_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Progress(Trial(name=None, command=("true",))) as progress:
        progress.phase("prepare")
        progress.phase("run")
    assert capfd.readouterr().err == ""
