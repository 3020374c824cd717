"""Two sides, each one run or several: what takes another time per iteration, and how sure it is.

Statistics: `pyrometer.analyse.frame_statistics`. Names: `pyrometer.analyse.frame_names`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyrometer import schema
from pyrometer.analyse.frame_change import (
    NO_DIFFERENCE,
    Change,
    FrameChange,
    FrameDifference,
    NamedChange,
    SideFacts,
    change_of,
    verdict_of,
)
from pyrometer.analyse.frame_paths import EVENTS
from pyrometer.analyse.frame_sides import (
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
from pyrometer.analyse.frame_statistics import (
    MIN_SAMPLES,
    Changes,
    Spread,
    compare,
    significant,
    spread_of,
)
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError


@dataclass(frozen=True)
class Compared:
    """A difference, with what it takes to test more of the same samples."""

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
    """Give everything that is compared a row; and the events that only one side has."""
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
    made = Sums(len(rows), Columns(runs, repetition))
    for number, run in enumerate(runs):
        at = np.array([rows.get(key, -1) for key in _keys(run)], np.int64)
        known = at >= 0
        made.add(number, at[known], {name: c[known] for name, c in run.sums.items()})
    return made


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
    made = [
        NamedChange(name=k[2] or k[1], event=k[1], total=change(k)) for k in listed if k[0] == kind
    ]
    return sorted(made, key=lambda one: (-abs(one.total.change.value or 0), one.name))


def _frames(listed: Sequence[Key], change: Callable[[Key], Change]) -> list[FrameChange]:
    made = [
        FrameChange(
            name=name, event=event, own=change(("self", event, name)),
            total=change(("total", event, name)),
        )
        for kind, event, name in listed
        if kind == "total"
    ]  # fmt: skip
    return sorted(made, key=lambda one: (-abs(one.total.change.value or 0), one.name))


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
