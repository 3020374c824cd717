"""From raw streams to tables, summary and report: what follows every measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from pyrometer.collect.launch.observe import Watch
from pyrometer.collect.launch.record import Record

if TYPE_CHECKING:
    from pyrometer.explain.schema import Findings
    from pyrometer.pages.page import ReportData
    from pyrometer.report.page import Parts
    from pyrometer.store import Run
    from pyrometer.summary.schema import Summary
    from pyrometer.window.scope import Scope


def derive(record: Record, watch: Watch, report: bool) -> Summary | None:
    """Make tables, summary and report; a step that fails becomes a doubt."""
    # Imported here: earlier, their half CPU-second would be taken from the application.
    from pyrometer.core.beside import Beside
    from pyrometer.store.ingest import ingest_run
    from pyrometer.store.private import keep_private

    summary = None
    try:
        with _step("ingest", record, watch), Beside(_import_summary) as ready:
            ingest_run(record.paths.root)
            ready.outcome()
        from pyrometer.accounts.window import open_scope
        from pyrometer.pages.page import write_page
        from pyrometer.store import Run, write_rows
        from pyrometer.store.tables_folder import note_written
        from pyrometer.summary.summary import ledger_tables, summarise

        with Run.open(record.paths.root) as opened, Beside(_import_report):
            with _step("summary", record, watch):
                scope = open_scope(opened, None)
                summary = summarise(scope)
                ledgers = ledger_tables(summary)
                note_written(record.paths.tables, ledgers)
                for table, rows in ledgers.items():
                    write_rows(record.paths.tables, table, rows)
            with _parts(opened, summary, report) as collected:
                # The reader of the output may have gone; the report is still written.
                found = None
                with suppress(OSError), _step("findings", record, watch):
                    found = watch.summarised(record, summary, scope)
                if report:
                    with _step("report", record, watch):
                        data = _page(scope, summary, found, collected)
                        write_page(data, record.paths.report)
    except Exception as error:
        name = record.manifest.phases[-1].name
        record.doubt("analysis_failed", f"Step {name}: {type(error).__name__}: {error}.")
        watch.note(f"{name} failed: {error}")
    finally:
        redact_raw(record)
        record.save()
        if summary is not None:
            _keep(record, summary)
        keep_private(record.paths.root)
    return summary


def import_ahead() -> None:
    """Import what comes after an application's end, while its processes still end.

    Beside the summary, imports would hold Python's lock each time that a query has an answer.
    """
    from pyrometer.store import ingest as ingest

    _import_summary()
    _import_report()


def _import_summary() -> None:
    """Import what the summary needs and make its models ready, while the ingest is native code."""
    from pyrometer.accounts import window as window
    from pyrometer.core.model import make_ready
    from pyrometer.summary import summary
    from pyrometer.summary.schema import Summary

    make_ready(Summary)
    summary.every_rule()


def _import_report() -> None:
    """Import what findings and report need."""
    from pyrometer.explain.every_rule import every_rule
    from pyrometer.report import page as page

    every_rule()


def _parts(
    run: Run, summary: Summary, wanted: bool
) -> AbstractContextManager[Callable[[], Parts] | None]:
    """Collect parts of the page meanwhile, if a page is wanted and the run is small."""
    if not wanted:
        return nullcontext()
    from pyrometer.report.page import parts_beside

    return parts_beside(run, summary)


def _page(
    scope: Scope,
    summary: Summary,
    found: Findings | None,
    collected: Callable[[], Parts] | None,
) -> ReportData:
    """Collect what the page shows; findings that were computed for the screen are not again."""
    from pyrometer.report.page import page_data

    if found is None:
        return page_data(scope, summary, collected=collected)
    return page_data(scope, summary, lambda *_: found, collected)


def _keep(record: Record, summary: Summary) -> None:
    """Store the summary for `show`, unless something is doubted since it was computed."""
    from pyrometer.store.locate import locate
    from pyrometer.summary.kept import keep

    with suppress(Exception):
        found = locate(record.paths.root)
        if all(doubt in summary.doubts for doubt in record.manifest.doubts):
            keep(found, summary)


def redact_raw(record: Record) -> None:
    """Strike secrets out of the raw files, when nothing needs them as they were."""
    from pyrometer.core.redaction import redact_each
    from pyrometer.store.paths import raw_states
    from pyrometer.store.tables_folder import note_rewritten

    raw = record.paths.raw
    before = sum(state.st_size for state in raw_states(raw))
    for said in redact_each(sorted(raw.rglob("*"))):
        record.doubt("secrets_kept", said)
    after = sum(state.st_size for state in raw_states(raw))
    note_rewritten(record.paths.tables, after - before)


@contextmanager
def _step(name: str, record: Record, watch: Watch) -> Iterator[None]:
    watch.phase(name)
    with record.phase(name):
        yield
