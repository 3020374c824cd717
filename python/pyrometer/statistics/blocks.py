"""Treatments that ran in blocks: differences within blocks, and the noise that blocks removed.

Two treatments of a block ran close to each other, so slow drift of the machine affects both. The
difference of logarithms within the block is the unit; its mean is the logarithm of the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.pooling import PairNoise, Pooled, tested
from pyrometer.statistics.power import ALPHA, needed
from pyrometer.statistics.two import MARGIN, Verdict, judge, logs
from pyrometer.statistics.welch import constant

METHOD = "t of log ratios"


@dataclass(frozen=True)
class Paired:
    """B compared with A within blocks.

    Attributes
    ----------
    change : Estimate
        Geometric mean of B over A, minus 1; n is the number of blocks.
    p, signs_p : float or None
        Student's test of the mean difference, and the exact test of Wilcoxon's signed ranks.
    same_p : float or None
        Larger p of the two one-sided tests against the margin.
    verdict : str
        Of B compared with A.
    blocks_needed : int or None
        Blocks needed to detect a difference of the margin, by the noise seen within blocks.
    sd_ratio : float or None
        Deviation of the log ratio of neighbours in a block over that of trials at random: below 1
        where blocks take noise away.
    sd : float or None
        Deviation of the logarithm of one trial within its block, as the interval has it.
    noise : PairNoise or None
        Where that comes from: the pair, or all treatments.
    """

    change: Estimate
    p: float | None
    signs_p: float | None
    margin: float
    same_p: float | None
    verdict: Verdict
    blocks_needed: int | None
    sd_ratio: float | None
    sd: float | None = None
    noise: PairNoise | None = None


def paired(
    a: Sequence[float],
    b: Sequence[float],
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    sides: Sequence[float] | None = None,
    pooled: Pooled | None = None,
) -> Paired:
    """Compare two lists whose places are blocks.

    Of times that vary neither on one side nor on the other nobody knows the noise, unless that of
    all treatments is pooled: there is no interval, and no verdict.

    Parameters
    ----------
    sides : sequence of float, optional
        1 or -1 by block, where the two swapped places: what the places differ by is taken out, for
        a degree of freedom.
    pooled : Pooled, optional
        Noise of all treatments, used where their variances may be equal and places were not
        swapped.

    Raises
    ------
    ValueError
        If the lists differ in length, or a value is not above zero.

    Examples
    --------
    >>> found = paired([10.0, 20.0, 40.0], [11.0, 22.1, 43.9])
    >>> round(found.change.value, 3), found.verdict, round(found.sd_ratio, 2)
    (0.101, 'slower', 0.0)
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} blocks on one side, {len(b)} on the other")
    x, y = logs(a), logs(b)
    differences = np.asarray(y) - np.asarray(x)
    n, freedom = differences.size, differences.size - 1
    leverage = 1 / n
    if sides is not None and len(set(sides)) > 1:
        design = np.column_stack([np.ones(n), sides])
        fit = np.linalg.lstsq(design, differences, rcond=None)[0]
        differences = differences - design[:, 1] * fit[1]
        freedom, leverage = n - 2, float(np.linalg.inv(design.T @ design)[0, 0])
    mean = float(differences.mean())
    shared = pooled is not None and pooled.usable and sides is None
    if freedom < 1 or (not shared and constant(x, y)):
        change = Estimate(
            value=math.expm1(mean), low=None, high=None, level=level, n=n, method=METHOD
        )
        return Paired(change, None, None, margin, None, "cannot tell", None, None)
    sd = math.sqrt(float(((differences - mean) ** 2).sum()) / freedom)
    noise = PairNoise(treatments=2, df=freedom, equal_p=pooled.equal_p if pooled else None)
    used, method = sd, METHOD
    if pooled is not None and shared:
        together = math.sqrt(2 * pooled.variance)
        used, freedom = max(sd, together), pooled.df
        noise = noise.model_copy(
            update={"treatments": pooled.treatments, "df": freedom, "own_larger": sd > together}
        )
        method = f"{METHOD}, noise of {pooled.treatments} treatments"
    found = tested(
        mean, used * math.sqrt(leverage), freedom, margin=margin, level=level, n=n, method=method
    )
    change, p, same_p = found.change, found.p, found.same_p
    verdict = judge(change, p, same_p, margin)
    between = math.sqrt(float(np.var(x, ddof=1)) + float(np.var(y, ddof=1)))
    return Paired(
        change=change,
        p=p,
        signs_p=_signs_p(differences),
        margin=margin,
        same_p=same_p,
        verdict=verdict,
        # Differences within blocks have the noise of both trials already.
        blocks_needed=(
            needed(math.log1p(margin), used / math.sqrt(2), blocks=True)
            if verdict == "cannot tell"
            else None
        ),
        sd_ratio=sd / between if between else None,
        sd=used / math.sqrt(2),
        noise=noise,
    )


def _signs_p(differences: NDArray[np.float64]) -> float:
    """Wilcoxon's test of whether as much of them is above 0 as below."""
    from scipy import stats

    return float(stats.wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def drift(values: Sequence[float], alpha: float = ALPHA) -> tuple[float | None, bool]:
    """Test whether residuals rise or fall with run order (Mann and Kendall), in time order.

    Returns
    -------
    tuple
        p, ``None`` below four values; whether it is below `alpha`.

    Examples
    --------
    >>> drift([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])[1], drift([1.0, 1.2, 1.1, 1.0, 1.2, 1.1])[1]
    (True, False)
    """
    if len(values) < 4:
        return None, False
    from scipy import stats

    p = float(stats.kendalltau(range(len(values)), values).pvalue)
    return (None, False) if math.isnan(p) else (p, p < alpha)


def autocorrelation(values: Sequence[float]) -> float | None:
    """Correlation of neighbours in time; ``None`` below four values or without variation."""
    if len(values) < 4:
        return None
    centred = np.asarray(values, float) - float(np.mean(values))
    whole = float((centred**2).sum())
    return float((centred[:-1] * centred[1:]).sum()) / whole if whole else None


def order_fixed(treatments: Sequence[str]) -> bool:
    """Whether each treatment ran in one go, or all ran in the same order in every round.

    Then whatever the machine did meanwhile, or carry-over from one treatment to the next, looks
    like an effect (Abedi and Brecht 2017).

    Examples
    --------
    >>> order_fixed(["a", "a", "b", "b"]), order_fixed(["a", "b", "b", "a"])
    (True, False)
    >>> order_fixed(["a", "b", "c", "a", "b", "c"])
    True
    """
    names = len(set(treatments))
    if names < 2 or len(treatments) == names:
        return False
    pieces = 1 + sum(x != y for x, y in pairwise(treatments))
    round_ = treatments[:names]
    in_rounds = len(set(round_)) == names and all(
        one == round_[at % names] for at, one in enumerate(treatments)
    )
    return pieces == names or in_rounds


def residuals(values: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Logarithms less the mean of their treatment."""
    return {
        name: list(np.asarray(logs(one)) - float(np.mean(logs(one))))
        for name, one in values.items()
    }
