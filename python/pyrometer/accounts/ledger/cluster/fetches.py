"""What tasks waited for shuffle blocks, split by where these were, and by what served them.

The event log has one number for a task. It is split by task, as far as one read from one side alone
or its remote requests took less time; and what tasks waited for others is divided by what those who
serve blocks did meanwhile (`serving`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

from pyrometer.accounts.ledger.cluster.served import KINDS, NETWORK, UNSEEN, Served
from pyrometer.accounts.ledger.cluster.serving import serving
from pyrometer.accounts.ledger.schema import Row
from pyrometer.core.units import counted, size
from pyrometer.window.scope import Scope

_EVENT_LOG = "event log"
_SERVERS = "threads that serve blocks, while tasks waited for others'"
_MEANINGS = {
    "disk": "they waited for a disk",
    "on_cpu": "they were on a CPU",
    "run_queue": "they waited for a CPU",
    "gc_pause": "the collector had stopped their JVM",
    NETWORK: "none of them was at work: blocks were on their way, or it is not known",
    UNSEEN: "not all of them were observed",
}
# Waits beyond the duration of all remote requests were for blocks of the own host.
_FETCHES = """
SELECT l.app_index, l.task_attempt_id, l.fetch_wait_ns AS wait, far, near, far_blocks, near_blocks,
  CASE WHEN far > 0 AND near > 0 THEN 'both' WHEN far > 0 THEN 'remote' ELSE 'local' END AS side,
  CASE WHEN far > 0 AND near > 0
    THEN coalesce(greatest(0, 1 - requests / nullif(waited, 0)), 0) * l.fetch_wait_ns
    ELSE 0 END AS beyond, far > 0 AND near > 0 AND requests IS NOT NULL AS limited
FROM l_tasks l JOIN (SELECT app_index, task_attempt_id,
    max(coalesce(shuffle_read_remote_bytes, 0)) AS far,
    max(coalesce(shuffle_read_local_bytes, 0)) AS near,
    max(coalesce(shuffle_remote_blocks_fetched_count, 0)) AS far_blocks,
    max(coalesce(shuffle_local_blocks_fetched_count, 0)) AS near_blocks,
    max(shuffle_fetch_wait_time_ns)::DOUBLE AS waited,
    max(shuffle_remote_requests_duration_ns)::DOUBLE AS requests
  FROM w_tasks GROUP BY ALL) t USING (app_index, task_attempt_id)
WHERE l.fetch_wait_ns > 0
"""
_SIDES = """
SELECT side, count(*) AS n, round(sum(wait))::BIGINT AS wait, round(sum(beyond))::BIGINT AS beyond,
  sum(far)::BIGINT AS far, sum(near)::BIGINT AS near, sum(far_blocks)::BIGINT AS far_blocks,
  sum(near_blocks)::BIGINT AS near_blocks, count(*) FILTER (beyond > 0) AS beyond_n,
  bool_and(limited) AS limited
FROM l_fetches GROUP BY side ORDER BY side
"""


def fetch_memos(scope: Scope) -> list[Row]:
    """Give what the tasks of a window waited for shuffle blocks; none where no task did."""
    scope.tables.define("l_fetches", _FETCHES)
    sides = {row["side"]: row for row in scope.tables.records(_SIDES)}
    if not sides:
        return []
    both = sides.get("both", {})
    rows = [
        Row(
            path="shuffle_fetch",
            value_ns=sum(row["wait"] for row in sides.values()),
            n=sum(row["n"] for row in sides.values()),
            source=f"{_EVENT_LOG}: Fetch Wait Time; it lies inside task",
        )
    ]
    local = _local(sides.get("local", {}), both)
    rows += [local] if local else []
    far = [_far(side, sides[side]) for side in ("remote", "both") if side in sides]
    far = [row for row in far if row.value_ns]
    # What threads of other hosts did is not read for one host alone.
    split = None if scope.tables.hosts or not far else serving(scope)
    for row in far:
        rows.append(row)
        side = row.path.rpartition("/")[2]
        if split is None:
            continue
        seen = split.sides.get(side)
        if seen is None or seen.parts[UNSEEN] >= sum(seen.parts.values()):
            rows.append(_not_observed(row, split.reason or "no wait of such a task was seen"))
        else:
            rows += _served(row, seen, split.reason)
    return rows


def _not_observed(whole: Row, why: str) -> Row:
    return Row(
        path=f"{whole.path}/{UNSEEN}",
        parent=whole.path,
        method="unavailable",
        source=f"disk, CPU and network of those who served them: {why}",
    )


def _local(local: Mapping[str, Any], both: Mapping[str, Any]) -> Row | None:
    beyond = both.get("beyond", 0)
    value = local.get("wait", 0) + beyond
    if not value:
        return None
    parts = []
    if local:
        blocks = f"{counted(local['near_blocks'], 'local block')} of {size(local['near'])}"
        parts.append(f"tasks that read from their own host alone: {blocks}")
    if beyond:
        parts.append("what others waited for longer than all their remote requests took")
    n = local.get("n", 0) + both.get("beyond_n", 0)
    return Row(path="shuffle_fetch/local", parent="shuffle_fetch", value_ns=value, n=n,
               source=f"{_EVENT_LOG}: {'; '.join(parts)}")  # fmt: skip


def _far(side: str, found: Mapping[str, Any]) -> Row:
    remote = f"{counted(found['far_blocks'], 'remote block')} of {size(found['far'])}"
    local = f"{counted(found['near_blocks'], 'local block')} of {size(found['near'])}"
    limit = ", but for what exceeds their remote requests," if found["limited"] else ""
    text = {
        "remote": f"tasks that read from other hosts alone: {remote}",
        "both": f"tasks that read from both: which they waited for{limit} is not in the log;"
        f" {remote}, {local}",
    }[side]
    return Row(
        path=f"shuffle_fetch/{side}",
        parent="shuffle_fetch",
        value_ns=found["wait"] - found["beyond"],
        n=found["n"],
        source=f"{_EVENT_LOG}: {text}",
    )


def _served(whole: Row, seen: Served, reason: str | None) -> list[Row]:
    """Divide a wait as the part of it that was seen; the parts add up to it."""
    names = [name for name in (*KINDS, NETWORK, UNSEEN) if seen.parts[name] > 0]
    value = whole.value_ns or 0
    observed = sum(seen.parts.values())
    ends = [round(value * up / observed) for up in accumulate(seen.parts[name] for name in names)]
    rows = []
    for name, (begin, end) in zip(names, pairwise([0, *ends[:-1], value]), strict=True):
        part = end - begin
        low = round(value * seen.least_network / observed) if name == NETWORK else 0
        high = round(value * seen.most[name] / observed)
        if name == UNSEEN:
            low = high = part
        also = f" ({reason})" if name == UNSEEN and reason else ""
        rows.append(
            Row(
                path=f"{whole.path}/{name}",
                parent=whole.path,
                value_ns=part,
                low_ns=min(low, part),
                high_ns=max(high, part),
                method="apportioned",
                source=f"probe: {_SERVERS}: {_MEANINGS[name]}{also}",
            )
        )
    return rows
