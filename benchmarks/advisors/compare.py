"""Lay findings and rules side by side: by log and cause, who names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.advisors.causes import NVIDIA, OURS, SPARK_ADVISOR, Fired, cause_of


@dataclass(frozen=True)
class Ours:
    """A finding of ours; times in nanoseconds."""

    code: str
    stage: int | None
    value: float
    low: float
    high: float
    shown: bool

    @property
    def cause(self) -> str:
        """What it is about."""
        return cause_of(OURS, self.code)


@dataclass
class Row:
    """One log.

    Attributes
    ----------
    limits : dict of Fired to float
        What the simulator gives for a rule of an advisor, None where a log cannot say.
    failed : dict of str to str
        Advisors that could not look, and why; with `OURS`, why we said nothing.
    """

    log: str
    tasks_count: int
    elapsed_ns: float
    noise_ratio: float = 0.0
    findings: list[Ours] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)
    limits: dict[Fired, float | None] = field(default_factory=dict)
    settings_count: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def shown(self) -> list[Ours]:
        """Give the findings above the noise."""
        return [one for one in self.findings if one.shown]

    def causes(self, advisor: str) -> set[str]:
        """Give the causes that an advisor names in this log."""
        return {one.cause for one in self.fired if one.advisor == advisor}

    def below(self) -> set[str]:
        """Give causes that we see, and that save too little to be shown, or no time at all."""
        seen = {one.cause for one in self.findings} | {cause_of(OURS, c) for c in self.notes}
        return seen - {one.cause for one in self.shown()}

    def agreed(self) -> set[str]:
        """Give causes that we show and an advisor names."""
        return {one.cause for one in self.shown()} & self._theirs()

    def small(self) -> set[str]:
        """Give causes that an advisor names, and that we see below the noise."""
        return self.below() & self._theirs()

    def only_they(self) -> set[str]:
        """Give causes that an advisor names, and we do not."""
        return self._theirs() - {one.cause for one in self.shown()} - self.below()

    def only_we(self) -> set[str]:
        """Give causes that we show, and no advisor names."""
        return {one.cause for one in self.shown()} - self._theirs()

    def both(self) -> set[str]:
        """Give causes that both advisors name."""
        return self.causes(SPARK_ADVISOR) & self.causes(NVIDIA)

    def _theirs(self) -> set[str]:
        return {one.cause for one in self.fired}


def findings_of(report: dict[str, Any]) -> list[Ours]:
    """Read `pyrometer explain --json`; what a finding explains counts as seen, not as shown."""
    found = []
    for one in report["findings"]:
        found.append(_ours(one, one["saving"]["elapsed_ns"], one["shown"]))
        found += [_ours(each, each["elapsed_ns"], False) for each in one["symptoms"]]
    return found


def _ours(one: dict[str, Any], saving: dict[str, Any], shown: bool) -> Ours:
    value, low, high = (float(saving[name] or 0.0) for name in ("value", "low", "high"))
    return Ours(one["code"], one["place"]["stage_id"], value, low, high, shown)


@dataclass(frozen=True)
class Total:
    """Logs in which a cause was named, and by whom."""

    cause: str
    shown: int
    below: int
    spark_advisor: int
    nvidia: int
    agreed: int
    small: int
    only_they: int
    only_we: int
    largest_ratio: float | None
    """Of what they name and we do not show: the most that the simulator gives, of elapsed time."""


def totals(rows: Sequence[Row]) -> list[Total]:
    """Count by cause; the causes that most logs have first."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({c.cause for c in row.shown()} | {one.cause for one in row.fired})

    def count(cause: str, name: str) -> int:
        return sum(cause in getattr(row, name)() for row in rows)

    found = []
    for cause, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        ratios = [
            ns / row.elapsed_ns
            for row in rows
            if cause in row.only_they() | row.small()
            for fired, ns in row.limits.items()
            if fired.cause == cause and ns is not None and row.elapsed_ns
        ]
        found.append(
            Total(
                cause,
                shown=sum(cause in {one.cause for one in row.shown()} for row in rows),
                below=count(cause, "below"),
                spark_advisor=sum(cause in row.causes(SPARK_ADVISOR) for row in rows),
                nvidia=sum(cause in row.causes(NVIDIA) for row in rows),
                agreed=count(cause, "agreed"),
                small=count(cause, "small"),
                only_they=count(cause, "only_they"),
                only_we=count(cause, "only_we"),
                largest_ratio=max(ratios, default=None),
            )
        )
    return found
