"""Invented rules, and what `explain` makes of what they suspect in two stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.explain.summarised import summarised
from tests.support.simulation.simulated import Log

from pyrometer.explain.change import Change
from pyrometer.explain.facts import Facts
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Findings, Place, Remedy
from pyrometer.explain.what_if import Extent


def rule(
    code: str,
    change: Change,
    explains: tuple[str, ...] = (),
    extent: float | Extent = 1.0,
    remedies: Sequence[Remedy] = (),
) -> Rule:
    """Give a rule with one suspect."""

    def suspects(facts: Facts) -> Iterable[Suspect]:
        yield Suspect(
            place=Place(layer="stage"), mechanism=code, change=change, evidence=[],
            remedies=remedies,
            extent=extent if isinstance(extent, Extent) else Extent(extent, extent, extent),
        )  # fmt: skip

    return Rule(code, code, code, suspects, "try it", explains=explains)


def two_stages() -> Log:
    """Two stages, one after another, on two slots: 10 s with a long task, then 4 s."""
    log = Log(16_000)
    log.executor("1", 2)
    log.job(0, 1_000, 11_000, [0])
    log.stage(0, 1_000, 11_000, [])
    log.task(0, 1_000, 10_000)
    log.task(0, 1_000, 2_000)
    log.job(1, 12_000, 16_000, [1])
    log.stage(1, 12_000, 16_000, [])
    log.task(1, 12_000, 4_000)
    log.task(1, 12_000, 4_000)
    return log


def found(run: Path, *rules: Rule, **options: object) -> Findings:
    """Give what is found in two stages."""
    with summarised(run, two_stages()) as (scope, summary):
        return explained(scope, summary, rules=rules, **options)  # type: ignore[arg-type]
