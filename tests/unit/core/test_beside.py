"""Work on a thread of its own: what it gives, raises, and does without a thread."""

from __future__ import annotations

import threading

import pytest

from pyrometer.core.beside import Beside


def test_it_goes_on_while_the_caller_does_and_ends_with_the_block() -> None:
    met, over = threading.Barrier(2, timeout=20), threading.Event()

    def work() -> str:
        met.wait()
        over.set()
        return "done"

    with Beside(work) as beside:
        met.wait()
    assert over.is_set()
    assert beside.outcome() == beside.outcome() == "done"


def test_what_it_raises_is_raised_where_its_outcome_is_asked_for() -> None:
    def work() -> None:
        raise ValueError("torn")

    with Beside(work) as beside, pytest.raises(ValueError, match="torn"):
        beside.outcome()


def test_where_no_thread_can_be_started_it_is_done_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    with Beside(lambda: done.append(1)) as beside:
        assert not done
        beside.outcome()
        beside.outcome()
    assert done == [1]
