"""When the processes of executors started: what went by before is the cluster's.

On Kubernetes the status of their pods says what that was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.ledger.cluster.pod_words import REMEDIES, WAITED
from pyrometer.accounts.ledger.cluster.process_starts import define_process_starts
from pyrometer.core import units
from pyrometer.explain.evidence.places import bounds
from pyrometer.explain.evidence.saying import machine
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.simulation.measured import Floats

MOST_ERROR_NS = 10**9
"""A start that is known no better than this tells nothing beside seconds."""
_RECORDED = ("processes", "executor_pods")
_STARTS = """
SELECT executor_id, began_wall_ns FROM l_process_starts
WHERE app_index = $1 AND began_wall_ns IS NOT NULL AND error_ns <= $2
"""
MOST_SAID = 160
"""Characters of what others say that are repeated."""
_PODS = """
SELECT executor_id, created_wall_ns, scheduled_wall_ns FROM l_pod_starts
WHERE app_index = $1 AND created_wall_ns IS NOT NULL
"""
_SAID = """
SELECT mode(p.unschedulable), mode(p.image) FROM executor_pods p JOIN apps a USING (app_id)
WHERE a.app_index = $1
"""


def process_starts(facts: Facts) -> dict[str, int]:
    """Give when the process of each executor started, by the driver's clock, where that is known.

    Parameters
    ----------
    facts : Facts
        With an application that can be scheduled.
    """
    if facts.measured is None or not any(map(facts.tables.has, _RECORDED)):
        return {}
    define_process_starts(facts.scope)
    return dict(facts.tables.query(_STARTS, [facts.measured.app_index, MOST_ERROR_NS]))


@dataclass(frozen=True)
class Pods:
    """What some executors waited for.

    Attributes
    ----------
    waits : dict of str to array
        Time of each executor in each of `awaited.PHASES`, ns.
    start_ns : float
        What their processes took to register, on average.
    unschedulable, image : str or None
        What the scheduler said when it found no node, and the image, of most of them.
    """

    waits: Mapping[str, Floats]
    start_ns: float
    unschedulable: str | None
    image: str | None

    @property
    def longest(self) -> str | None:
        """The phase that took longest; ``None`` where their processes took longer."""
        means = {phase: float(ns.mean()) for phase, ns in self.waits.items()}
        phase = max(means, key=lambda name: means[name])
        return phase if means[phase] >= self.start_ns else None

    @property
    def listed(self) -> str:
        """The phases in words."""
        found = (
            f"{units.duration(float(ns.mean()))} {WAITED[phase]}"
            for phase, ns in self.waits.items()
            if ns.any()
        )
        return f"{', '.join(found)}; in whole seconds, by clocks of Kubernetes"

    @property
    def said(self) -> str:
        """What Kubernetes says about the longest phase; a sentence, or nothing."""
        if self.longest == "scheduling" and self.unschedulable:
            return f" The scheduler said: “{_cut(self.unschedulable)}”."
        if self.longest == "image_and_container" and self.image:
            return f" The image is {_cut(self.image)}."
        return ""

    @property
    def remedy(self) -> Remedy | None:
        """What makes the longest phase shorter."""
        return machine(REMEDIES[self.longest]) if self.longest else None

    def evidence(self) -> Iterator[Evidence]:
        """Give the time of each phase."""
        for phase, ns in self.waits.items():
            if ns.any():
                yield Evidence(
                    what=f"executors were {WAITED[phase]}"
                    if phase != "image_and_container"
                    else "image and container took",
                    unit="ns", table="executor_pods", link="/ledger",
                    estimate=bounds(float(ns.mean()), float(ns.min()), float(ns.max()), ns.size,
                                    "mean and range"),
                    query="ledger --json: slot_view.memos,"
                    f" executors/not_granted/came_later/{phase} (slot time of all)",
                )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def pods_of(
    facts: Facts, first: int, began: Mapping[str, int], added: Mapping[str, int]
) -> Pods | None:
    """Say what executors waited for; ``None`` where no pod of them is known.

    Parameters
    ----------
    facts : Facts
        With an application that can be scheduled.
    first : int
        When the application started.
    began, added : mapping of str to int
        When the process of each executor started, and when it registered.
    """
    if facts.measured is None or not facts.tables.has("executor_pods"):
        return None
    app = facts.measured.app_index
    define_process_starts(facts.scope)
    rows = [
        (created, scheduled, began[name], added[name])
        for name, created, scheduled in facts.tables.query(_PODS, [app])
        if name in began and name in added
    ]
    if not rows:
        return None
    created, scheduled, start, there = np.array(rows, dtype=np.float64).T
    start = np.maximum(start, first)
    created = np.clip(created, first, start)
    scheduled = np.clip(scheduled, created, start)
    if not (start - first).any():
        return None
    ((unschedulable, image),) = facts.tables.query(_SAID, [app])
    return Pods(
        waits={
            "no_pod": created - first,
            "scheduling": scheduled - created,
            "image_and_container": start - scheduled,
        },
        start_ns=float((there - start).mean()),
        unschedulable=unschedulable,
        image=image,
    )
