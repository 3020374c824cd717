"""Queries of a suite that stand for all: those whose times vary as the time of the suite does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyrometer.core.estimate import Estimate
from pyrometer.tune.advise.fidelity import spearman

LEAST_TRIALS = 4
"""Configurations of which times are needed: of fewer, nearly any query ranks as all do."""

WORTH = 0.01
"""Gain in correlation below which no further query is taken."""


@dataclass(frozen=True)
class Representative:
    """Parts that stand for all.

    Attributes
    ----------
    share : float
        Their time in the first trial, of the time of all.
    correlation : Estimate
        Spearman's with the whole, of the trials that chose them: too good by that.
    """

    names: tuple[str, ...]
    share: float
    correlation: Estimate


def representative(times: Sequence[Mapping[str, float]], most: float) -> Representative | None:
    """Choose parts, the one that adds most first, until another would add little.

    What counts is the correlation of the logarithm of their time with that of all: a part that
    never changes adds nothing, nor does one that changes as another that was taken.

    Parameters
    ----------
    times : sequence of mapping
        Time of each part, a mapping a configuration; the first is the job as it is.
    most : float
        Largest share of the time that they may take together.

    Returns
    -------
    Representative or None
        ``None`` where none stands for all, or too few configurations ran.

    Examples
    --------
    >>> times = [{"q1": 8.0, "q2": 1.0, "q3": 6 + one} for one in (1.0, 2.0, 4.0, 3.0)]
    >>> representative(times, 0.5).names
    ('q3',)
    """
    if len(times) < LEAST_TRIALS:
        return None
    names = sorted(name for name in times[0] if all(one.get(name, 0.0) > 0 for one in times))
    if not names:
        return None
    table = np.array([[one[name] for name in names] for one in times])
    whole = table.sum(axis=1)
    shares = table[0] / whole[0]
    if float(np.log(whole).std()) < 1e-9:
        return None
    taken: list[int] = []
    reached = 0.0
    while True:
        room = most - float(shares[taken].sum())
        left = [at for at in range(len(names)) if at not in taken and shares[at] <= room]
        tried = [(_alike(table[:, [*taken, at]].sum(axis=1), whole), -at) for at in left]
        best = max(tried, default=(0.0, 0))
        if best[0] < reached + WORTH:
            break
        taken.append(-best[1])
        reached = best[0]
    if not taken:
        return None
    part = table[:, taken].sum(axis=1)
    return Representative(
        tuple(names[at] for at in sorted(taken)),
        float(shares[taken].sum()),
        spearman([float(one) for one in whole], [float(one) for one in part]),
    )


def _alike(part: np.ndarray, whole: np.ndarray) -> float:
    one, other = np.log(part), np.log(whole)
    if float(one.std()) < 1e-9:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
