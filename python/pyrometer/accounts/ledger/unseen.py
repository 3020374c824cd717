"""What it means that a row is not there: no time of its kind, or nobody looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyrometer.accounts.ledger.core_view import PATH as EXITED
from pyrometer.accounts.ledger.delays import NO_PROBE
from pyrometer.accounts.ledger.in_task import PATH, STATES
from pyrometer.accounts.ledger.rows import WALL_SAMPLES
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.core.schema import wait_classes

NOT_OBSERVED = "what tasks waited for was not observed: --profile full, or cpu,wall"
NO_SAMPLES = "no samples split the row above it"
NO_EXITS = "no exits of threads were reported in this run"
NO_GC_LOG = "no GC log in this run"
# Each has a source of its own, without which the row is left out.
_OF_TASKS = {
    PATH: NOT_OBSERVED,
    "task/off_cpu": "this run shows what tasks waited for, so it has no such row",
    "task/run_queue": NO_PROBE,
    "task/steal": NO_PROBE,
    "task/gc_pause": NO_GC_LOG,
    "task/shuffle_fetch": "only runs without the plugin have this row",
}


def why_unknown(rows: Sequence[Row], path: str) -> str | None:
    """Say why the time of a row that is not among `rows` is unknown; ``None``: it is zero.

    A wait class has no row where nothing was seen of it. That is no time only if it would have been
    seen: states of threads show all classes, stacks of the profiler only some.
    """
    above, _, name = path.rpartition("/")
    told_by_stacks = wait_classes().get(name)
    if above != PATH or told_by_stacks is None:
        return f"ledger: no row {path} of this run"
    waited = [row for row in rows if row.path == PATH or row.path.startswith(f"{PATH}/")]
    whole = next((row.value_ns for row in waited if row.path == PATH), None)
    if whole == 0 or any(STATES in row.source for row in waited):
        return None
    if not any(WALL_SAMPLES in row.source for row in waited):
        return NOT_OBSERVED
    if not told_by_stacks:
        return f"stacks of the profiler do not show {name}: states that the probe sees do"
    return None


def why_missing(view: View, rows: Mapping[str, Row], path: str) -> str | None:
    """Say why a view lacks the time of a row that another view has; ``None``: it has it, or zero.

    Parameters
    ----------
    view : View
        The view.
    rows : mapping of str to Row
        Its rows by path.
    path : str
        Path of the row.
    """
    row = rows.get(path)
    if row is not None:
        return row.source if row.value_ns is None else None
    if not rows and view.total_ns is None:
        return view.reason or "there is no such view"
    within = [memo.source for memo in view.memos if memo.path == path]
    above, _, name = path.rpartition("/")
    if within or not above:
        return within[0] if within else None
    why = why_missing(view, rows, above)
    if why is not None or above not in rows:
        return why
    if above == PATH:
        return why_unknown(list(rows.values()), path) if name in wait_classes() else None
    if above == "task" and "task/on_cpu" in rows:
        queue = rows.get("task/run_queue")
        probed = queue is not None and queue.value_ns is not None
        # Of a machine from which nothing was stolen there is no such row.
        return None if path == "task/steal" and probed else _OF_TASKS.get(path)
    split = above == "task/on_cpu" or "/" not in above
    if split and rows[above].value_ns and not any(one.parent == above for one in rows.values()):
        return NO_EXITS if above == EXITED else NO_SAMPLES
    return None
