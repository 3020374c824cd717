"""Several trials at the same time, each in a process of its own, on its CPUs if it has some.

``python -m MODULE PARENT`` runs one: the trial comes on stdin, its answer goes to standard output.
It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer.collect.host import bind
from pyrometer.guests import job
from pyrometer.trial.factors import parse_cpus
from pyrometer.trial.trial import Trial
from pyrometer.workloads.barrier import Barrier

BARRIER = ".barrier-"
"""Beginning of the folders, among run directories, in which trials wait for each other."""
LOOK_S = 0.1


@dataclass(frozen=True)
class Answer:
    """What the process of a trial left.

    Attributes
    ----------
    output : bytes
        What it wrote to standard output.
    complaint : str
        The last line that it wrote to standard error, else its exit code.
    """

    output: bytes
    complaint: str


def run_each(trials: Sequence[Trial], module: str) -> tuple[list[Answer], bool]:
    """Run trials that wait for each other, until all have ended.

    Their iterations are in step, or overlap (``Trial.overlap``). Whatever ends one, the others do
    not wait for it any more.

    Parameters
    ----------
    trials : sequence of Trial
        Their run directories lie in one folder.
    module : str
        Runs one of them.

    Returns
    -------
    (list of Answer, bool)
        Of each its answer; and whether we were asked to end, and passed it on.
    """
    folder = _barrier_folder(trials[0].run_dir)
    try:
        processes = [
            _start(replace(one, barrier=(str(folder), at, len(trials))), module, folder, at)
            for at, one in enumerate(trials)
        ]
        asked = _wait(processes, folder)
        return [_answer(one, folder, at) for at, one in enumerate(processes)], asked
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def given(parent: str) -> Trial:
    """Take the trial of this process, which ends with its parent and stays on the trial's CPUs."""
    bind.end_with(int(parent), signal.SIGTERM)
    (trial,) = job.read(sys.stdin.buffer.read())
    cpus = parse_cpus(str(trial.treatment["host.cpus"])) if "host.cpus" in trial.treatment else 0
    if isinstance(cpus, frozenset):
        # Pyrometer's processes stay on the trial's CPUs, too.
        os.sched_setaffinity(0, cpus)
    return trial


def _barrier_folder(run_dir: Path | None) -> Path:
    if run_dir is not None:
        run_dir.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=BARRIER, dir=run_dir and run_dir.parent.absolute()))


def _start(trial: Trial, module: str, folder: Path, position: int) -> subprocess.Popen[bytes]:
    # Without a name: its levels may be secrets.
    with (
        tempfile.TemporaryFile(dir=folder) as stdin,
        _output(folder, position).open("wb") as out,
        _error(folder, position).open("wb") as error,
    ):
        stdin.write(job.write([trial]))
        stdin.seek(0)
        # In a new session: Ctrl-C reaches this process, which passes it on, once.
        return subprocess.Popen(
            [sys.executable, "-m", module, str(os.getpid())],
            stdin=stdin,
            stdout=out,
            stderr=error,
            start_new_session=True,
        )


def _output(folder: Path, position: int) -> Path:
    return folder / f"answer-{position}.json"


def _error(folder: Path, position: int) -> Path:
    return folder / f"error-{position}"


def _wait(processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> bool:
    barrier, asked = Barrier(folder, 0), False
    while any(one.poll() is None for one in processes):
        try:
            if any(one.poll() is not None for one in processes):
                # Whatever ended one, the others must not wait for it any more.
                barrier.leave()
            time.sleep(LOOK_S)
        except KeyboardInterrupt:
            asked = True
            for one in processes:
                with contextlib.suppress(ProcessLookupError):
                    one.send_signal(signal.SIGINT)
    return asked


def _answer(process: subprocess.Popen[bytes], folder: Path, position: int) -> Answer:
    said = _error(folder, position).read_text(errors="replace").strip()
    complaint = said.rpartition("\n")[2] or f"exit code {process.returncode}"
    return Answer(_output(folder, position).read_bytes(), complaint)
