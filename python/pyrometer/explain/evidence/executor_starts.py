"""When the processes of executors started: what went by before is the cluster's."""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster.process_starts import define_process_starts
from pyrometer.explain.facts import Facts

MOST_ERROR_NS = 10**9
"""A start that is known no better than this tells nothing beside seconds."""
_STARTS = """
SELECT executor_id, began_wall_ns FROM l_process_starts
WHERE app_index = $1 AND began_wall_ns IS NOT NULL AND error_ns <= $2
"""


def process_starts(facts: Facts) -> dict[str, int]:
    """Give when the process of each executor started, by the driver's clock, where that is known.

    Parameters
    ----------
    facts : Facts
        With an application that can be scheduled.
    """
    if facts.measured is None or not facts.tables.has("processes"):
        return {}
    define_process_starts(facts.scope)
    return dict(facts.tables.query(_STARTS, [facts.measured.app_index, MOST_ERROR_NS]))
