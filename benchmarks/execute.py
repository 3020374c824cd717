"""One run of one arm in a fresh process, measured from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from resource import struct_rusage

Metrics = dict[str, float | None]

_CALL = (
    "import importlib, json, sys\n"
    "module, _, name = sys.argv[1].partition(':')\n"
    "found = getattr(importlib.import_module(module), name)(*json.loads(sys.argv[2]))\n"
    "print(json.dumps(found if isinstance(found, dict) else {}))\n"
)


@dataclass(frozen=True)
class Finished:
    """A process that ended: what it printed and what the kernel charged for it.

    Attributes
    ----------
    wall_ns, cpu_ns : int
        Elapsed time, and CPU of the process and of those descendants that were waited for.
    peak_rss_bytes : int
        Largest resident size of any one of these processes.
    exit_code : int
        Negative: the signal that ended it.
    stdout, stderr_tail : str
        What it printed; of stderr the end.
    folder : Path
        Its own folder, removed afterwards.
    """

    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    exit_code: int
    stdout: str
    stderr_tail: str
    folder: Path


def last_line_json(finished: Finished) -> Metrics:
    """Numbers of the JSON object on the last line of stdout; none if there is none."""
    lines = finished.stdout.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int | float) and v is not True}


@dataclass(frozen=True)
class Arm:
    """Something to be measured.

    Parameters
    ----------
    name : str
        As printed.
    command : sequence of str
        Argument list; ``{folder}`` in it or in the environment is the run's own folder.
    environment : mapping
        Added to ours.
    metrics : callable
        Takes further numbers out of what ended, while its folder still exists.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    metrics: Callable[[Finished], Metrics] = last_line_json

    @classmethod
    def of_function(cls, name: str, function: Callable[..., object], *arguments: object) -> Arm:
        """Make an arm of a function of a module; a dictionary that it returns becomes metrics."""
        where = f"{function.__module__}:{function.__qualname__}"
        if "<" in where or function.__module__ == "__main__":
            raise ValueError(f"{where} cannot be imported by a fresh process")
        call = (sys.executable, "-c", _CALL, where, json.dumps(arguments))
        return cls(name, call, {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


def execute(arm: Arm, timeout_s: float | None = None) -> tuple[Finished, Metrics]:
    """Run an arm once; its folder is removed afterwards.

    Raises
    ------
    OSError
        If the command cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)

        def placed(values: Mapping[str, str]) -> dict[str, str]:
            return {key: value.replace("{folder}", name) for key, value in values.items()}

        command = [argument.replace("{folder}", name) for argument in arm.command]
        with (folder / ".stdout").open("w+b") as out, (folder / ".stderr").open("w+b") as err:
            start = time.perf_counter_ns()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **placed(arm.environment)},
                start_new_session=True,
            )
            try:
                status, usage = _wait(process, timeout_s)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            wall_ns = time.perf_counter_ns() - start
            out.seek(0)
            err.seek(max(0, err.seek(0, os.SEEK_END) - 4000))
            finished = Finished(
                wall_ns=wall_ns,
                cpu_ns=int((usage.ru_utime + usage.ru_stime) * 1e9),
                peak_rss_bytes=usage.ru_maxrss * 1024,
                exit_code=os.waitstatus_to_exitcode(status),
                stdout=out.read().decode("utf-8", "replace"),
                stderr_tail=err.read().decode("utf-8", "replace"),
                folder=folder,
            )
        return finished, arm.metrics(finished) if finished.exit_code == 0 else {}


def _wait(process: subprocess.Popen[bytes], timeout_s: float | None) -> tuple[int, struct_rusage]:
    """Wait for the process with its usage; past the time limit its whole session is killed."""
    limit = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        flags = 0 if limit is None else os.WNOHANG
        pid, status, usage = os.wait4(process.pid, flags)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return status, usage
        if limit is not None and time.monotonic() > limit:
            os.killpg(process.pid, signal.SIGKILL)
            limit = None
        else:
            time.sleep(0.01)
