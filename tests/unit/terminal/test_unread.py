"""Output that nobody reads: results end quietly, progress and messages end nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyrometer.core.errors import ReaderGoneError
from pyrometer.terminal import console


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Consoles of this test alone: one that nobody reads stays silent."""
    console.out.cache_clear()
    console.err.cache_clear()
    yield
    console.out.cache_clear()
    console.err.cache_clear()


@contextmanager
def unread() -> Iterator[None]:
    """Standard output and error of which nobody reads the other end."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", buffering=1) as stream, pytest.MonkeyPatch.context() as patch:
        # Here, as pytest sets them before each phase of a test.
        patch.setattr("sys.stdout", stream)
        patch.setattr("sys.stderr", stream)
        yield
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)


def test_messages_that_nobody_reads_end_no_work() -> None:
    with unread():
        console.err().print("trial 1 of 40")
        console.err().print("trial 2 of 40")
        assert console.err().quiet


def test_results_that_nobody_reads_say_so_once() -> None:
    with unread():
        with pytest.raises(ReaderGoneError):
            console.out().print("findings")
        console.out().print("more")
