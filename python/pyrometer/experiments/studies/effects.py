"""Published changes from one treatment to another, compared with those of our experiments."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.judge.machines import NODES
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.experiments.studies.plan import Effect, Study
from pyrometer.experiments.studies.schema import EffectComparison
from pyrometer.statistics.treatments import PairReport
from pyrometer.statistics.welch import WelchAsGiven, welch_as_given

EMULATED = "times of emulated machines are not those of hardware, nor are their ratios"
WITHHELD = {
    "machine_nodes": NODES,
    "machine_oversubscribed": "some machines had more CPUs than their host, which took turns",
}
"""What times of virtual machines do not show, by doubts of an experiment."""


def compare_effect(
    effect: Effect,
    judged: Mapping[str, ExperimentReport],
    withheld: Mapping[str, str] | None = None,
) -> EffectComparison:
    """Compare the change between two of our treatments with the published one.

    Parameters
    ----------
    effect : Effect
        As the study has it.
    judged : mapping of str to ExperimentReport
        Reports of the experiments that ran.
    withheld : mapping of str to str, optional
        Experiments whose times show nothing here, and why.
    """
    report = judged.get(effect.experiment)
    names = [_treatment(report, levels) for levels in (effect.a, effect.b)] if report else []
    comparison = EffectComparison(
        what=effect.what, place=effect.place, published=effect.published, derived=effect.derived,
        experiment=effect.experiment, a=in_levels(effect.a), b=in_levels(effect.b),
        note=effect.note,
    )  # fmt: skip
    if report is None:
        return comparison.model_copy(
            update={"reason": f"experiment {effect.experiment} is missing"}
        )
    if absent := [name for name in names if isinstance(name, Absent)]:
        return comparison.model_copy(update={"reason": absent[0].reason})
    pair, turned = _pair(report, str(names[0]), str(names[1]))
    if pair is None:
        return comparison.model_copy(
            update={"reason": report.reason or "these two are not compared"}
        )
    ours = _turned(pair.change) if turned else pair.change
    why = (withheld or {}).get(effect.experiment)
    surely = pair.verdict in ("faster", "slower") and why is None
    agrees = None
    if surely and effect.published is not None and ours.value is not None:
        ends = effect.published if isinstance(effect.published, tuple) else (effect.published,) * 2
        agrees = all(end * ours.value > 0 for end in ends)
    opposite = {"faster": "slower", "slower": "faster"}
    verdict = opposite.get(pair.verdict, pair.verdict) if turned else pair.verdict
    update = {
        "ours": ours, "verdict": None if why else verdict, "agrees": agrees, "withheld": why,
        "welch": _as_given(report, str(names[0]), str(names[1])),
    }  # fmt: skip
    return comparison.model_copy(update=update)


def _as_given(report: ExperimentReport, a: str, b: str) -> WelchAsGiven | None:
    """Test as R's ``t.test`` does, which studies print."""
    values = {one.name: one.values for one in report.treatments}
    return welch_as_given(values[a], values[b]) if values[a] and values[b] else None


def compared(study: Study, name: str, report: ExperimentReport) -> list[tuple[str, str]]:
    """List the treatments of an experiment that a study compares with each other."""
    found = []
    for effect in study.effects:
        if effect.experiment == name:
            names = [_treatment(report, levels) for levels in (effect.a, effect.b)]
            if not any(isinstance(one, Absent) for one in names):
                found.append((str(names[0]), str(names[1])))
    return found


def withheld_of(study: Study, judged: Mapping[str, ExperimentReport]) -> dict[str, str]:
    """Say of which experiments times show nothing here, and why."""
    found = {}
    for name, report in judged.items():
        declared = study.experiments[name]
        if declared.untimed is not None:
            found[name] = declared.untimed
        elif any(one.code == "emulated" for one in report.doubts):
            found[name] = declared.emulated or EMULATED
        elif why := [WITHHELD[one.code] for one in report.doubts if one.code in WITHHELD]:
            found[name] = "; ".join(why)
    return found


class Absent(BaseModel):
    """Why there is no such treatment."""

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
    """Return the change from B to A, given that from A to B."""
    value, low, high = (
        None if end is None else 1 / (1 + end) - 1
        for end in (change.value, change.high, change.low)
    )
    return change.model_copy(update={"value": value, "low": low, "high": high})
