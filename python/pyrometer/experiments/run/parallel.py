"""Trials in parallel: each in a process of its own, or all of them in one virtual machine.

``python -m pyrometer.experiments.run.parallel PARENT`` runs one: see
:mod:`pyrometer.collect.launch.together`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from pyrometer.collect.launch import together
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.collect.launch.together import Answer
from pyrometer.core.errors import PyrometerError
from pyrometer.core.json_text import parse_json
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.guests.machine import is_machine
from pyrometer.orchestrator import run as orchestrator
from pyrometer.trial.trial import Trial

MODULE = "pyrometer.experiments.run.parallel"


def run_parallel(trials: Sequence[Trial], watch: Watch) -> list[Attempt]:
    """Run several trials at the same time, and read the outcome of each.

    Their iterations are in step, or overlap (``Trial.overlap``).

    Raises
    ------
    KeyboardInterrupt
        If the user stopped it; all have ended then.
    """
    if any(map(is_machine, trials[0].treatment)):
        attempts = _in_one_machine(trials, watch)
    else:
        watch.phase("run")
        answers, asked = together.run_each(trials, MODULE)
        if asked:
            raise KeyboardInterrupt
        attempts = [_attempt(one) for one in answers]
    if any(one.status != "finished" for one in attempts):
        # A trial that outlived the others ran alone in the end, under other conditions.
        alone = Attempt("failed", reason="the other side did not finish")
        return [alone if one.status == "finished" else one for one in attempts]
    places = [(one.run_dir, ()) for one in trials if one.run_dir is not None]
    return attempt.read_together(places, detected=trials[0].warmup == "auto")


def _in_one_machine(trials: Sequence[Trial], watch: Watch) -> list[Attempt]:
    try:
        outcomes = orchestrator.run_together(trials, watch)
    except PyrometerError as error:
        return [Attempt("failed", reason=error.message)] * len(trials)
    return [attempt.attempt_of(*one) for one in zip(trials, outcomes, strict=True)]


def _attempt(answer: Answer) -> Attempt:
    try:
        found = parse_json(answer.output)
        return Attempt(found["status"], censored_s=found["censored_s"], reason=found["reason"])
    except (ValueError, KeyError):
        return Attempt("failed", reason=f"one of several in parallel: {answer.complaint}")


def main(parent: str) -> int:
    """Run the trial that comes on stdin; returns the exit code."""
    ended = attempt.run_trial(together.given(parent), Silent())
    fields = {"status": ended.status, "censored_s": ended.censored_s, "reason": ended.reason}
    sys.stdout.write(json.dumps(fields))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
