"""Memos of the slot view that only a cluster has: executors that were not there, and fetches."""

from __future__ import annotations

from pyrometer.accounts.ledger.cluster.executors import executor_memos
from pyrometer.accounts.ledger.cluster.fetches import fetch_memos
from pyrometer.accounts.ledger.schema import Row
from pyrometer.window.scope import Scope


def cluster_memos(scope: Scope) -> list[Row]:
    """Give memos of executors and fetches of applications on a cluster; of others, none.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with the ledger's tasks.
    """
    apps = scope.tables.records(
        "SELECT app_index, app_id, master, spark_conf, born_wall_ns, gone_wall_ns FROM lives"
        " WHERE master IS NOT NULL AND NOT starts_with(master, 'local') ORDER BY app_index"
    )
    if not apps or not scope.window.intervals:
        return []
    if scope.tables.hosts:
        # How many executors were asked for is of all hosts together.
        return fetch_memos(scope)
    return [*executor_memos(scope, apps), *fetch_memos(scope)]
