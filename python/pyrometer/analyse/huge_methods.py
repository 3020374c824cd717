"""Generated methods that HotSpot leaves to its interpreter because they are too large.

HotSpot compiles no method of more than 8000 bytes of bytecode (``HugeMethodLimit`` in
``src/hotspot/share/runtime/globals.hpp``) unless it runs with ``-XX:-DontCompileHugeMethods``.
"""

from __future__ import annotations

from collections import defaultdict

from pyrometer.analyse.attribution import attribution
from pyrometer.analyse.model import HugeMethod
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.sourced_plan import plans

LIMIT_BYTES = 8000
_COMPILED_ALL_THE_SAME = "-XX:-DontCompileHugeMethods"


def too_large_to_compile(scope: Scope) -> list[HugeMethod]:
    """Clusters sampled in the window whose source has such a method, the dearest first."""
    facts = scope.tables.query("SELECT facts FROM processes WHERE facts IS NOT NULL")
    if any(_COMPILED_ALL_THE_SAME in text for (text,) in facts):
        return []
    samples: dict[tuple[int | None, int | None, int | None], int] = defaultdict(int)
    for owner, bucket in attribution(scope).buckets.items():
        samples[(owner.app_index, owner.sql_id, owner.node_id)] += bucket.on_cpu
    made = []
    for (app, sql_id), plan in plans(scope).items():
        for cluster in plan.clusters:
            sizes = [source.max_method_bytes or 0 for source in cluster.sources]
            nodes = (cluster.node, *cluster.members)
            hits = sum(samples[(app, sql_id, node.node_id)] for node in nodes)
            if not hits or not sizes or min(sizes) <= LIMIT_BYTES:
                continue
            made.append(
                HugeMethod(
                    app_index=app,
                    sql_id=sql_id,
                    codegen_stage_id=cluster.node.codegen_stage_id or 0,
                    node_id=cluster.node.node_id,
                    node_ids=[node.node_id for node in cluster.members],
                    operators=[node.operator for node in cluster.members],
                    max_method_bytes=min(sizes),
                    limit_bytes=LIMIT_BYTES,
                    samples_count=hits,
                )
            )
    return sorted(made, key=lambda h: (-h.samples_count, h.sql_id or 0, h.node_id))
