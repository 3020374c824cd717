"""How long a machine is heard, and when it is asked to end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyrometer.guests.conversation import Conversation, Heard

LAST_WORDS = ("finished", "refused", "broken")
"""Events behind which nothing follows but the same of other trials."""
TIME_OUT = "time-out"


@dataclass(frozen=True)
class Patience:
    """How long each step may take, in seconds that the host gave to the machine.

    Attributes
    ----------
    first_sign_s : float
        Until the machine's first process begins: a kernel takes one, emulated four.
    start_s : float
        Until the trial's launcher has said what the machine has.
    grace_s : float
        From our asking it to end until its files are closed.
    last_s : float
        From its last word until it has ended.
    longest_s : float
        In all. The time of an application is watched in the machine: this ends one that hangs.
    turn_s : float
        How often signals are looked at.
    """

    first_sign_s: float
    start_s: float
    grace_s: float
    last_s: float = 30.0
    longest_s: float = math.inf
    turn_s: float = 0.25


def last_word(heard: Heard) -> dict[str, Any] | None:
    """Give what a machine said last, if it has."""
    return next((said for event in LAST_WORDS if (said := heard.said(event))), None)


def hear(
    talk: Conversation, patience: Patience, asked_to_end: Callable[[], Iterable[str]]
) -> str | None:
    """Hear a machine to its end.

    Parameters
    ----------
    talk : Conversation
        With the machine.
    patience : Patience
        How long.
    asked_to_end : callable
        Gives the signals that have asked us to end since it was last called. The first is passed
        on; a second ends the machine at once.

    Returns
    -------
    str or None
        The first of these signals, or `TIME_OUT`; ``None`` if it was none of both.
    """
    began = talk.given.seconds
    asked: str | None = None
    over, deadline = False, math.inf
    while not talk.over and talk.given.seconds < deadline and talk.heard.damaged is None:
        talk.turn(patience.turn_s)
        now = talk.given.seconds
        for number in asked_to_end():
            if asked is None:
                asked = number
                talk.ask(ask="stop", signal=number)
                deadline = min(deadline, now + patience.grace_s)
            else:
                deadline = now
        if not over and last_word(talk.heard) is not None:
            over = True
            talk.ask(ask="end")
            deadline = min(deadline, now + patience.last_s)
        gone = now - began
        if not talk.heard.milestones and gone > patience.first_sign_s:
            break
        if talk.heard.said("machine") is None and gone > patience.start_s:
            break
        if gone > patience.longest_s:
            return asked or TIME_OUT
    return asked
