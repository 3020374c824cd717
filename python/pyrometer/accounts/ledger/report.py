"""What ``pyrometer ledger`` reports: a window's views, its parts, the slowest task, two sides.

Both views of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.accounts.ledger.by_host import clock_doubts, core_of_hosts
from pyrometer.accounts.ledger.checks import checks
from pyrometer.accounts.ledger.elapsed.elapsed_view import elapsed
from pyrometer.accounts.ledger.parts import MOST, operators, parts
from pyrometer.accounts.ledger.schema import (
    Ledger,
    LedgerDifference,
    LedgerGroup,
    LedgerReport,
    Part,
    Side,
    View,
)
from pyrometer.accounts.ledger.slot_view import only_view, slot_view
from pyrometer.accounts.ledger.slowest import differences, mean_view, slowest_task
from pyrometer.accounts.ledger.sums import Only
from pyrometer.accounts.window import facts, open_scope
from pyrometer.core import schema
from pyrometer.core.errors import UsageError
from pyrometer.store import Run
from pyrometer.store.remote.opened import address
from pyrometer.window.scope import Scope
from pyrometer.window.windows import windows


def ledger(scope: Scope) -> Ledger:
    """Build the views of the window, and the checks between their sources."""
    cores, hosts = core_of_hosts(scope)
    return Ledger(
        slot_view=slot_view(scope),
        core_view=cores,
        elapsed_view=elapsed(scope)[1],
        checks=checks(scope),
        hosts=hosts,
    )


NOT_OF_A_PART = "the critical path is of the whole window"
NOT_OF_A_HOST = "CPUs are not given to stages or tasks: the core view is of the whole window"


@dataclass(frozen=True)
class Request:
    """What to account for.

    Attributes
    ----------
    by : str or None
        The kind of parts to account for.
    only : Only
        Task attempts to look at.
    slowest : bool
        Compare the slowest task (or the one that ``only`` names) with the middle of its stage.
    most : int
        Parts shown one by one.
    """

    by: Part | None = None
    only: Only = field(default_factory=Only)
    slowest: bool = False
    most: int = MOST


def ledger_report(
    run: Run, window: str | None = None, asked: Request | None = None
) -> LedgerReport:
    """Account for one window of a run: both views and the checks, and what else was asked.

    Raises
    ------
    UsageError
        If the run has no such window, stage or task.
    """
    asked = asked or Request()
    scope = open_scope(run, window)
    report = LedgerReport(
        run=facts(run),
        window=scope.window.facts(),
        by=asked.by,
        slot_view=View(window=scope.window.name),
        core_view=View(window=scope.window.name, reason=NOT_OF_A_HOST),
        elapsed_view=View(window=scope.window.name, reason=NOT_OF_A_PART),
        doubts=run.doubts,
    )
    if asked.slowest:
        only = asked.only
        report.slowest_task = slowest_task(scope, only.stage_id, only.task_attempt_id)
        report.slot_view = report.slowest_task.task.view
        return report
    if asked.only.everything:
        both = ledger(scope)
        report.slot_view, report.core_view, report.checks = (
            both.slot_view,
            both.core_view,
            both.checks,
        )
        report.elapsed_view, report.hosts = both.elapsed_view, both.hosts
        report.doubts = [*run.doubts, *clock_doubts(scope, both.hosts)]
    else:
        report.slot_view = only_view(scope, asked.only)
        if not report.slot_view.total_ns:
            raise UsageError(
                f"no task of window {scope.window.name} is of {_words(asked.only)}",
                f"pyrometer ledger {run.paths.address} --by stage lists the stages",
            )
    if asked.by is not None:
        report.groups, report.groups_count = _groups(run, scope, asked)
    return report


def _groups(run: Run, scope: Scope, asked: Request) -> tuple[list[LedgerGroup], int]:
    if asked.by == "operator":
        return operators(scope, asked.only, asked.most)
    if asked.by == "iteration":
        return _iterations(run, asked)
    assert asked.by is not None
    return parts(scope, asked.by, asked.only, asked.most)


def _iterations(run: Run, asked: Request) -> tuple[list[LedgerGroup], int]:
    """Account for each iteration as a separate window, idle slots included."""
    names = [w for w in windows(run) if w.name.startswith("iteration/")]
    groups = []
    for window in names:
        scope = open_scope(run, window.name)
        whole = asked.only.everything
        groups.append(
            LedgerGroup(
                by="iteration",
                label=window.name.replace("/", " "),
                iteration=window.iterations[0],
                view=slot_view(scope) if whole else only_view(scope, asked.only),
            )
        )
    return groups, len(names)


def _words(only: Only) -> str:
    parts = [f"{n.replace('_', ' ')} {v}" for n, v in vars(only).items() if v is not None]
    return ", ".join(parts).replace("stage id", "stage").replace("sql id", "SQL")


def ledger_against(a: Sequence[Path], b: Sequence[Path], window: str | None = None) -> LedgerReport:
    """Compare the ledgers of two runs or groups of runs per iteration, row by row: B less A.

    A run counts as the mean of its measured iterations; where each side is one run, its iterations
    are compared, with a doubt. With ``window``, or without iterations, a run is one window.

    Returns
    -------
    LedgerReport
        That of the last window of A's first run, with ``against``.
    """
    first, sides = None, []
    for paths in (a, b):
        side = []
        for path in paths:
            with Run.open(path) as run:
                reports = [ledger_report(run, name) for name in _units(run, window)]
            first = first or reports[-1]
            side.append(reports)
        sides.append(side)
    assert first is not None
    one_each = len(a) == len(b) == 1
    units = [_flat(side) if one_each else [_mean(runs) for runs in side] for side in sides]
    found = LedgerDifference(
        a=Side(runs=[address(path) for path in a], n=len(units[0])),
        b=Side(runs=[address(path) for path in b], n=len(units[1])),
        unit="run" if not one_each else "iteration" if _several(units) else "window",
        slot_view=differences(*[[u[0] for u in side] for side in units]),
        core_view=differences(*[[u[1] for u in side] for side in units]),
    )
    first.against = found
    if one_each:
        message = (
            "One run on each side is compared: how much runs differ among themselves is not in the"
            " intervals"
        )
        first.doubts = [*first.doubts, schema.doubt("one_run_each", message)]
    if not found.slot_view:
        found.reason = first.slot_view.reason
    return first


def _several(units: list[list[tuple[View, View]]]) -> bool:
    return any(len(side) > 1 for side in units)


def _units(run: Run, window: str | None) -> list[str | None]:
    """Names of the windows that a run is compared by: its measured iterations."""
    known = windows(run)
    if window is not None or not known[0].iterations:
        return [window]
    return [f"iteration/{number}" for number in known[0].iterations]


def _flat(side: list[list[LedgerReport]]) -> list[tuple[View, View]]:
    return [(report.slot_view, report.core_view) for run in side for report in run]


def _mean(run: list[LedgerReport]) -> tuple[View, View]:
    views = _flat([run])
    return mean_view([v[0] for v in views]), mean_view([v[1] for v in views])
