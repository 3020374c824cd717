"""Two trials at once, each in a process of its own on its half of the CPUs.

``python -m pyrometer.experiment.side`` makes one: its trial comes as JSON on standard input, what
became of it goes to standard output. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import ctypes
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

from pyrometer.experiment import making
from pyrometer.experiment.making import Made
from pyrometer.plan import Trial
from pyrometer.plan.factors import parse_cpus
from pyrometer.run.observe import Silent, Watch
from pyrometer.workload.meeting import Meeting

LOOK_S = 0.1
PR_SET_PDEATHSIG = 1

_TRIAL = TypeAdapter(Trial)


def duet(trials: Sequence[Trial], watch: Watch) -> list[Made]:
    """Make two trials at once, their iterations in step, and read what became of each.

    Raises
    ------
    KeyboardInterrupt
        If somebody ended it; both have ended then.
    """
    folder = Path(tempfile.mkdtemp(prefix="pyrometer-duet-"))
    try:
        sides = [_start(one, folder, side) for side, one in enumerate(trials)]
        watch.phase("run")
        _wait(sides, folder)
        made = [_told(process, folder, side) for side, process in enumerate(sides)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if any(one.status != "finished" for one in made):
        # Who was left alone ran under other conditions.
        alone = Made("failed", reason="the other side did not finish")
        return [alone if one.status == "finished" else one for one in made]
    places = [(one.run_dir, ()) for one in trials if one.run_dir is not None]
    return making.read_together(places, detected=trials[0].warmup == "auto")


def _start(trial: Trial, folder: Path, side: int) -> subprocess.Popen[bytes]:
    task = folder / f"task-{side}.json"
    task.write_bytes(_TRIAL.dump_json(replace(trial, meeting=(str(folder), side))))
    with task.open("rb") as given, _output(folder, side).open("wb") as out:
        # In a session of its own: a key that is pressed reaches us, and we pass it on, once.
        return subprocess.Popen(
            [sys.executable, "-m", "pyrometer.experiment.side"],
            stdin=given,
            stdout=out,
            stderr=(folder / f"error-{side}").open("wb"),
            start_new_session=True,
        )


def _output(folder: Path, side: int) -> Path:
    return folder / f"made-{side}.json"


def _wait(sides: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    meeting, asked = Meeting(folder, 0), False
    while any(one.poll() is None for one in sides):
        try:
            if any(one.poll() is not None for one in sides):
                # Whatever ended one: the other need not wait for it any more.
                meeting.leave()
            time.sleep(LOOK_S)
        except KeyboardInterrupt:
            asked = True
            for one in sides:
                with contextlib.suppress(ProcessLookupError):
                    one.send_signal(signal.SIGINT)
    if asked:
        raise KeyboardInterrupt


def _told(process: subprocess.Popen[bytes], folder: Path, side: int) -> Made:
    try:
        found = json.loads(_output(folder, side).read_bytes())
        return Made(found["status"], censored_s=found["censored_s"], reason=found["reason"])
    except (OSError, ValueError, KeyError):
        said = (folder / f"error-{side}").read_text(errors="replace").strip()
        why = said.rpartition("\n")[2] or f"exit code {process.returncode}"
        return Made("failed", reason=f"one of two side by side: {why}")


def main() -> int:
    """Make the trial that is given; returns the exit code."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    trial = _TRIAL.validate_json(sys.stdin.buffer.read())
    cpus = parse_cpus(str(trial.treatment["host.cpus"]))
    assert isinstance(cpus, frozenset)
    # What measures it stays on its half, too.
    os.sched_setaffinity(0, cpus)
    made = making.make(trial, Silent())
    fields = {"status": made.status, "censored_s": made.censored_s, "reason": made.reason}
    sys.stdout.write(json.dumps(fields))
    return 0


if __name__ == "__main__":
    sys.exit(main())
