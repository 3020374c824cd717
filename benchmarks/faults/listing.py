"""A Markdown table of planted causes: what each cost, and what was said of it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.faults.judge import WORTH, Found, Outcome
from pyrometer.core import units

_HEAD = """| cause, data | measured saving (90 %) | named | predicted (90 %) | place |
|---|--:|---|--:|---|
"""


def listing(outcomes: Sequence[Outcome]) -> str:
    """Give a row for each run with a cause, those that cost most first; and what else was said.

    Examples
    --------
    >>> gc = Found("gc.a", 0.3, 0.2, 0.4, {"layer": "jvm"})
    >>> one = Outcome("a/x/0", ["gc."], [gc], 0.25, 0.1, places=[{"layer": "jvm"}])
    >>> print(listing([one]).splitlines()[2])
    | a, x | 25.0 % (15.0 to 35.0) | `gc.a` | 30.0 % (20.0 to 40.0) | right |
    """
    planted = sorted(
        (one for one in outcomes if one.codes), key=lambda one: -(one.saved_ratio or 0.0)
    )
    return _HEAD + "".join(map(_row, planted))


def _row(one: Outcome) -> str:
    saved, hit = one.saved_ratio or 0.0, one.hit
    cause, shape, _ = one.name.split("/")
    cells = [f"{cause}, {shape}", _range(saved, saved - one.spread_ratio, saved + one.spread_ratio)]
    if hit is None:
        others = ", ".join(f"`{found.code}`" for found in one.counted())
        small = "" if saved > WORTH else "; too small to count"
        cells += [f"nothing{small}" if not others else f"only {others}{small}", "", ""]
    else:
        cells += [f"`{hit.code}`", _of(hit), "right" if one.is_there(hit.place) else "wrong"]
    return f"| {' | '.join(cells)} |\n"


def _of(found: Found) -> str:
    return _range(found.ratio, found.low, found.high)


def _range(value: float, low: float, high: float) -> str:
    ends = (units.percent(each).removesuffix(" %") for each in (low, high))
    return f"{units.percent(value)} ({' to '.join(ends)})"
