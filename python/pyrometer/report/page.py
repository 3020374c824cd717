"""The report of a run: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.accounts.ledger.walk import ledger_walk, walk
from pyrometer.accounts.window import open_scope
from pyrometer.attribution.samples import define_stack_labels
from pyrometer.characterise.queries import characterise
from pyrometer.core.beside import Beside
from pyrometer.core.errors import UsageError
from pyrometer.pages.page import ReportData, write_page
from pyrometer.report.data import Drawn, build, draw
from pyrometer.report.findings import Find, computed, findings_data
from pyrometer.store import Run
from pyrometer.store.paths import RunPaths
from pyrometer.store.remote.opened import beside, mirror_of, place_of
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope
from pyrometer.window.windows import APPLICATION, choose


@dataclass(frozen=True)
class Parts:
    """What the page of a run shows beside its summary and findings.

    Attributes
    ----------
    drawn : Drawn
        Timeline and flame graph.
    queries : dict or None
        The suite query by query, where it was one.
    """

    drawn: Drawn
    queries: dict[str, Any] | None


def parts(run: Run, summary: Summary) -> Parts:
    """Collect them; the run is then cut to another window than that of its summary."""
    define_stack_labels(Scope(run, choose(run, APPLICATION)))
    queries = _queries(run, summary)
    return Parts(draw(run.tables, run.facts()), queries)


@contextmanager
def parts_beside(run: Run, summary: Summary) -> Iterator[Callable[[], Parts] | None]:
    """Collect `parts` on another thread meanwhile, if the run is small; else give None.

    What a large run's queries hold in memory is as large as the run, and is not held twice.
    """
    if not run.tables.is_small:
        yield None
        return
    with run.on_host() as own, Beside(lambda: parts(own, summary)) as collected:
        yield collected.outcome


def page_data(
    scope: Scope,
    summary: Summary,
    find: Find = computed,
    collected: Callable[[], Parts] | None = None,
) -> ReportData:
    """Collect what the page of a run shows.

    Parameters
    ----------
    scope : Scope
        The run, cut to the window of the summary; nothing else was cut out of it since.
    summary : Summary
        Its summary.
    find : callable
        What is asked for its findings.
    collected : callable, optional
        What is asked for its `parts`, where they are collected beside (`parts_beside`).
    """
    run = scope.run
    found = findings_data(scope, summary, find)
    shown = summary.model_dump(mode="json", by_alias=True)
    walked = ledger_walk(walk(scope))
    others = parts(run, summary) if collected is None else collected()
    return build(shown, run.facts(), others.drawn, others.queries, walked, found)


def _queries(run: Run, summary: Summary) -> dict[str, Any] | None:
    # Only the runner of a suite (or of a SQL file) names parts of an iteration.
    if run.manifest is None or not any(result.parts for result in run.manifest.results):
        return None
    try:
        return characterise(run, summary.doubts).model_dump(mode="json", by_alias=True)
    except UsageError as error:
        return {"reason": f"{error.message}."}


def write_run_report(
    run: str | Path, path: str | Path | None = None, find: Find = computed
) -> Path:
    """Summarise a run and write its report.

    Parameters
    ----------
    run : str or Path
        A run directory or an event log.
    path : str or Path, optional
        The file to write. Default: ``report.html`` in the run directory; for an event log
        ``<log>.report.html`` in the current directory, as for a run at an address.
    find : callable
        What is asked for its findings.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    UsageError
        If there is no run at ``run``, or the file cannot be written.
    """
    run = place_of(run)
    with Run.open(run) as opened:
        scope = open_scope(opened, None)
        summary = summarise(scope)
        with parts_beside(opened, summary) as collected:
            data = page_data(scope, summary, find, collected)
    target = Path(path) if path is not None else _default_path(run)
    write_page(data, target)
    return target


def _default_path(run: Path) -> Path:
    paths = RunPaths(run)
    if mirror_of(run) is not None:
        return beside(run, paths.report.name)
    if paths.manifest.is_file() or paths.raw.is_dir() or paths.tables.is_dir():
        return paths.report
    return Path(f"{run.name}.report.html")
