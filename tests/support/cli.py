"""Runs the command line: as users do, in a process of its own, or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyrometer.cli import main
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.terminal import console


@dataclass
class Done:
    """What a finished command line left."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The last line of stdout, as our convention has it."""
        value = json.loads(self.stdout.splitlines()[-1])
        assert isinstance(value, dict)
        return value


def environment(**more: str | None) -> dict[str, str]:
    """Our environment with some variables changed; ``None`` takes one away."""
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("PYROMETER_RUN_DIR", "SPARK_HOME", "SPARK_SUBMIT_OPTS"):
        env.pop(name, None)
    for name, value in more.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def command(*arguments: str | Path) -> list[str]:
    """The words that start the command line."""
    return [sys.executable, "-m", "pyrometer", *map(str, arguments)]


def start(*arguments: str | Path, cwd: Path, env: dict[str, str] | None = None, **more: Any) -> Any:
    """Start the command line and return its process."""
    return subprocess.Popen(
        command(*arguments), cwd=cwd, env=env or environment(), text=True, **more
    )


def pyrometer(
    *arguments: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    stdin: str = "",
    timeout: float = 900,
) -> Done:
    """Run the command line to its end."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=env or environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def inside(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Done:
    """Run the command line to its end in this process."""
    capsys.readouterr()
    code = main.run_verb([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return Done(code, said.out, said.err)


@contextmanager
def reader() -> Iterator[Callable[[], None]]:
    """Make standard output a pipe; gives what lets its reader go, which is to be called."""
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w", encoding="utf-8")
    # A console that nobody reads stays silent.
    console.out.cache_clear()
    try:
        # Here, as pytest sets it before each phase of a test.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", stream)
            yield partial(os.close, reading)
    finally:
        console.out.cache_clear()
        with suppress(BrokenPipeError):
            stream.close()


@contextmanager
def nobody_reads() -> Iterator[None]:
    """Make standard output a pipe whose reader has gone."""
    with reader() as leave:
        leave()
        yield


def codes(run_dir: Path) -> set[str]:
    """Codes of the doubts in a run's manifest, but for a tier that the kernel here refuses."""
    doubts = read_manifest(run_dir).doubts
    return {d.code for d in doubts if not d.message.startswith("Probe os: tier ")}


def opened(run_dir: Path) -> Manifest:
    """The manifest of a run that must open."""
    return read_manifest(run_dir)
