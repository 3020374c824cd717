"""A story of the verdict: what happened, with its numbers, and what to do next."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """One part of the verdict; ``RUN`` in the next step stands for the run."""

    text: str
    next_step: str | None = None


def capital(text: str) -> str:
    """Begin with a capital letter.

    Examples
    --------
    >>> capital("two tasks failed")
    'Two tasks failed'
    """
    return text[:1].upper() + text[1:]


def short(text: str, most: int = 60) -> str:
    """Cut a text of a log, in one line.

    Examples
    --------
    >>> short("collect at q.py:3"), short("a" * 9, 5)
    ('collect at q.py:3', 'aaaa…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def at_file(text: str) -> str:
    """Leave out the folders of a call site.

    Examples
    --------
    >>> at_file("collect at /home/me/jobs/q.py:3")
    'collect at q.py:3'
    """
    return re.sub(r" at /\S*/(?=[^/\s]+$)", " at ", text)


def site(name: str | None, description: str | None) -> str:
    """Say where in the program a stage comes from; Spark's own threads are no answer.

    Examples
    --------
    >>> site("$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768", "show at q.py:2")
    'show at q.py:2'
    >>> site("$anonfun$run$1 at CompletableFuture.java:1768", None)
    '$anonfun$run$1 at CompletableFuture.java:1768'
    """
    known = name is not None and not name.startswith("$anonfun")
    return at_file((name if known else description or name) or "")
