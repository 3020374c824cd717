"""Two sides, each one run or several: what differs in time per iteration, and how surely.

Statistics: `pyrometer.statistics.profiles`. Names: `pyrometer.flame.difference.paths`.

The result for one frame, operator or expression: estimates and a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.flame.difference.paths import EVENTS
from pyrometer.flame.difference.sides import (
    Columns,
    Key,
    Kind,
    Repetition,
    Sampled,
    Sums,
    read_side,
    repetition_of,
    sides,
)
from pyrometer.statistics.profiles import (
    FALSE_DISCOVERY_RATE,
    LEVEL,
    MIN_SAMPLES,
    Changes,
    Spread,
    compare,
    significant,
    spread_of,
)
from pyrometer.window.windows import RunFacts

METHOD = "moderated t with sampling noise"
SAMPLING_ALONE = "sampling noise alone"
Verdict = Literal[
    "slower", "faster", "only in A", "only in B", "no significant difference", "too few samples"
]
NO_DIFFERENCE: Literal["no significant difference"] = "no significant difference"
TOO_FEW: Literal["too few samples"] = "too few samples"


class Change(BaseModel):
    """A frame, operator or expression in A and in B. Times are ns per iteration.

    Attributes
    ----------
    share_a, share_b : float or None
        Share of everything sampled.
    p : float or None
        Of "no difference in time", before correction for multiple tests; ``None`` if not tested.
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
    """A frame: self, and total with what it called (a recursive call counts once)."""

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
    """Build the change of one row.

    Parameters
    ----------
    changes : Changes
        Changes of all rows.
    row : int
        The row.
    samples, n : (int, int)
        Samples of the row, and repetitions, in A and in B.
    verdict : str
        Result of its test.
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
    """Name the result of a test.

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


@dataclass(frozen=True)
class Compared:
    """A difference, with what is needed to test more of the same samples."""

    result: FrameDifference
    rows: Mapping[Key, int]
    sums: tuple[Sums, Sums]
    spreads: Mapping[str, Spread]


def frame_difference(a: Sequence[Path], b: Sequence[Path]) -> FrameDifference:
    """Compare the profiles of two runs or groups of runs.

    Parameters
    ----------
    a, b : sequence of Path
        Runs of each side.

    Raises
    ------
    UsageError
        If a run cannot be read, or has no samples.
    """
    return compared(read_side(a), read_side(b)).result


def compared(a: Sequence[Sampled], b: Sequence[Sampled]) -> Compared:
    """Compare what was sampled in the runs of two sides.

    All tests together, of frames, operators, expressions and the whole, are held to one false
    discovery rate; there is a difference where one of them stands.

    Raises
    ------
    UsageError
        If one side has CPU samples alone, the other wall time.
    """
    repetition = repetition_of(a, b)
    rows, missing = _rows(a, b)
    if not rows:
        raise UsageError(
            "the sides have no event in common: one has CPU samples, the other wall time",
            "run both with the same profile: pyrometer run --profile full …",
        )
    sums = _sums(a, rows, repetition), _sums(b, rows, repetition)
    samples = sums[0].n + sums[1].n
    tested = (samples >= MIN_SAMPLES) | np.array([kind == "whole" for kind, _, _ in rows], bool)
    found: dict[Key, tuple[Changes, int]] = {}
    spreads = {}
    p = np.ones(len(rows))
    for event in EVENTS:
        if ("whole", event, "") in rows:
            spreads[event], of_event = _event(event, rows, sums)
            found |= of_event
    for key, (changes, place) in found.items():
        p[rows[key]] = changes.p[place]
    stands = np.zeros(p.size, bool)
    stands[tested] = significant(p[tested])

    def change(key: Key) -> Change:
        row = rows[key]
        changes, place = found[key]
        counts = int(sums[0].n[row]), int(sums[1].n[row])
        verdict = verdict_of(
            float(changes.change[place]), counts, bool(stands[row]), bool(tested[row])
        )
        return change_of(changes, place, counts, (sums[0].columns.n, sums[1].columns.n), verdict)

    listed = [key for key, row in rows.items() if tested[row]]
    result = FrameDifference(
        a=_facts(a, sums[0].columns),
        b=_facts(b, sums[1].columns),
        repetition=repetition,
        verdict="different" if stands.any() else NO_DIFFERENCE,
        tests_count=int(tested.sum()),
        too_few_samples_count=int((~tested & (samples > 0)).sum()),
        whole=_named(listed, "whole", change),
        operators=_named(listed, "operator", change),
        expressions=_named(listed, "expression", change),
        frames=_frames(listed, change),
        doubts=_doubts(a, b, sums, missing),
    )
    return Compared(result, rows, sums, spreads)


