"""What tasks waited for shuffle blocks, split by where these were, as far as a task says.

The event log has one number for a task. It is split by task, where one read from one side alone.
"""

from __future__ import annotations

from pyrometer.accounts.ledger.schema import Row
from pyrometer.core.units import counted, size
from pyrometer.window.scope import Scope

_EVENT_LOG = "event log"
_FETCHES = """
SELECT CASE WHEN far > 0 AND near > 0 THEN 'both' WHEN far > 0 THEN 'remote' ELSE 'local' END,
  count(*), round(sum(l.fetch_wait_ns))::BIGINT, sum(far)::BIGINT, sum(near)::BIGINT,
  sum(far_blocks)::BIGINT, sum(near_blocks)::BIGINT
FROM l_tasks l JOIN (SELECT app_index, task_attempt_id,
    max(coalesce(shuffle_read_remote_bytes, 0)) AS far,
    max(coalesce(shuffle_read_local_bytes, 0)) AS near,
    max(coalesce(shuffle_remote_blocks_fetched_count, 0)) AS far_blocks,
    max(coalesce(shuffle_local_blocks_fetched_count, 0)) AS near_blocks
  FROM w_tasks GROUP BY ALL) t USING (app_index, task_attempt_id)
WHERE l.fetch_wait_ns > 0 GROUP BY 1 ORDER BY 1
"""


def fetch_memos(scope: Scope) -> list[Row]:
    """Give what the tasks of a window waited for shuffle blocks; none where no task did."""
    rows = scope.tables.query(_FETCHES)
    if not rows:
        return []
    found = [
        Row(
            path="shuffle_fetch",
            value_ns=sum(ns for _, _, ns, *_ in rows),
            n=sum(n for _, n, *_ in rows),
            source=f"{_EVENT_LOG}: Fetch Wait Time; it lies inside task",
        )
    ]
    for side, n, ns, far, near, far_blocks, near_blocks in rows:
        remote = f"{counted(far_blocks, 'remote block')} of {size(far)}"
        local = f"{counted(near_blocks, 'local block')} of {size(near)}"
        text = {
            "remote": f"tasks that read from other executors alone: {remote}",
            "local": f"tasks that read from their own executor alone: {local}",
            "both": f"tasks that read from both: which they waited for is not in the log; {remote},"
            f" {local}",
        }[side]
        found.append(
            Row(path=f"shuffle_fetch/{side}", parent="shuffle_fetch", value_ns=ns, n=n,
                source=f"{_EVENT_LOG}: {text}")
        )  # fmt: skip
    return found
