"""What the confirmation says, in one line for people. Pure."""

from __future__ import annotations

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.tune.believe.verdict import Verdict

SAVED = {
    "elapsed": "less time",
    "core-seconds": "less core time",
    "cost": "less cost",
    "p95": "less at the 95th percentile",
    "memory": "less memory",
}
"""What a confirmed gain is called."""


def words_of(found: Verdict, objective: str = "elapsed") -> str:
    """Say what fresh blocks show of the winner.

    Examples
    --------
    >>> from pyrometer.tune.believe.verdict import judge
    >>> words_of(judge([(10.0, 8.1), (10.4, 8.2), (9.9, 8.0), (10.1, 8.2)]))
    'confirmed 19.5 % less time [17.8 %, 21.3 %] in 4 blocks'
    >>> words_of(judge([(10.0, 9.0), (10.0, 10.5), (10.0, 9.1)]))
    'cannot tell: 28 more blocks would (3 blocks: the interval has gains and losses in it)'
    """
    blocks = units.counted(found.change.n, "block")
    if found.outcome == "confirmed":
        value, low, high = _saved(found.change)
        interval = f"[{units.percent(low)}, {units.percent(high)}]"
        return f"confirmed {units.percent(value)} {SAVED[objective]} {interval} in {blocks}"
    if found.outcome == "slower":
        ends = (
            f"[{units.percent(found.change.low, True)}, {units.percent(found.change.high, True)}]"
        )
        return (
            f"worse than the baseline: {units.percent(found.change.value, True)} {ends} in {blocks}"
        )
    if found.outcome == "no difference":
        return f"no difference above {units.percent(found.bound)} in {blocks}"
    if found.outcome == "failed":
        return f"not confirmed: {found.reason}"
    more = found.more_blocks
    would = "" if more is None else f": {units.counted(more, 'more block')} would"
    return f"cannot tell{would} ({blocks}: {found.reason})"


def _saved(change: Estimate) -> tuple[float | None, float | None, float | None]:
    """Turn a change into what it saves."""
    value, low, high = (
        None if end is None else -end for end in (change.value, change.high, change.low)
    )
    return value, low, high
