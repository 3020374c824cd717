"""What Iceberg reads before a query to know the files of a table, and what a rewrite leaves of it.

Each manifest names files, with statistics of their columns: it is opened, and every entry decoded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.driver_time import jobs_of, nodes_of
from pyrometer.explain.evidence.plan_nodes import metric, plans
from pyrometer.explain.evidence.saying import compact
from pyrometer.explain.evidence.tables import iceberg
from pyrometer.explain.facts import Facts
from pyrometer.explain.what_if import Extent

OPENING = (50, 300, 3000)
"""Entries whose decoding takes as long as opening a manifest: at least (local), expected, at most
(in an object store). Assumed."""
FILES_NAMED = 10_000
"""Entries of a manifest of 8 MiB, the default of ``commit.manifest.target-size-bytes``. Assumed."""

ORDINARY_NS = 0.5e9
"""What reading a few manifests takes, at most: 0.43 s of nine scans of up to ten files (two busy
CPUs, Spark 3.5 and Iceberg 1.10, 2026-12-01). Loading of classes is part of it."""

_TOOK = "total planning duration (ms)"
_MANIFESTS = ("number of scanned data manifests", "number of scanned delete manifests")
_ENTRIES = (iceberg.FILES, "number of skipped data files", iceberg.INDEXED)


@dataclass(frozen=True)
class Planning:
    """What a scan's files were found by.

    Attributes
    ----------
    less : dict of int to float
        The driver's time for it beyond `ORDINARY_NS`, by node of the graph.
    files, size_bytes, wanted : int
        Data files of the scan, and how many would hold the same.
    entries : int
        All files that the manifests name.
    """

    sql_id: int
    node: Node
    took_ns: float
    less: dict[int, float]
    manifests: int
    entries: int
    files: int
    size_bytes: int
    wanted: int

    @property
    def extent(self) -> Extent:
        """How much of the time a rewrite saves; at least half of what it leaves out."""
        entries = math.ceil(self.entries * self.wanted / self.files)
        manifests = min(self.manifests, math.ceil(entries / FILES_NAMED))
        shares = [
            1 - (one * manifests + entries) / (one * self.manifests + self.entries)
            for one in OPENING
        ]
        return Extent(shares[1], min(shares) / 2, max(shares), self.manifests)


def plannings(facts: Facts) -> Iterator[Planning]:
    """Give the scans whose manifests the driver read before their queries' first jobs."""
    begins: dict[int | None, int] = {}
    for job in jobs_of(facts):
        begins.setdefault(job.sql_id, job.submit)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            took_ns = (metric(node, _TOOK) or 0) * 1e6
            manifests, entries = (
                sum(metric(node, name) or 0 for name in names) for names in (_MANIFESTS, _ENTRIES)
            )
            files, begin = metric(node, iceberg.FILES), begins.get(plan.sql.sql_id)
            over = took_ns - ORDINARY_NS
            if over <= 0 or not files or not manifests or begin is None:
                continue
            less = nodes_of(facts, [(begin - over, begin)])
            size = metric(node, iceberg.SIZE) or 0
            if less:
                yield Planning(
                    plan.sql.sql_id, node, took_ns, less, manifests, entries, files, size,
                    min(files, compact(size, 1)[0]),
                )  # fmt: skip
