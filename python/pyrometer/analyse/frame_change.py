"""What a difference of profiles says of one thing: estimates and a verdict."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.analyse.frame_sides import Repetition
from pyrometer.analyse.frame_statistics import FALSE_DISCOVERY_RATE, LEVEL, Changes
from pyrometer.analyse.model import RunFacts
from pyrometer.doubt import Doubt
from pyrometer.estimate import Estimate

METHOD = "moderated t with sampling noise"
SAMPLING_ALONE = "sampling noise alone"
Verdict = Literal[
    "slower", "faster", "only in A", "only in B", "no significant difference", "too few samples"
]
NO_DIFFERENCE: Literal["no significant difference"] = "no significant difference"
TOO_FEW: Literal["too few samples"] = "too few samples"


class Change(BaseModel):
    """One thing in A and in B. Times are ns per iteration.

    Attributes
    ----------
    share_a, share_b : float or None
        Of everything sampled.
    p : float or None
        Of "no difference in time", before the correction for many tests; ``None`` if not tested.
    """

    a: Estimate
    b: Estimate
    change: Estimate
    share_a: float | None
    share_b: float | None
    share_change: Estimate
    samples_a_count: int
    samples_b_count: int
    p: float | None
    verdict: Verdict


class FrameChange(BaseModel):
    """A frame: itself, and with what it called (a recursive call counts once)."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    event: str
    own: Change = Field(alias="self")
    total: Change


class NamedChange(BaseModel):
    """An operator, an expression, or (named after its event) everything sampled."""

    name: str
    event: str
    total: Change


class SideFacts(BaseModel):
    """The runs of a side, and how often it was repeated."""

    runs: list[RunFacts]
    iterations_count: int
    repetitions_count: int


class FrameDifference(BaseModel):
    """Structure of ``flame --against --json`` (``pyrometer/frame-difference/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/frame-difference/1"] = Field(
        "pyrometer/frame-difference/1", alias="schema"
    )
    a: SideFacts
    b: SideFacts
    repetition: Repetition
    verdict: Literal["different", "no significant difference"]
    false_discovery_rate: float = FALSE_DISCOVERY_RATE
    tests_count: int
    too_few_samples_count: int
    whole: list[NamedChange]
    operators: list[NamedChange]
    expressions: list[NamedChange]
    frames: list[FrameChange]
    doubts: list[Doubt]


def change_of(
    changes: Changes, row: int, samples: tuple[int, int], n: tuple[int, int], verdict: Verdict
) -> Change:
    """Write down the change of one row.

    Parameters
    ----------
    changes : Changes
        Of all rows.
    row : int
        Which.
    samples, n : (int, int)
        Samples of the row, and repetitions, in A and in B.
    verdict : str
        What became of its test.
    """
    method = METHOD if sum(n) > 2 else SAMPLING_ALONE

    def estimate(value: float, low: float, high: float, n: int) -> Estimate:
        return Estimate(value=value, low=low, high=high, level=LEVEL, n=n, method=method)

    def time(value: float, half: float, n: int) -> Estimate:
        return estimate(value, max(0.0, value - half), value + half, n)

    c, i = changes, row
    shares = float(c.share_a[i]), float(c.share_b[i])
    return Change(
        a=time(float(c.a[i]), float(c.a_half[i]), n[0]),
        b=time(float(c.b[i]), float(c.b_half[i]), n[1]),
        change=estimate(float(c.change[i]), float(c.low[i]), float(c.high[i]), sum(n)),
        share_a=shares[0],
        share_b=shares[1],
        share_change=estimate(
            shares[1] - shares[0], float(c.share_low[i]), float(c.share_high[i]), sum(n)
        ),
        samples_a_count=samples[0],
        samples_b_count=samples[1],
        p=None if verdict == TOO_FEW else float(c.p[i]),
        verdict=verdict,
    )


def verdict_of(change_ns: float, samples: tuple[int, int], stands: bool, tested: bool) -> Verdict:
    """Say in words what became of a test.

    Examples
    --------
    >>> verdict_of(5e9, (300, 900), stands=True, tested=True)
    'slower'
    >>> verdict_of(-5e9, (300, 0), stands=True, tested=True)
    'only in A'
    >>> verdict_of(1e8, (10, 20), stands=False, tested=True)
    'no significant difference'
    """
    if not tested:
        return TOO_FEW
    if not stands:
        return NO_DIFFERENCE
    if 0 in samples:
        return "only in B" if samples[0] == 0 else "only in A"
    return "slower" if change_ns > 0 else "faster"