def _rows(a: Sequence[Sampled], b: Sequence[Sampled]) -> tuple[dict[Key, int], list[str]]:
    """Give everything that is compared a row, and list the events that only one side has."""
    in_a, in_b = ({str(e) for run in side for e in run.sums["event"]} for side in (a, b))
    common = in_a & in_b
    rows: dict[Key, int] = {}
    for run in (*a, *b):
        for key in _keys(run):
            if key[1] not in common:
                continue
            rows.setdefault(key, len(rows))
            if key[0] == "total":
                rows.setdefault(("self", *key[1:]), len(rows))
    return rows, sorted(in_a ^ in_b)


def _keys(run: Sampled) -> list[Key]:
    columns = (run.sums[name].tolist() for name in ("kind", "event", "name"))
    return list(zip(*columns, strict=True))


def _sums(runs: Sequence[Sampled], rows: Mapping[Key, int], repetition: Repetition) -> Sums:
    summed = Sums(len(rows), Columns(runs, repetition))
    for number, run in enumerate(runs):
        at = np.array([rows.get(key, -1) for key in _keys(run)], np.int64)
        known = at >= 0
        summed.add(number, at[known], {name: c[known] for name, c in run.sums.items()})
    return summed


def _event(
    event: str, rows: Mapping[Key, int], sums: tuple[Sums, Sums]
) -> tuple[Spread, dict[Key, tuple[Changes, int]]]:
    """Compare all rows of one event."""
    whole = rows[("whole", event, "")]
    keys = [key for key in rows if key[1] == event]
    apart = np.array([rows[key] for key in keys if key[0] == "self"], np.int64)
    spread = spread_of(*sides(*sums, apart, whole))
    changes = compare(*sides(*sums, np.array([rows[key] for key in keys]), whole), spread)
    return spread, {key: (changes, place) for place, key in enumerate(keys)}


def _named(listed: Sequence[Key], kind: Kind, change: Callable[[Key], Change]) -> list[NamedChange]:
    changes = [
        NamedChange(name=k[2] or k[1], event=k[1], total=change(k)) for k in listed if k[0] == kind
    ]
    return sorted(changes, key=lambda one: (-abs(one.total.change.value or 0), one.name))


def _frames(listed: Sequence[Key], change: Callable[[Key], Change]) -> list[FrameChange]:
    changes = [
        FrameChange(
            name=name, event=event, own=change(("self", event, name)),
            total=change(("total", event, name)),
        )
        for kind, event, name in listed
        if kind == "total"
    ]  # fmt: skip
    return sorted(changes, key=lambda one: (-abs(one.total.change.value or 0), one.name))


def _facts(runs: Sequence[Sampled], columns: Columns) -> SideFacts:
    return SideFacts(
        runs=[run.facts for run in runs],
        iterations_count=sum(len(run.iterations) for run in runs),
        repetitions_count=columns.n,
    )


def _doubts(
    a: Sequence[Sampled], b: Sequence[Sampled], sums: tuple[Sums, Sums], missing: Sequence[str]
) -> list[Doubt]:
    found = []
    if max(side.columns.n for side in sums) == 1:
        text = "n = 1 on each side: variation between runs is not in the intervals"
        found.append(("difference_one_repetition", text))
    elif max(len(a), len(b)) == 1:
        text = "One run on each side: the intervals hold how its iterations vary, not how runs do"
        found.append(("difference_one_run", text))
    found += [
        ("difference_event_missing", f"{event} was sampled on one side only: it is not compared")
        for event in missing
    ]
    named = [{run.facts.workload for run in side} for side in (a, b)]
    if named[0] != named[1]:
        texts = (", ".join(sorted(str(name or "a command") for name in side)) for side in named)
        text = f"The sides ran different workloads: {' against '.join(texts)}"
        found.append(("difference_other_workload", text))
    return [schema.doubt(code, f"{message}.") for code, message in found]
