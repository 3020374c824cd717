"""The manual of a rule: the docstring of its module, divided at its headings."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

HEADINGS = ("What it is", "Mechanism", "Evidence", "Remedy", "When it is wrong", "Source")
"""Headings of every manual, in this order."""
_HEADING = re.compile(r"^(\S[^\n]*)\n(?=[ \t]+\S)", re.MULTILINE)


@dataclass(frozen=True)
class Manual:
    """A manual.

    Attributes
    ----------
    summary : str
        Its first sentence.
    parts : dict of str to str
        Text below each heading, in order, without its indentation.
    """

    summary: str
    parts: dict[str, str]


def manual_of(text: str) -> Manual:
    r"""Divide a manual.

    Examples
    --------
    >>> manual_of("Heap is small.\n\nRemedy\n    A larger\n    one.\n\nSource\n    A book.\n").parts
    {'Remedy': 'A larger\none.', 'Source': 'A book.'}
    """
    starts = [found for found in _HEADING.finditer(text) if found[1].strip() in HEADINGS]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    parts = {
        found[1].strip(): textwrap.dedent(text[found.end() : end]).strip()
        for found, end in zip(starts, ends, strict=True)
    }
    summary = text[: starts[0].start()] if starts else text
    return Manual(" ".join(summary.split()), parts)


def paragraphs(text: str) -> list[str]:
    r"""Join the lines of each paragraph; an entry of a list stays one of its own.

    Examples
    --------
    >>> paragraphs("One\ntwo.\n\n- a\n  b\n- c")
    ['One two.', '- a b', '- c']
    """
    parts = re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text)
    return [" ".join(part.split()) for part in parts if part.strip()]
