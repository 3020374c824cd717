"""``pyrometer experiment history``: when runs of the same treatment became slower or faster."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.shared.endings import ending_with
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.experiments.history.history import ChangePoint, HistoryReport, Series


EXAMPLES = """\b
Examples:
  pyrometer experiment history
  pyrometer experiment history nightly/ --workload parquet-scan --since 2026-03-01
  pyrometer experiment history nightly/ --fail-if "regression(wall) > 3%" -o history.html
"""

MOST_SHOWN = 20
"""Series without a change that are listed; the page, CSV and JSON have all."""


def history(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Runs, experiments, or folders that hold them. Default: ./pyrometer-runs.",
            show_default=False,
        ),
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Only runs of this workload.")] = None,
    scale: Annotated[str | None, typer.Option(help="Only runs at this scale.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only runs since this date, such as 2026-03-01 (UTC)."),
    ] = None,
    most: Annotated[
        int, typer.Option(min=8, max=500, help="How many of a series' newest runs to analyse.")
    ] = 200,
    margin: Annotated[
        str, typer.Option(metavar="PERCENT", help="Levels that differ by less count as the same.")
    ] = "2%",
    fail_if: Annotated[
        str | None,
        typer.Option("--fail-if", metavar="RULE", help='Exit code 1 if "regression(wall) > 3%".'),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the page (HTML).")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write one row per run as CSV.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find when runs of the same treatment changed, by how much, and what changed with them.

    Runs of the same workload, scale, levels, profile and machine form a series. Changes are found
    by E-divisive means with a permutation test; each has its effect with an interval.

    Exit code: 1 if --fail-if says so: a change to a level that is significantly slower, by more
    than the limit, and was not undone since.
    """
    from pyrometer.cli.shared.margin import parse_margin
    from pyrometer.collect.launch.record import HOME
    from pyrometer.experiments.history import history as analysis
    from pyrometer.experiments.history.history import write_csv, write_history
    from pyrometer.experiments.history.stored_runs import Wanted, stored_runs
    from pyrometer.experiments.judge.files import parse_rule

    rule, least = None if fail_if is None else parse_rule(fail_if), parse_margin(margin)
    wanted = Wanted(workload, scale, None if since is None else parse_date(since))
    found = stored_runs(folders or [HOME], wanted, _track)
    if not found.runs:
        raise UsageError(
            f"there is no finished run in {', '.join(map(str, folders or [HOME]))}",
            "pyrometer run parquet-scan makes one; or check --workload, --scale and --since",
        )
    report = analysis.history(found.runs, margin=least, most=most, unread=found.unread)
    failed = [] if rule is None else analysis.regressions(report, rule)
    written = (table and write_csv(report, table), page and write_history(report, page))
    console = human(as_json)
    with ending_with(typer.Exit(1) if failed else None):
        _print(console, report)
        for path in written:
            if path is not None:
                console.print(f"written: {path}", markup=False, soft_wrap=True)
        for series, change in failed:
            line = f"fails {fail_if}: {_subject(series)}: {_change(change)}"
            console.print(line, markup=False, soft_wrap=True)
        if as_json:
            document = report.model_dump(mode="json", by_alias=True)
            document["fail_if"] = rule and {
                "rule": rule.text,
                "failed": [
                    {"subject": series.subject.model_dump(), "index": change.index}
                    for series, change in failed
                ],
            }
            emit_json(document)


def parse_date(text: str) -> int:
    """Read a date, or date and time, as ns since 1970; UTC unless it names a time zone.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> parse_date("1970-01-02")
    86400000000000
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--since {text}: not a date", "--since 2026-03-01") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9


def _track(places: list[Path]) -> Iterable[Path]:
    from rich.progress import track

    return track(
        places, "reading runs", console=err(), transient=True, disable=not err().is_terminal
    )


def _print(console: Any, report: HistoryReport) -> None:
    from rich.markup import escape

    for series in [one for one in report.series if one.changes]:
        _print_changes(console, series)
    quiet = [one for one in report.series if not one.changes]
    for series in quiet[:MOST_SHOWN]:
        finding = series.reason or "no change"
        console.print(
            f"{_subject(series)}: {len(series.runs)} runs, {_level(series.levels[-1])}: {finding}",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    if len(quiet) > MOST_SHOWN:
        console.print(f"… and {len(quiet) - MOST_SHOWN} series more without a change")
    for place, reason in list(report.unread.items())[:3]:
        console.print(f"[yellow]left out[/] {escape(place)}: {escape(reason)}", soft_wrap=True)
    if len(report.unread) > 3:
        console.print(f"… and {len(report.unread) - 3} more left out (all of them: --json)")
    for doubt in report.doubts:
        console.print(f"[yellow]{doubt.severity}[/] {escape(doubt.message)} ({doubt.code})")
        console.print(f"  → {escape(doubt.remedy or '')}", soft_wrap=True)


def _print_changes(console: Any, series: Series) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(Text(_subject(series), style="bold"), soft_wrap=True)
    console.print(
        f"  {len(series.runs)} runs, now {_level(series.levels[-1])}", markup=False, soft_wrap=True
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (
        "since",
        "run (95 %)",
        "change (95 %)",
        "p",
        "verdict",
        "now",
        "what else changed",
    ):
        table.add_column(title, overflow="fold")
    for one in series.changes:
        begun = datetime.fromtimestamp(one.wall_ns / 1e9, UTC)
        facts = "; ".join(f"{fact.name} {fact.before} → {fact.behind}" for fact in one.facts)
        table.add_row(
            f"{begun:%Y-%m-%d %H:%M}", _place(one), _change(one), f"{one.p:.2g}", one.verdict,
            _percent(one.now.value), Text(facts or "nothing known"),
        )  # fmt: skip
    console.print(table)


def _subject(series: Series) -> str:
    one = series.subject
    scale = f"scale {one.scale}" if one.scale else ""
    profile = f"profile {one.profile}"
    return " · ".join(x for x in (one.workload, scale, one.treatment, profile, one.host) if x)


def _level(one: Any) -> str:
    from pyrometer.core import units

    ends = "" if one.low is None else f" [{units.digits(one.low)}, {units.digits(one.high)}]"
    return f"{units.digits(one.value)} s{ends}"


def _place(one: ChangePoint) -> str:
    place = one.place
    return f"{one.index + 1} [{(place.low or 0) + 1:.0f}, {(place.high or 0) + 1:.0f}]"


def _change(one: ChangePoint) -> str:
    change = one.change
    return f"{_percent(change.value)} ({_percent(change.low)} … {_percent(change.high)})"


def _percent(value: float | None) -> str:
    from pyrometer.compare.terminal import percent

    return percent(value)
