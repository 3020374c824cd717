"""Run one step of the build and say how it goes, in plain lines.

A line as it begins, one every ten seconds with the last thing that the command printed, and one as
it ends; each with the seconds since `make` began, so that steps at once stay legible. All of the
command's output goes to `target/logs/<name>.log`, and its end is printed if the step fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

LOGS = Path(__file__).resolve().parents[1] / "target" / "logs"
EVERY_S = 10.0
WIDTH = 100
TAIL_LINES = 60
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(\x07|\x1b\\))")
# What the tools are asked to leave out: they write into a file.
PLAIN = {"NO_COLOR": "1", "CARGO_TERM_COLOR": "never", "CARGO_TERM_PROGRESS_WHEN": "never"}


class Step:
    """A command that runs, and what it printed last.

    Parameters
    ----------
    name : str
        What the lines begin with.
    began : float
        Unix time from which seconds count.
    """

    def __init__(self, name: str, began: float) -> None:
        self.name = name
        self.began = began
        self.last = ""
        self.ended = threading.Event()

    def say(self, text: str) -> None:
        """Print one whole line at once, so that steps at once do not mix theirs."""
        line = f"[{time.time() - self.began:4.0f} s] {self.name}: {text}\n"
        os.write(sys.stderr.fileno(), line.encode())

    def keep(self, output: IO[str], log: IO[str]) -> None:
        """Write all of the output to the log and remember its last line."""
        for raw in output:
            line = ESCAPES.sub("", raw).rstrip()
            log.write(line + "\n")
            log.flush()
            self.last = line.strip() or self.last

    def heartbeat(self) -> None:
        """Every ten seconds, the last line."""
        while not self.ended.wait(EVERY_S):
            self.say(self.last[:WIDTH] or "…")


def run(name: str, command: list[str], environment: Mapping[str, str]) -> int:
    """Run the command; gives its exit code."""
    started = time.time()
    step = Step(name, float(environment.get("PYROMETER_BEGAN") or started))
    LOGS.mkdir(parents=True, exist_ok=True)
    file = LOGS / f"{name}.log"
    step.say(" ".join(command)[:WIDTH])
    with file.open("w") as log:
        try:
            process = subprocess.Popen(
                command,
                env={**environment, **PLAIN},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            step.say(f"{command[0]}: {error.strerror}")
            return 127
        assert process.stdout is not None
        beat = threading.Thread(target=step.heartbeat, daemon=True)
        beat.start()
        step.keep(process.stdout, log)
        code = process.wait()
        step.ended.set()
        beat.join()
    if code:
        tail = file.read_text().splitlines()[-TAIL_LINES:]
        os.write(sys.stderr.fileno(), "".join(f"    {line}\n" for line in tail).encode())
        step.say(f"failed with exit code {code}; all of its output: {file}")
        return code if code > 0 else 128 - code
    step.say(f"done in {time.time() - started:.0f} s")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: step.py NAME COMMAND [ARGUMENT...]")
    raise SystemExit(run(sys.argv[1], sys.argv[2:], os.environ))
