"""How much memory queries of tables may take."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from pyrometer.store import Tables
from pyrometer.store import tables as module

LARGE = "SELECT len(list(range)) FROM range(3_000_000)"


def test_a_query_that_cannot_do_with_less_gets_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", "16MB")
    with Tables(tmp_path) as tables:
        assert tables.scalar(LARGE) == 3_000_000
    monkeypatch.setattr(module, "MORE_MEMORY", "16MB")
    with Tables(tmp_path) as tables:
        assert tables.scalar(LARGE) == 3_000_000
        assert list(tables.batches(LARGE)) == [(3_000_000,)]
    monkeypatch.setattr(module, "MOST_MEMORY", "16MB")
    with Tables(tmp_path) as tables, pytest.raises(duckdb.OutOfMemoryException):
        tables.scalar(LARGE)


def test_what_such_a_query_got_is_not_kept_for_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", "16MB")
    limit = "SELECT current_setting('memory_limit')"
    with Tables(tmp_path) as tables:
        usual = tables.scalar(limit)
        with tables.of_hosts() as own:
            own.scalar(LARGE)
        assert tables.scalar(limit) == usual
        tables.define("large", LARGE)
        assert tables.scalar(limit) == usual
        assert tables.query("SELECT * FROM large") == [(3_000_000,)]


def test_threads_are_few_enough_for_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SMALL_BYTES", -1)
    monkeypatch.setattr(module, "_MOST_THREADS", 1)
    with Tables(tmp_path) as tables:
        assert tables.scalar("SELECT current_setting('threads')") == 1
