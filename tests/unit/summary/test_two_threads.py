"""A summary made on two threads is that of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.store import Run
from pyrometer.summary import summary as summaries


def test_it_is_the_same_on_one_thread_and_on_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = World([StageSpec([1000] * 8), StageSpec([500] * 4)]).write(tmp_path)
    threads, beside = [], summaries.Beside
    monkeypatch.setattr(summaries, "Beside", lambda work: threads.append(1) or beside(work))
    found = []
    for is_small in (True, False):
        with Run.open(folder) as run:
            assert run.tables.is_small
            run.tables.is_small = is_small
            found.append(summaries.summarise(open_scope(run, None)))
    assert len(threads) == 1
    assert found[0] == found[1]
    assert found[0].stages


def test_what_fails_on_the_other_thread_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(scope: object) -> None:
        raise ValueError("no such thing")

    folder = World([StageSpec([1000] * 8)]).write(tmp_path)
    monkeypatch.setattr(summaries, "waits", breaks)
    with Run.open(folder) as run, pytest.raises(ValueError, match="no such thing"):
        summaries.summarise(open_scope(run, None))
