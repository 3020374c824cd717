"""Kills the process group of a running experiment again and again; a process of its own.

The experiment is forked, so that a kill comes anywhere in its trials and not in its imports.
Nothing here may start a thread.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from pyrometer.experiments.folder import is_experiment
from pyrometer.experiments.run import guard
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of


def child(path: Path, root: Path) -> None:
    """Run or resume, as the command line does."""
    os.setsid()
    guard.LOOK_S = 0.02
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    if not is_experiment(root):
        begin(root, plan_of(path, root))
    carry_out(root)


def main() -> None:
    """Kill until the experiment ends by itself; print how often."""
    path, root, seed, longest = sys.argv[1:]
    draw, killed = random.Random(int(seed)), 0
    while True:
        pid = os.fork()
        if not pid:
            try:
                child(Path(path), Path(root))
            except BaseException as error:
                Path(root).with_suffix(".error").write_text(repr(error))
                os._exit(1)
            os._exit(0)
        deadline = time.monotonic() + draw.uniform(0.0, float(longest))
        done = 0
        while not done and time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.002)
        if done:
            print(killed, os.waitstatus_to_exitcode(status))
            return
        try:
            os.killpg(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)  # It had no group of its own yet.
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
