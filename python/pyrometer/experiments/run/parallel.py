"""Trials in parallel, each in a process of its own, on its CPUs if it has some.

``python -m pyrometer.experiments.run.parallel PARENT`` runs one: the trial comes as JSON on stdin,
its outcome goes to standard output. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from pyrometer.collect.host import bind
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.core.json_text import parse_json
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.leftovers import BARRIER
from pyrometer.trial.factors import parse_cpus
from pyrometer.trial.trial import Trial
from pyrometer.workloads.barrier import Barrier

LOOK_S = 0.1

_TRIAL = TypeAdapter(Trial)


def run_parallel(trials: Sequence[Trial], watch: Watch) -> list[Attempt]:
    """Run several trials at the same time, and read the outcome of each.

    Their iterations are in step, or overlap (``Trial.overlap``).

    Raises
    ------
    KeyboardInterrupt
        If the user stopped it; all have ended then.
    """
    folder = _barrier_folder(trials[0].run_dir)
    try:
        joined = [
            replace(one, barrier=(str(folder), position, len(trials)))
            for position, one in enumerate(trials)
        ]
        processes = [_start(one, folder, position) for position, one in enumerate(joined)]
        watch.phase("run")
        _wait(processes, folder)
        attempts = [
            _read_answer(process, folder, position) for position, process in enumerate(processes)
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if any(one.status != "finished" for one in attempts):
        # A trial that outlived the others ran alone in the end, under other conditions.
        alone = Attempt("failed", reason="the other side did not finish")
        return [alone if one.status == "finished" else one for one in attempts]
    places = [(one.run_dir, ()) for one in trials if one.run_dir is not None]
    return attempt.read_together(places, detected=trials[0].warmup == "auto")


def _barrier_folder(run_dir: Path | None) -> Path:
    if run_dir is not None:
        run_dir.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=BARRIER, dir=run_dir and run_dir.parent.absolute()))


def _start(trial: Trial, folder: Path, position: int) -> subprocess.Popen[bytes]:
    # Without a name: its levels may be secrets.
    with tempfile.TemporaryFile(dir=folder) as given, _output(folder, position).open("wb") as out:
        given.write(_TRIAL.dump_json(trial))
        given.seek(0)
        # In a new session: Ctrl-C reaches this process, which passes it on, once.
        return subprocess.Popen(
            [sys.executable, "-m", "pyrometer.experiments.run.parallel", str(os.getpid())],
            stdin=given,
            stdout=out,
            stderr=(folder / f"error-{position}").open("wb"),
            start_new_session=True,
        )


def _output(folder: Path, position: int) -> Path:
    return folder / f"attempt-{position}.json"


def _wait(processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
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
    if asked:
        raise KeyboardInterrupt


def _read_answer(process: subprocess.Popen[bytes], folder: Path, position: int) -> Attempt:
    try:
        found = parse_json(_output(folder, position).read_bytes())
        return Attempt(found["status"], censored_s=found["censored_s"], reason=found["reason"])
    except (OSError, ValueError, KeyError):
        said = (folder / f"error-{position}").read_text(errors="replace").strip()
        why = said.rpartition("\n")[2] or f"exit code {process.returncode}"
        return Attempt("failed", reason=f"one of several in parallel: {why}")


def main(parent: str) -> int:
    """Run the trial that comes on stdin; returns the exit code."""
    bind.end_with(int(parent), signal.SIGTERM)
    trial = _TRIAL.validate_json(sys.stdin.buffer.read())
    cpus = parse_cpus(str(trial.treatment["host.cpus"])) if "host.cpus" in trial.treatment else 0
    if isinstance(cpus, frozenset):
        # Pyrometer's processes stay on the trial's CPUs, too.
        os.sched_setaffinity(0, cpus)
    ended = attempt.run_trial(trial, Silent())
    fields = {"status": ended.status, "censored_s": ended.censored_s, "reason": ended.reason}
    sys.stdout.write(json.dumps(fields))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
