"""The two sides of a comparison of runs: summaries, names, what ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.summary.schema import Summary

LONG = 40


@dataclass(frozen=True)
class Side:
    """Runs of one side.

    Attributes
    ----------
    name : str
        What tells it from the other side.
    summaries : sequence of Summary
        Of each run, the window that is shown by default.
    """

    name: str
    summaries: Sequence[Summary]


def sides_of(
    a: Sequence[tuple[Path, Summary]], b: Sequence[tuple[Path, Summary]]
) -> tuple[Side, Side]:
    """Name both sides by what distinguishes them: levels, else the runs, else what ran."""
    both = (a, b)
    for naming in (_levels, _paths, _folders):
        first, second = (naming(side, other) for side, other in zip(both, (b, a), strict=True))
        if first and second and first != second:
            break
    else:
        first, second = "A", "B"
    return Side(first, [one for _, one in a]), Side(second, [one for _, one in b])


Runs = Sequence[tuple[Path, Summary]]


def _levels(side: Runs, other: Runs) -> str | None:
    """Levels of factors that are the same on this side and not on the other."""
    own, others = (_common(runs) for runs in (side, other))
    names = [name for name in own.keys() | others.keys() if own.get(name) != others.get(name)]
    if what_ran(side[0][1]) != what_ran(other[0][1]):
        return None
    found = [f"{name}={own.get(name, 'as it is')}" for name in sorted(names)]
    text = ", ".join(found)
    return text if text and len(text) <= LONG else None


def _common(side: Runs) -> dict[str, str]:
    levels = [
        {name: str(level) for name, level in {**s.run.variant, **s.run.treatment}.items()}
        for _, s in side
    ]
    first, *rest = levels
    return {name: level for name, level in first.items() if all(x.get(name) == level for x in rest)}


def _paths(side: Runs, other: Runs) -> str:
    return _many(side, lambda path: path.name)


def _folders(side: Runs, other: Runs) -> str:
    return _many(side, lambda path: f"{path.parent.name}/{path.name}")


def _many(side: Runs, name: Callable[[Path], str]) -> str:
    text = name(side[0][0].absolute())
    return text if len(side) == 1 else f"{text} and {len(side) - 1} more"


def what_ran(summary: Summary) -> str:
    """Say what ran: the workload, else the program of the command, else the application."""
    if summary.run.workload:
        return summary.run.workload
    if summary.run.command:
        return " ".join(Path(word).name for word in summary.run.command)
    names = sorted({app.app_name for app in summary.apps if app.app_name})
    return " · ".join(names) or Path(summary.run.run_dir).name
