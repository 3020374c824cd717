"""A story of the verdict: what happened, with its numbers, and what to do next."""

from __future__ import annotations

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
