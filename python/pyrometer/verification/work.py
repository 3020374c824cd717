"""Whether two programs did the same work, by what their runs show where no result is known. Pure.

A remedy may be to read less, or to run fewer jobs. It is never to write fewer rows, except for
those of a few rules (`WRITE_LESS`), nor to do nothing at all of what else was done before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from pyrometer.core import units

Work = Mapping[str, float]

NAMES = {
    "jobs": "jobs", "queries": "SQL executions", "rows_read": "rows read",
    "bytes_read": "bytes read", "rows_given": "rows that queries gave",
    "rows_written": "rows written", "bytes_written": "bytes written",
}  # fmt: skip
"""What is compared. Stages and tasks are not: plans are free to have others."""
WRITTEN = "rows_written"
ALL_WRITTEN = frozenset({WRITTEN, "bytes_written"})
WRITE_LESS = frozenset({"write.rows-copied", "driver.many-small-jobs"})
"""Rules with a remedy that writes less by intention: marks of deleted rows instead of copies, and
fewer batches of a stream, each of which writes what it has so far."""
HALF = 0.5
"""Of what was done before: a remedy that saves what was predicted may leave less. One that saves
more than the prediction holds possible, and leaves less than this, has lost some of the work."""


def other_work(
    before: Sequence[Work], after: Sequence[Work], beyond: bool, writes_less: bool = False
) -> str | None:
    """Say what of the work is missing in the runs with a remedy; ``None``: nothing is known to be.

    Parameters
    ----------
    before, after : sequence of mapping
        The work of each run, as it was and with the remedy.
    beyond : bool
        More was saved than the prediction holds possible.
    writes_less : bool
        The remedy may be to write less: `fewer_rows` tells it.

    Examples
    --------
    >>> other_work([{"jobs": 5.0}], [{"jobs": 0.0}], beyond=False)
    'jobs: 0 instead of 5'
    >>> other_work([{"rows_read": 100.0}], [{"rows_read": 40.0}], beyond=False)
    >>> other_work([{"rows_read": 100.0}], [{"rows_read": 40.0}], beyond=True)
    'rows read: 40 instead of 100'
    """
    less = [
        _told(name, x, y)
        for name, x, y in _both(before, after)
        if _less(name, x, y, beyond) and not (writes_less and name in ALL_WRITTEN)
    ]
    return ", ".join(less) or None


def fewer_rows(before: Sequence[Work], after: Sequence[Work]) -> str | None:
    """Say how many rows fewer were written with the remedy; ``None``: not fewer."""
    return next(
        (
            _told(name, x, y)
            for name, x, y in _both(before, after)
            if name == WRITTEN and _less(name, x, y, beyond=False)
        ),
        None,
    )


def compared(before: Sequence[Work], after: Sequence[Work]) -> str | None:
    """Write the work of both, as far as the runs show it."""
    found = [
        f"{NAMES[name]} {_amount(name, median(x))} → {_amount(name, median(y))}"
        for name, x, y in _both(before, after)
        if any(x) or any(y)
    ]
    return ", ".join(found) or None


def _both(
    before: Sequence[Work], after: Sequence[Work]
) -> Iterator[tuple[str, list[float], list[float]]]:
    for name in NAMES:
        x, y = ([one[name] for one in side if name in one] for side in (before, after))
        if x and y:
            yield name, x, y


def _less(name: str, x: Sequence[float], y: Sequence[float], beyond: bool) -> bool:
    if min(x) > 0 >= max(y):
        return True
    if name == WRITTEN:
        # Where the number differs from run to run, by more than it does as it was.
        return max(y) < min(x) - (max(x) - min(x))
    return beyond and max(y) < HALF * min(x)


def _told(name: str, x: Sequence[float], y: Sequence[float]) -> str:
    return f"{NAMES[name]}: {_amount(name, median(y))} instead of {_amount(name, median(x))}"


def _amount(name: str, value: float) -> str:
    return units.size(value) if name.startswith("bytes") else units.count(round(value))
