"""A trial inside its machine: runs it, ships what it records, and says how it ended.

Started as a program by the machine's first process; its port is in ``STREAM``.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from pyrometer.core.errors import PyrometerError
from pyrometer.guests import facts, job
from pyrometer.guests.talk import PORT, Talk


def main() -> int:
    """Run the trial that lies in the machine."""
    trial = job.read(job.FILE.read_bytes())
    assert trial.run_dir is not None
    with Talk(Path(os.environ.pop(PORT)), trial.run_dir) as talk:
        talk.say("machine", **facts.read())
        # Imported here: the host knows that we are here, and what we have, before it waits.
        from pyrometer.orchestrator.measure import measure

        before, killed = crash_logs(Path.cwd()), facts.oom_kills()
        try:
            record, ending = measure(trial, _Telling(talk))
            for log in crash_logs(Path.cwd()) - before:
                shutil.copyfile(log, record.paths.raw / log.name)
        except PyrometerError as error:
            talk.finish(
                "refused", {"kind": error.kind, "message": error.message, "remedy": error.remedy}
            )
        except BaseException:
            talk.finish("broken", {"message": traceback.format_exc()[-8000:]})
            return 1
        else:
            record.save()
            kills = {"oom_kills_count": facts.oom_kills_since(killed)}
            talk.finish("finished", asdict(ending) | kills)
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
    sys.exit(main())
