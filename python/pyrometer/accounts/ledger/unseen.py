"""What it means that a row is not there: no time of its kind, or nobody looked."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.accounts.ledger.in_task import PATH, STATES
from pyrometer.accounts.ledger.rows import WALL_SAMPLES
from pyrometer.accounts.ledger.schema import Row
from pyrometer.core.schema import wait_classes

NOT_OBSERVED = "what tasks waited for was not observed: --profile full, or cpu,wall"


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
