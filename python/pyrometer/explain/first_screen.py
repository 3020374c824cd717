"""The best findings in a few lines, for a screen that is about more than them."""

from __future__ import annotations

from pyrometer.core import units
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
    shown = [one for one in found.findings if one.shown and one.muted is None]
    if not shown or found.joint_saving is None:
        judged = found.rules_count - len(found.unjudged)
        return [("", found.conclusion)] if judged else []
    joint, elapsed = found.joint_saving.elapsed_ns, found.baseline.elapsed_ns
    count = "1 finding saves" if len(shown) == 1 else f"{len(shown)} findings save"
    whole = (
        f"{count} {units.duration(joint.value)} of {units.duration(elapsed)}"
        f" ({words.interval(joint, 'ns')})"
    )
    return [("", whole), *((_saves(one), _what(one)) for one in shown[:MOST])]


def _saves(one: Finding) -> str:
    return words.bounds(one.saving.elapsed_ns, "ns")


def _what(one: Finding) -> str:
    place = one.place.words
    return one.title if place == "application" else f"{one.title}: {place}"
