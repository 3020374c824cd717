"""Worlds that are written and summarised once, however many tests begin with the same one."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import NamedTuple

from tests.support.simulation.simulated import Log
from tests.support.tables import World

from pyrometer.accounts.window import open_scope
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope

MOST_OPEN = 4


class Summarised(NamedTuple):
    """An open world, and its summary: each test changes a copy of its own."""

    scope: Scope
    summary: Summary


_OPEN: dict[str, Summarised] = {}
"""The worlds that were asked for last, by the digest of their rows."""


@contextmanager
def summarised(folder: Path, world: World | Log) -> Iterator[tuple[Scope, Summary]]:
    """Open and summarise a world, or take one of the same rows that is open already.

    What is done with it is undone: tables that are defined meanwhile, what is kept, the summary.

    Parameters
    ----------
    folder : Path
        Where the world is written, unless one of the same rows is open.
    world : World or Log
        What to summarise.
    """
    digest = hashlib.sha256(marshal.dumps(world.rows, 2)).hexdigest()
    found = _OPEN.pop(digest, None) or _summarised(world.write(folder))
    try:
        with _undone(found.scope) as scope:
            yield scope, found.summary.model_copy(deep=True)
    finally:
        if _in_memory(found.scope):
            _OPEN[digest] = found
        else:
            found.scope.run.close()
        while len(_OPEN) > MOST_OPEN:
            _OPEN.pop(next(iter(_OPEN))).scope.run.close()


def _summarised(folder: Path) -> Summarised:
    scope = open_scope(Run.open(folder), None)
    return Summarised(scope, summarise(scope))


@contextmanager
def _undone(scope: Scope) -> Iterator[Scope]:
    tables = scope.tables
    defined, of_window = set(tables.defined), set(tables.of_window)
    own = copy(scope)
    own.kept = dict(scope.kept)
    tables.connection.execute("BEGIN")
    try:
        yield own
    finally:
        tables.connection.execute("ROLLBACK")
        tables.defined, tables.of_window = defined, of_window


def _in_memory(scope: Scope) -> bool:
    """Whether nothing is read from files, which are gone when the test has passed."""
    views = "SELECT count(*) FROM duckdb_views() WHERE sql LIKE '%read_parquet%'"
    return not scope.tables.scalar(views)
