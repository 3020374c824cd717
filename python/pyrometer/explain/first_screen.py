"""The best findings in a few lines, for a screen that is about more than them."""

from __future__ import annotations

from pyrometer.explain import words
from pyrometer.explain.schema import Finding, Findings

MOST = 3


def first_lines(found: Findings) -> list[tuple[str, str]]:
    """Give the findings that save most, each as what it saves and what it is, and the whole.

    Returns
    -------
    list of (str, str)
        First the whole, then at most `MOST` findings; one line where there is nothing to gain,
        none where nothing could be judged.
    """
    if found.rules_count == len(found.unjudged):
        return []
    shown = words.counted(found.findings)
    # Of one finding the headline has said what it saves.
    each = [(_saves(one) if len(shown) > 1 else "", _what(one)) for one in shown[:MOST]]
    return [("", words.headline(found)), *each]


def _saves(one: Finding) -> str:
    return words.bounds(one.saving.elapsed_ns, "ns") + words.measured([one])


def _what(one: Finding) -> str:
    place = one.place.words
    title = f"{one.title} ({words.verdict(one.proof)})" if one.proof else one.title
    return title if place == "application" else f"{title}: {place}"
