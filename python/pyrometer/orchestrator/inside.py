"""Trials inside their machine: runs them, ships what they record, and says how each ended.

Started as a program by the machine's first process; its port is in ``STREAM``. Where several run
at the same time each has a process of its own, which is this program with the number of its parent.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrometer.core.errors import PyrometerError
from pyrometer.guests import facts, job
from pyrometer.guests.talk import PORT, Talk

if TYPE_CHECKING:
    from pyrometer.collect.launch.observe import Watch
    from pyrometer.collect.launch.together import Answer
    from pyrometer.trial.trial import Trial

MODULE = "pyrometer.orchestrator.inside"
BROKEN = "broken"


def main() -> int:
    """Run the trials that lie in the machine."""
    trials = job.read(job.FILE.read_bytes())
    roots = [one.run_dir for one in trials if one.run_dir is not None]
    with Talk(Path(os.environ.pop(PORT)), roots) as talk:
        talk.say("machine", **facts.read())
        words = (
            [last_word(trials[0], _Telling(talk))] if len(trials) == 1 else _at_once(trials, talk)
        )
        talk.finish(words)
    return int(any(one["event"] == BROKEN for one in words))


def last_word(trial: Trial, watch: Watch) -> dict[str, Any]:
    """Run a trial, and say how it ended."""
    # Imported here: the host knows that we are here, and what we have, before it waits.
    from pyrometer.orchestrator.measure import measure

    before, killed = crash_logs(Path.cwd()), facts.oom_kills()
    try:
        record, ending = measure(trial, watch)
        for log in crash_logs(Path.cwd()) - before:
            shutil.copyfile(log, record.paths.raw / log.name)
    except PyrometerError as error:
        said = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
        return {"event": "refused", **said}
    except BaseException:
        return {"event": BROKEN, "message": traceback.format_exc()[-8000:]}
    record.save()
    kills = {"oom_kills_count": facts.oom_kills_since(killed)}
    return {"event": "finished", **asdict(ending), **kills}


def _at_once(trials: Sequence[Trial], talk: Talk) -> list[dict[str, Any]]:
    """Run trials at the same time, each in a process of its own."""
    from pyrometer.collect.launch import together

    for number in (signal.SIGTERM, signal.SIGHUP):
        # As Ctrl-C: it is passed on to all of them.
        signal.signal(number, signal.default_int_handler)
    talk.say("progress", phase="run")
    answers, _ = together.run_each(trials, MODULE)
    return [{**_said(one), "trial": number} for number, one in enumerate(answers)]


def _said(answer: Answer) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(answer.output)
    except ValueError:
        return {"event": BROKEN, "message": answer.complaint}
    return found


def one_of_several(parent: str) -> int:
    """Run the trial that comes on stdin, and write the last word about it to standard output."""
    from pyrometer.collect.launch import together
    from pyrometer.collect.launch.observe import Silent

    sys.stdout.write(json.dumps(last_word(together.given(parent), Silent())))
    return 0


def crash_logs(folder: Path) -> set[Path]:
    """Find logs of JVMs that crashed, which they leave where they were started."""
    return set(folder.glob("hs_err_pid*.log"))


class _Telling:
    """A watch that tells the host."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def phase(self, name: str) -> None:
        """Tell that a phase begins."""
        self._talk.say("progress", phase=name)

    def progress(self, what: str, done: int, total: int) -> None:
        """Tell how much of the data has been generated."""
        self._talk.say("progress", what=what, done=done, total=total)

    def running(self, iteration: int | None, iterations: int, warmup: bool) -> None:
        """Tell which iteration runs."""
        self._talk.say("progress", iteration=iteration, iterations=iterations, warmup=warmup)

    def exited(self, record: object, ending: object) -> None:
        """Tell nothing: the last word does."""

    def summarised(self, record: object, summary: object, scope: object) -> None:
        """Tell nothing: nothing is summarised here."""

    def note(self, text: str) -> None:
        """Tell what matters now."""
        self._talk.say("progress", note=text[:2000])


if __name__ == "__main__":
    sys.exit(one_of_several(sys.argv[1]) if len(sys.argv) > 1 else main())
