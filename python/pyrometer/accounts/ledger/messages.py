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
    launch, result = _positive(mine.launch, mine.result)
    parts, rest = {}, overlap_ns
    for name, value in (("result", result), ("unsplit", mine.unsplit), ("launch", launch)):
        less = max(0, min(value, rest))
        parts[name], rest = value - less, rest - less
    rows = [
        _part("launch", parts["launch"], mine.launch_low - launch + parts["launch"],
              mine.launch_high - launch + parts["launch"], mine.parted, _LAUNCH),
        _part("result", parts["result"], mine.result_low - result + parts["result"],
              mine.result_high - result + parts["result"], mine.parted, _RESULT),
    ]  # fmt: skip
    if mine.unsplit_attempts:
        n = mine.unsplit_attempts
        rows.append(
            Row(path=f"{PATH}/not_split", parent=PATH, value_ns=parts["unsplit"], n=n,
                method="by_complement", source=_UNSPLIT)
        )  # fmt: skip
    return rows


def _positive(launch: int, result: int) -> tuple[int, int]:
    """Leave no part below nothing where both are more: clocks and milliseconds made it that."""
    whole = launch + result
    launch = min(max(launch, min(0, whole)), max(0, whole))
    return launch, whole - launch


def _part(name: str, value: int, low: int, high: int, n: int, source: str) -> Row:
    return Row(
        path=f"{PATH}/{name}",
        parent=PATH,
        value_ns=value,
        low_ns=min(value, max(0, low)),
        high_ns=max(value, high),
        n=n,
        method="by_complement",
        source=f"plugin and event log: {source}",
    )
