"""What ended a run from outside: a signal of somebody else, or a scheduler that took its place."""

from __future__ import annotations

from pyrometer.store.manifest import Manifest

SIGNALS = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")
"""Signals that a program does not send itself; it crashes with others."""

_BY_CODE = {129: "SIGHUP", 130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM"}
"""Exit codes by which a shell or a JVM says that such a signal ended it."""

_TAKEN = ("preempted", "unrelated to the running tasks")
"""Words of Spark and of schedulers for executors that did not end through their tasks."""


def ended_from_outside(manifest: Manifest) -> str | None:
    """Say what ended a run that failed, where that may be nothing of its own doing.

    A signal tells nobody who sent it: it may be the kernel's, for memory that the run itself took.

    Returns
    -------
    str or None
        In a few words; ``None`` where it failed by itself.
    """
    ended = manifest.exit
    name = ended.signal or _BY_CODE.get(ended.code or 0)
    if name in SIGNALS:
        return f"ended by {name}, sent from outside"
    why = manifest.why or ""
    word = next((one for one in _TAKEN if one in why.lower()), None)
    return None if word is None else f"executors were lost: {word}"
