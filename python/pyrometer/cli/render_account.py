"""The account of plain processes as text: a tree with bars, and what processes said they did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyrometer import units
from pyrometer.cli.drawing import Justify, Look, grid, heading, indented, note, safe
from pyrometer.cli.render_ledger import view_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.analyse.model.account import Account, Annotated, Session

MOST_PROCESSES = 8
MOST_WORDS = 10
MOST_WAITS = 10


def account_lines(account: Account | None, look: Look) -> Iterator[RenderableType]:
    """Print the account; nothing where there is none."""
    if account is None:
        return
    yield heading("Account: what the threads' time went to")
    yield from view_lines(account.view, look, deep=True)
    if account.view.total_ns is None:
        return
    yield heading(f"Processes ({len(account.processes)})")
    right: Justify = "right"
    columns: list[tuple[str, Justify]] = [
        ("process", "left"), ("threads", right), ("followed", right), ("on CPU", right),
        ("run queue", right), ("asleep", right),
    ]  # fmt: skip
    rows = [
        [
            f"{one.pid} {safe(one.comm)}",
            str(one.threads_count),
            units.duration(one.followed_ns),
            units.duration(one.on_cpu_ns),
            units.duration(one.run_queue_ns),
            units.duration(one.asleep_ns),
        ]
        for one in account.processes[:MOST_PROCESSES]
    ]
    yield indented(grid(look, columns, rows))
    if len(account.processes) > MOST_PROCESSES:
        yield note(f"and {len(account.processes) - MOST_PROCESSES} more")
    if account.waits:
        yield heading("Asleep, by class and system call")
        waits = [
            [safe(one.wait_class.replace("_", " ")), safe(one.syscall or "?"),
             units.duration(one.time_ns), units.percent(one.share)]
            for one in account.waits[:MOST_WAITS]
        ]  # fmt: skip
        shape: list[tuple[str, Justify]] = [
            ("class", "left"), ("system call", "left"), ("time", right), ("of all", right),
        ]  # fmt: skip
        yield indented(grid(look, shape, waits))
    for process in account.annotated[:MOST_PROCESSES]:
        yield from _annotated(process, look)
    yield from _sessions(account.sessions)


def _annotated(process: Annotated, look: Look) -> Iterator[RenderableType]:
    if not any(word.on_cpu_ns or (word.waits and not word.idle) for word in process.words):
        return
    yield heading(f"What process {process.pid} ({safe(process.comm)}) said it did")
    right: Justify = "right"
    columns: list[tuple[str, Justify]] = [
        ("its word", "left"), ("time", right), ("share", right), ("on CPU", right),
        ("run queue", right), ("asleep", right),
    ]  # fmt: skip
    rows = [
        [
            safe(word.word),
            units.duration(word.time_ns),
            units.percent(word.share.value),
            units.duration(word.on_cpu_ns),
            units.duration(word.run_queue_ns),
            units.duration(word.asleep_ns),
        ]
        for word in process.words[:MOST_WORDS]
    ]
    yield indented(grid(look, columns, rows))
    if len(process.words) > MOST_WORDS:
        yield note(f"and {len(process.words) - MOST_WORDS} more words")


def _sessions(sessions: list[Session]) -> Iterator[RenderableType]:
    for session in sessions:
        of = "" if session.iteration is None else f"iteration {session.iteration}: "
        yield note(
            f"{of}CPU {units.percent(session.cpu_ratio)} + waits"
            f" {units.percent(session.wait_ratio)} ="
            f" {units.percent(session.cpu_and_wait_ratio)} of the time not idle;"
            f" of the waits {units.percent(session.cpu_in_wait_ratio)} were on a CPU,"
            f" {units.percent(session.asleep_in_wait_ratio)} asleep"
        )
