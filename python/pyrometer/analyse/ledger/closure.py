"""The three figures under a view of the ledger: closure, unclassified, sampling error."""

from __future__ import annotations

from pyrometer.analyse.attribution import UNCLASSIFIED
from pyrometer.analyse.model import Row, View

SHARE_OF_PARENT = "share of the row above"
NOT_ADDED = ("exited_threads",)


def close(
    window: str, total_ns: int, rows: list[Row], memos: list[Row], resolution_ns: int | None
) -> View:
    """Put the three figures under a view: closure, unclassified, sampling error."""
    if not total_ns:
        return View(window=window, rows=rows, memos=memos, reason="the window has no length")
    for row in [*rows, *memos]:
        row.share = None if row.value_ns is None else row.value_ns / total_ns
    unclassified = sum(r.value_ns or 0 for r in rows if r.path.rsplit("/", 1)[-1] == UNCLASSIFIED)
    halves = [
        (r.high_ns - r.low_ns) / 2
        for r in rows
        if r.method == "sampled" and r.high_ns is not None and r.low_ns is not None
    ]
    return View(
        window=window,
        total_ns=total_ns,
        rows=rows,
        memos=memos,
        closure_ratio=(sum(addends(rows).values()) - total_ns) / total_ns,
        unclassified_ratio=unclassified / total_ns,
        sampling_error_ratio=max(halves) / total_ns if halves else None,
        resolution_ns=resolution_ns,
    )


def addends(rows: list[Row]) -> dict[str, int]:
    """Rows that closure adds up: the finest that were obtained independently.

    A row counts through its children where these are not shares of it, made neither by sampling it
    nor by subtraction from it; else it counts itself.
    """
    children: dict[str | None, list[Row]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row)
    found: dict[str, int] = {}

    def visit(row: Row) -> None:
        parts = children.get(row.path, [])
        if any(p.source.startswith(SHARE_OF_PARENT) for p in parts) or any(
            p.method in ("by_complement", "unavailable") for p in parts
        ):
            parts = []
        if parts:
            for part in parts:
                visit(part)
        elif row.value_ns is not None and not (
            row.path in NOT_ADDED and row.method == "by_complement"
        ):
            found[row.path] = row.value_ns

    for top in children.get(None, []):
        visit(top)
    return found
