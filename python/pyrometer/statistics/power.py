"""How many trials an effect needs, and which effects given trials can detect."""

from __future__ import annotations

import math

from pyrometer.statistics.distributions import t_quantile

ALPHA = 0.05
POWER = 0.8
MOST = 100_000


def power(
    difference: float,
    sd: float,
    n: int,
    alpha: float = ALPHA,
    blocks: bool = False,
    df: float | None = None,
) -> float:
    """Chance that a two-sided t test of two lists of `n` finds `difference`.

    Parameters
    ----------
    difference, sd : float
        Of logarithms: a change by 5 % is ``log(1.05)``, a coefficient of variation about its sd.
    n : int
        Trials of each treatment.
    blocks : bool
        Whether differences within `n` blocks are tested: `sd` is then that of one trial within its
        block.
    df : float, optional
        Degrees of freedom of `sd`, where it was estimated from more than these trials.

    Examples
    --------
    >>> round(power(0.05, 0.05, 17), 2)
    0.81
    """
    if n < 2 or sd <= 0:
        return float(sd <= 0 and difference != 0)
    freedom = df if df is not None else n - 1 if blocks else 2 * n - 2
    shift = abs(difference) / sd * math.sqrt(n / 2)
    critical = float(t_quantile(1 - alpha / 2, freedom))
    from scipy import stats

    upper = float(stats.nct.sf(critical, freedom, shift))
    lower = float(stats.nct.cdf(-critical, freedom, shift))
    # The far tail underflows where the difference is many deviations wide.
    return min(1.0, upper + (0.0 if math.isnan(lower) else lower))


def needed(
    difference: float,
    sd: float | None,
    alpha: float = ALPHA,
    wanted: float = POWER,
    blocks: bool = False,
) -> int | None:
    """Fewest trials of each treatment with which `difference` is found with chance `wanted`.

    ``None`` where the noise is not known, or more than 100 000 would be needed.

    Examples
    --------
    >>> [needed(0.05, cv) for cv in (0.01, 0.03, 0.05, 0.1)]
    [3, 7, 17, 64]
    """
    if sd is None or difference == 0:
        return None
    low, high = 2, 2
    while power(difference, sd, high, alpha, blocks) < wanted:
        low, high = high, high * 2
        if high > MOST:
            return None
    while low < high:
        middle = (low + high) // 2
        if power(difference, sd, middle, alpha, blocks) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def detectable(
    n: int,
    sd: float | None,
    alpha: float = ALPHA,
    wanted: float = POWER,
    blocks: bool = False,
    df: float | None = None,
) -> float | None:
    """Return the smallest relative change that `n` trials of each find with chance `wanted`.

    Examples
    --------
    >>> f"{100 * detectable(5, 0.04):.0f} %"
    '8 %'
    >>> f"{100 * detectable(5, 0.04, blocks=True):.0f} %"
    '10 %'
    """
    if sd is None or n < 2:
        return None
    from scipy import optimize

    most = 1e-6
    while power(most, sd, n, alpha, blocks, df) < wanted:
        most *= 2
        if most > 50:
            return None

    def missing(size: float) -> float:
        return power(size, sd, n, alpha, blocks, df) - wanted

    return math.expm1(float(optimize.brentq(missing, 0.0, most)))
