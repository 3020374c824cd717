"""Published sets of JVM options in the words of HotSpot (``schema/option_sets.toml``)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from pyrometer.schema import schema_folder


@dataclass(frozen=True)
class Word:
    """An option of another JVM, and what it is on HotSpot.

    Attributes
    ----------
    word : str
        As it was published.
    options : tuple of str
        HotSpot's; empty where it has none.
    until : int or None
        The last Java that has them.
    why : str or None
        Why there is no equivalent, or it is not the same.
    """

    word: str
    options: tuple[str, ...]
    until: int | None = None
    why: str | None = None


@cache
def option_sets() -> dict[str, tuple[Word, ...]]:
    """Every set by its name."""
    text = (schema_folder() / "option_sets.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    words = {one["word"]: Word(**{**one, "options": tuple(one["options"])}) for one in data["word"]}
    return {one["name"]: tuple(words[word] for word in one["words"]) for one in data["set"]}


def expressed(name: str, tasks: int, java: int | None) -> tuple[list[str], list[str]]:
    """Express a set for a JVM.

    Parameters
    ----------
    name : str
        Of the set.
    tasks : int
        Task slots of the JVM.
    java : int or None
        Its feature number; ``None`` where it is not known: it is taken for a present one.

    Returns
    -------
    tuple of (list of str, list of str)
        Options, and sentences on what has no equivalent or only a near one.

    Examples
    --------
    >>> expressed("tpch-5", 4, 17)[0][1:3]
    ['-XX:ParallelGCThreads=4', '-XX:NewRatio=1']
    """
    options, told = [], []
    for word in option_sets()[name]:
        gone = word.until is not None and (java is None or java > word.until)
        if not gone:
            options += [option.replace("{tasks}", str(tasks)) for option in word.options]
        if word.why:
            none = gone or not word.options
            told.append(f"{word.word} {'has no equivalent' if none else 'is near'}: {word.why}")
    return options, told
