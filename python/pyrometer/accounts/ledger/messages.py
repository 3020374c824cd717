"""Scheduler delay of tasks by the way of its messages: to the executor, and back to the driver.

The plugin saw when a task began and ended in its executor; the event log has when the driver
launched it and noted its end. So each way is known as well as the clock of the executor's host is.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.schema import Row
from pyrometer.accounts.ledger.sums import Sums

PATH = "scheduler_delay"
_LAUNCH = (
    "from the launch by the driver until its executor began it, without deserialisation: the"
    " message, the executor's queue and thread"
)
_RESULT = (
    "from its end in the executor until the driver noted it, without fetching the result: the"
    " message, the driver's queues"
)
_UNSPLIT = (
    "attempts without a span, that the driver gave up, or on hosts whose clocks nothing bounds"
)


def delay_parts(mine: Sums, overlap_ns: int) -> list[Row]:
    """Split the scheduler delay of some tasks; no rows where none of it can be split.

    Parameters
    ----------
    mine : Sums
        Of the tasks.
    overlap_ns : int
        Delay in which the slot already ran the next attempt, which is no slot time: it is that of
        results first, as the driver notes an end after it has given the slot away.
    """
    if not mine.parted:
        return []
    result = _less(mine.result, overlap_ns)
    overlap_ns -= mine.result - result
    unsplit = _less(mine.unsplit, overlap_ns)
    launch = _less(mine.launch, overlap_ns - (mine.unsplit - unsplit))
    rows = [
        _part("launch", launch, mine.launch_low - (mine.launch - launch),
              mine.launch_high - (mine.launch - launch), mine.parted, _LAUNCH),
        _part("result", result, mine.result_low - (mine.result - result),
              mine.result_high - (mine.result - result), mine.parted, _RESULT),
    ]  # fmt: skip
    if mine.unsplit_attempts:
        n = mine.unsplit_attempts
        rows.append(
            Row(path=f"{PATH}/not_split", parent=PATH, value_ns=unsplit, n=n,
                method="by_complement", source=_UNSPLIT)
        )  # fmt: skip
    return rows


def _less(value: int, overlap_ns: int) -> int:
    return value - max(0, min(value, overlap_ns))


def _part(name: str, value: int, low: int, high: int, n: int, source: str) -> Row:
    return Row(
        path=f"{PATH}/{name}",
        parent=PATH,
        value_ns=value,
        low_ns=min(value, max(0, low)),
        high_ns=high,
        n=n,
        method="by_complement",
        source=f"plugin and event log: {source}",
    )
