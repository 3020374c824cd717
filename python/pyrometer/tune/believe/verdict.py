"""The confirmation: incumbent against baseline in fresh blocks, and what they allow to be said.

The difference of logarithms within a block is the unit (:mod:`pyrometer.statistics.blocks`). The
first verdict confirms a gain at a one-sided risk of 2.5 %. Where blocks are added because it could
not tell, each further verdict halves the risk that is left, so that however often somebody adds
blocks, a gain that is none is confirmed in at most 5 of 100 tunings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.blocks import paired
from pyrometer.statistics.distributions import f_quantile, t_quantile
from pyrometer.statistics.power import ALPHA, needed
from pyrometer.statistics.two import MARGIN, sd_of
from pyrometer.statistics.welch import NO_VARIATION

Outcome = Literal["confirmed", "slower", "no difference", "failed", "cannot tell"]

FEWEST = 3
"""Blocks below which nothing is confirmed: two differences say next to nothing of their noise."""


class Verdict(BaseModel):
    """What fresh blocks say of the incumbent.

    Attributes
    ----------
    outcome : str
        ``confirmed``: it is better; ``slower``: it is worse; ``no difference``: none above
        :attr:`bound`; ``failed``: a trial of it failed; else ``cannot tell``.
    change : Estimate
        Ratio of incumbent to baseline less one (-0.2: a fifth less), with the interval that the
        outcome was judged by; n is the number of blocks.
    bound : float or None
        Largest difference, either way, that the blocks leave possible at 95 %.
    margin : float
        Relative difference that counts as none.
    more_blocks : int or None
        Blocks that would have to be added to tell a difference as large as it seems (and no
        smaller than the margin); ``None`` where it has been told, or nothing is known of the noise.
    more_for_margin : int or None
        The same for a difference of the margin.
    baseline_spread, incumbent_spread : Estimate
        Deviation of the logarithm of a trial from block to block: how stable each is.
    spread_ratio : Estimate
        The second over the first; above 1: the incumbent is the less stable one.
    looks : int
        Verdicts of these trials so far, this one among them.
    reason : str or None
        Why it cannot be told, or failed.
    """

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    change: Estimate
    bound: float | None
    margin: float
    more_blocks: int | None
    more_for_margin: int | None
    baseline_spread: Estimate
    incumbent_spread: Estimate
    spread_ratio: Estimate
    looks: int
    reason: str | None = None


def risk(look: int, alpha: float = ALPHA) -> float:
    """One-sided risk of confirming what is no gain at the verdict number `look` (from 1).

    Together they stay below `alpha`, however many there are.

    Examples
    --------
    >>> [risk(look) for look in (1, 2, 3)]
    [0.025, 0.0125, 0.00625]
    """
    if look < 1:
        raise ValueError(f"verdict number {look}: the first is 1")
    return float(alpha / 2**look)


def judge(
    pairs: Sequence[tuple[float, float]],
    *,
    margin: float = MARGIN,
    looks: Sequence[int] = (),
    failures: int = 0,
    left: int = 0,
) -> Verdict:
    """Judge the incumbent by fresh blocks.

    Parameters
    ----------
    pairs : sequence of (float, float)
        Values of baseline and incumbent, one pair a block, less is better. None of them may have
        been known when the incumbent was chosen.
    margin : float
        Relative difference that counts as none.
    looks : sequence of int
        How many blocks there were at each earlier verdict of these trials, those of a gain that
        could not be told yet; the verdict is the stricter for them.
    failures : int
        Trials of the incumbent that died, were stopped, or had other results.
    left : int
        Planned trials that have not run: until they have, nothing is told but a failure. Whoever
        could stop as soon as it looks well would confirm gains that are none.

    Raises
    ------
    ValueError
        If a value is not above zero, or there were not fewer blocks at earlier verdicts.

    Examples
    --------
    >>> found = judge([(10.0, 8.1), (10.4, 8.2), (9.9, 8.0), (10.1, 8.2)])
    >>> found.outcome, round(found.change.value, 3), found.more_blocks
    ('confirmed', -0.195, None)
    >>> judge([(10.0, 9.9), (10.1, 10.1), (10.0, 10.0), (9.9, 10.0), (10.1, 10.1)]).outcome
    'no difference'
    >>> found = judge([(10.0, 9.0), (10.0, 10.5), (10.0, 9.1)])
    >>> found.outcome, found.more_blocks
    ('cannot tell', 28)
    """
    if any(before >= len(pairs) for before in looks):
        raise ValueError(f"an earlier verdict had as many blocks as this one: {len(pairs)}")
    look = len(looks) + 1
    level = 1 - 2 * risk(look)
    if not pairs:
        return _nothing(margin, look, level, failures, left)
    before, after = [one for one, _ in pairs], [one for _, one in pairs]
    found = paired(before, after, margin=margin, level=level)
    outcome, reason = _outcome(found.change, found.same_p, failures, left)
    spreads = _spreads(before, after)
    open_ = outcome == "cannot tell" and not left
    return Verdict(
        outcome=outcome,
        change=found.change,
        bound=_bound(found.change, found.sd),
        margin=margin,
        more_blocks=_more(found.change.value, margin, found.sd, len(pairs), look, open_),
        more_for_margin=_more(0.0, margin, found.sd, len(pairs), look, open_),
        baseline_spread=spreads[0],
        incumbent_spread=spreads[1],
        spread_ratio=spreads[2],
        looks=look,
        reason=reason,
    )


def _outcome(
    change: Estimate, same_p: float | None, failures: int, left: int
) -> tuple[Outcome, str | None]:
    if failures:
        times = "once" if failures == 1 else f"{failures} times"
        return "failed", f"the incumbent failed {times} while it was to be confirmed"
    if left:
        return "cannot tell", f"{units.counted(left, 'trial')} still to run"
    if change.n < FEWEST:
        return "cannot tell", f"{change.n} of at least {FEWEST} blocks"
    if change.low is None or change.high is None:
        return "cannot tell", NO_VARIATION
    if same_p is not None and same_p < ALPHA:
        return "no difference", None
    if change.high < 0:
        return "confirmed", None
    if change.low > 0:
        return "slower", None
    return "cannot tell", "the interval has gains and losses in it"


def _bound(change: Estimate, sd: float | None) -> float | None:
    if sd is None or change.value is None:
        return None
    # Two one-sided tests at 5 % are the interval of 90 %.
    half = float(t_quantile(1 - ALPHA, change.n - 1)) * sd * math.sqrt(2 / change.n)
    middle = math.log1p(change.value)
    return max(abs(math.expm1(middle - half)), abs(math.expm1(middle + half)))


def _more(
    change: float | None, margin: float, sd: float | None, blocks: int, look: int, asked: bool
) -> int | None:
    if not asked or sd is None or change is None:
        return None
    size = max(abs(math.log1p(change)), math.log1p(margin))
    # Without any noise seen, the fewest blocks say more of it.
    wanted = needed(size, sd, alpha=2 * risk(look + 1), blocks=True) if sd else FEWEST
    return None if wanted is None else max(1, max(wanted, FEWEST) - blocks)


def _spreads(
    before: Sequence[float], after: Sequence[float]
) -> tuple[Estimate, Estimate, Estimate]:
    freedom = len(before) - 1
    if freedom < 1:
        unknown = _unknown(len(before), "chi2")
        return unknown, unknown, _unknown(len(before), "F of log times")
    x, y = (float(np.var(np.log(one), ddof=1)) for one in (before, after))
    spreads = sd_of(x, freedom), sd_of(y, freedom)
    if not x:
        return *spreads, _unknown(len(before), "F of log times")
    low, high = (float(f_quantile(one, freedom, freedom)) for one in (ALPHA / 2, 1 - ALPHA / 2))
    ratio = Estimate(
        value=math.sqrt(y / x), low=math.sqrt(y / x / high), high=math.sqrt(y / x / low),
        level=1 - ALPHA, n=len(before), method="F of log times",
    )  # fmt: skip
    return *spreads, ratio


def _unknown(n: int, method: str) -> Estimate:
    return Estimate(value=None, low=None, high=None, level=1 - ALPHA, n=n, method=method)


def _nothing(margin: float, look: int, level: float, failures: int, left: int) -> Verdict:
    change = Estimate(value=None, low=None, high=None, level=level, n=0, method="t of log ratios")
    outcome, reason = _outcome(change, None, failures, left)
    spread = _unknown(0, "chi2")
    return Verdict(
        outcome=outcome, change=change, bound=None, margin=margin, more_blocks=None,
        more_for_margin=None, baseline_spread=spread, incumbent_spread=spread,
        spread_ratio=_unknown(0, "F of log times"), looks=look, reason=reason,
    )  # fmt: skip
