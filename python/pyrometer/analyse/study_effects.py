"""Published changes from one treatment to another beside those of our experiments."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from pyrometer.analyse.compare.account import PairReport
from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.estimate import Estimate
from pyrometer.plan.study import Effect


class EffectComparison(BaseModel):
    """A published change beside ours; both are relative.

    ``agrees`` is whether both go the same way: machines and scales differ, sizes are not compared.
    ``None`` where ours cannot tell, or is missing: `reason` says why.
    """

    what: str
    place: str
    published: float | tuple[float, float] | None
    derived: str | None = None
    experiment: str
    a: str
    b: str
    ours: Estimate | None = None
    verdict: str | None = None
    agrees: bool | None = None
    note: str | None = None
    reason: str | None = None


def compare_effect(effect: Effect, judged: Mapping[str, ExperimentReport]) -> EffectComparison:
    """Set the change between two of our treatments beside the published one.

    Parameters
    ----------
    effect : Effect
        As the study has it.
    judged : mapping of str to ExperimentReport
        Experiments that are there.
    """
    report = judged.get(effect.experiment)
    names = [_treatment(report, levels) for levels in (effect.a, effect.b)] if report else []
    made = EffectComparison(
        what=effect.what, place=effect.place, published=effect.published, derived=effect.derived,
        experiment=effect.experiment, a=in_levels(effect.a), b=in_levels(effect.b),
        note=effect.note,
    )  # fmt: skip
    if report is None:
        return made.model_copy(update={"reason": f"experiment {effect.experiment} is missing"})
    if told := [name for name in names if isinstance(name, Absent)]:
        return made.model_copy(update={"reason": told[0].reason})
    pair, turned = _pair(report, str(names[0]), str(names[1]))
    if pair is None:
        return made.model_copy(update={"reason": report.reason or "these two are not compared"})
    ours = _turned(pair.change) if turned else pair.change
    surely = pair.verdict in ("faster", "slower")
    agrees = None
    if surely and effect.published is not None and ours.value is not None:
        ends = effect.published if isinstance(effect.published, tuple) else (effect.published,) * 2
        agrees = all(end * ours.value > 0 for end in ends)
    opposite = {"faster": "slower", "slower": "faster"}
    verdict = opposite.get(pair.verdict, pair.verdict) if turned else pair.verdict
    return made.model_copy(update={"ours": ours, "verdict": verdict, "agrees": agrees})


class Absent(BaseModel):
    """A treatment that is not there, and why."""

    reason: str


def in_levels(levels: Mapping[str, str]) -> str:
    """Write levels as a treatment's name has them."""
    return ", ".join(f"{factor}={level}" for factor, level in levels.items())


def _treatment(report: ExperimentReport, levels: Mapping[str, str]) -> str | Absent:
    found = [one.name for one in report.treatments if _has(one.levels, levels)]
    if len(found) == 1:
        return found[0]
    if found:
        return Absent(reason=f"{in_levels(levels)}: {len(found)} treatments have these levels")
    out = [one for one in report.left_out if _has(one.varied, levels)]
    why = f"left out: {out[0].reason}" if out else "no treatment has these levels"
    return Absent(reason=f"{in_levels(levels)}: {why}")


def _has(levels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether levels are the wanted ones; a knob is this machine's, as in ``under@3g``."""
    return all(f"{levels.get(name)}@".startswith(f"{at}@") for name, at in wanted.items())


def _pair(report: ExperimentReport, a: str, b: str) -> tuple[PairReport | None, bool]:
    for pair in report.comparison.pairs if report.comparison else ():
        if {pair.a, pair.b} == {a, b}:
            return pair, pair.a == b
    return None, False


def _turned(change: Estimate) -> Estimate:
    """Give the change of A beside B of that of B beside A."""
    value, low, high = (
        None if end is None else 1 / (1 + end) - 1
        for end in (change.value, change.high, change.low)
    )
    return change.model_copy(update={"value": value, "low": low, "high": high})
