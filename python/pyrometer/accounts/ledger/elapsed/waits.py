"""What time without an executor waited for: the cluster, or the executor's own start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.cluster.awaited import PHASES
from pyrometer.accounts.ledger.cluster.process_starts import define_process_starts
from pyrometer.window.scope import Scope

UNSPLIT = "not_granted_or_starting"
NOT_GRANTED = "not_granted"
REST = f"{NOT_GRANTED}/not_split"
OF_PODS = tuple(f"{NOT_GRANTED}/{phase}" for phase in PHASES)
KINDS = (NOT_GRANTED, *OF_PODS, "starting", UNSPLIT, "registered")
"""What is waited for; the parts of `NOT_GRANTED` where the executor has a pod of Kubernetes."""
MEANINGS = {
    REST: "of the executor that came next no status of a pod is known, or none came",
    "not_granted/no_pod": "Spark had not created its pod",
    "not_granted/scheduling": "its pod had no node; by clocks of Kubernetes, ± 1 s",
    "not_granted/image_and_container": "its pod had a node: volumes, network, pull of the"
    " image, container; by clocks of Kubernetes, ± 1 s",
    "not_granted": "the executor that came next had no process: queue, placement, image, container",
    "starting": "the process of the executor that came next had started, and had not registered",
    UNSPLIT: "of the executor that came next it is not known when its process started",
    "registered": "executors had registered, and had not run a task yet",
}

Ints = NDArray[np.int64]
_ON_CLUSTER = """
SELECT count(*) > 0 FROM lives
WHERE app_index = $1 AND master IS NOT NULL AND NOT starts_with(master, 'local')
"""
_AWAITED = """
SELECT e.since, s.began_wall_ns AS began, p.created_wall_ns AS created,
  p.scheduled_wall_ns AS scheduled
FROM l_executors e JOIN l_process_starts s USING (app_index, executor_id)
LEFT JOIN l_pod_starts p USING (app_index, executor_id)
WHERE e.app_index = $1 ORDER BY e.since
"""


@dataclass(frozen=True)
class Awaited:
    """Executors of an application on a cluster, in the order in which they registered.

    Attributes
    ----------
    since : array of int64
        When each registered.
    began : array of int64
        When its process started, where ``known``.
    known : array of bool
        Of which that is known.
    created, scheduled : array of int64
        When its pod was created, and had a node, where ``podded``.
    podded : array of bool
        Of which that is known.
    """

    since: Ints
    began: Ints
    known: NDArray[np.bool_]
    created: Ints
    scheduled: Ints
    podded: NDArray[np.bool_]

    @classmethod
    def of(cls, scope: Scope, app: int) -> Awaited | None:
        """Read them; ``None`` of an application on one machine, which waits for no cluster."""
        if not scope.tables.scalar(_ON_CLUSTER, [app]):
            return None
        define_process_starts(scope)
        rows = scope.tables.columns(_AWAITED, [app])
        since, began, created, scheduled = (
            np.ma.filled(rows[name], 0).astype(np.int64)
            for name in ("since", "began", "created", "scheduled")
        )
        known, podded = (~np.ma.getmaskarray(rows[name]) for name in ("began", "created"))
        return cls(since, began, known, created, scheduled, podded)

    @property
    def changes(self) -> Ints:
        """Times at which what is waited for may become another."""
        return np.concatenate([
            self.began[self.known], self.created[self.podded], self.scheduled[self.podded],
        ])  # fmt: skip

    def kinds(self, at: Ints, slots: Ints) -> Ints:
        """Say what instants at which the application waited for executors waited for, by `KINDS`.

        Without a slot it is the executor that registers next; where none does, none was granted.
        """
        place = np.searchsorted(self.since, at, side="right")
        known = np.append(self.known, True)[place]
        podded = np.append(self.podded, False)[place]
        began, created, scheduled = (
            np.append(times, np.iinfo(np.int64).max)[place]
            for times in (self.began, self.created, self.scheduled)
        )
        no_pod, scheduling, container = OF_PODS
        rules = [
            (slots > 0, "registered"), (~known, UNSPLIT), (began <= at, "starting"),
            (podded & (scheduled <= at), container), (podded & (created <= at), scheduling),
            (podded, no_pod),
        ]  # fmt: skip
        conditions, names = zip(*rules, strict=True)
        kind: Ints = np.select(
            conditions, [KINDS.index(name) for name in names], KINDS.index(NOT_GRANTED)
        )
        return kind


def why_unsplit(scope: Scope) -> str:
    """Say why it is not known when processes of executors started; empty where it is of all."""
    if "l_process_starts" not in scope.tables.defined:
        return ""
    found = scope.tables.query("SELECT DISTINCT why FROM l_process_starts WHERE why IS NOT NULL")
    return "; ".join(sorted(why for (why,) in found))
