"""Reads the ``console`` blocks of a page, and finds the output that they show in real output.

A line that begins with ``$ `` is a command, a backslash at its end continues it; lines below it
are of its output, abridged. ``…`` stands for what is left out. Numbers, their units and bars may
differ from one run to the next, words may not; the order of lines is not compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DRAWN = re.compile("[\u2500-\u259f]+")
_NUMBER = re.compile(r"[\[(]?[<>≥≤~−+-]?\d[\d.,:-]*(e[+-]?\d+)?[%×]?[\]),;:.]*")
_RANGE = re.compile(r"(?<=[\d%]) … (?=[−+]?\d)")
_MARKS = "[]()±–−.,;:"
_UNITS = {
    "", "%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "kB", "MB", "GB",
}  # fmt: skip


@dataclass
class Step:
    """A command of a page, and the lines of its output that the page shows."""

    command: str
    shown: list[str] = field(default_factory=list)


def blocks(page: str, language: str) -> list[tuple[str, str]]:
    """Find the fenced blocks of a language: what stands behind its name, and the text."""
    return [(more.strip(), text) for name, more, text in _BLOCK.findall(page) if name == language]


def steps(page: str) -> list[Step]:
    r"""Read all commands of a page in order.

    Examples
    --------
    >>> steps("```console\n$ run \\\n    --fast\nquick\n$ end\n```\n")
    [Step(command='run \\\n    --fast', shown=['quick']), Step(command='end', shown=[])]
    """
    found: list[Step] = []
    for _, text in blocks(page, "console"):
        continued = False
        for line in text.splitlines():
            if continued:
                found[-1].command += f"\n{line}"
            elif line.startswith("$ "):
                found.append(Step(line[2:]))
            elif line.strip():
                found[-1].shown.append(line)
            continued = (continued or line.startswith("$ ")) and line.endswith("\\")
    return found


def words(text: str) -> list[str]:
    """Split text into what must be the same again: words, and ``#`` for numbers.

    Examples
    --------
    >>> words("  Scan (node 17)  ██▏  13.5 %  690 ms ± 151 ms")
    ['Scan', '(node', '#']
    >>> words("−22.87 %  −25.5 % … −20 %  3.9e-05  faster")
    ['#', 'faster']
    >>> words("61 % of task CPU is BatchEvalPython;") == words("9 % of task CPU is BatchEvalPython")
    False
    """
    found: list[str] = []
    for word in _DRAWN.sub(" ", _RANGE.sub(" ", text)).split():
        if _NUMBER.fullmatch(word):
            word = "#"
        elif word.strip(_MARKS) in _UNITS:
            continue
        if word != "#" or found[-1:] != ["#"]:
            found.append(word)
    return found


def shows(output: str, line: str) -> bool:
    """Whether a line that a page shows is in the output, wherever that is wrapped.

    Examples
    --------
    >>> shows("A  B  −52.1 %  0.001  faster", "A  B  −48 %  0.2  faster")
    True
    >>> shows("A  B  −52.1 %  0.001  cannot tell", "A  B  −48 %  0.2  faster")
    False
    >>> shows("8 % of CPU is Scan; tasks were\\nidle", "30 % of CPU is Scan; … idle")
    True
    """
    there = words(_RANGE.sub(" ", output).replace("…", " "))
    for part in _RANGE.sub(" ", line).split("…"):
        wanted = words(part)
        width = len(wanted)
        at = next((i for i in range(len(there) - width + 1) if there[i : i + width] == wanted), -1)
        if at < 0:
            return False
        there = there[at + width :]
    return True
