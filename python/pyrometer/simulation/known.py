"""Elapsed times of a plan in many other times, made from one schedule that is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyrometer.simulation.cluster import Description
from pyrometer.simulation.measured import Floats
from pyrometer.simulation.scheduler import Plan, refused


class Known:
    """A schedule that others, which differ from it in little, are made from.

    What lies between two instants at which nothing runs, and does not differ, is not scheduled
    again; the times are those of whole schedules, to the last bit (crates/pyro-sim).

    Parameters
    ----------
    plan : Plan
        The work, in the times that most schedules differ little from.
    cluster : list of dict
        The cluster that most of them are on.

    Raises
    ------
    UsageError
        If it cannot be scheduled.
    """

    def __init__(self, plan: Plan, cluster: Description) -> None:
        # Scheduling delays are parts of tasks: no elapsed time depends on them.
        self._delay_ns = plan.tasks.delay_ns.tobytes()
        with refused():
            self._schedule = plan.scheduler.known(
                _request(plan.locality_wait_ns, cluster, [{}]),
                np.asarray(plan.delay_ns, dtype=np.float64).tobytes(),
                plan.tasks.duration_ns.tobytes(),
                self._delay_ns,
            )

    def elapsed_ns(
        self,
        duration_ns: Floats,
        node_delay_ns: Floats,
        locality_wait_ns: float,
        cluster: Description,
        scenarios: Sequence[dict[str, Any]],
        stretches: Floats | Sequence[Floats] = (),
    ) -> list[float]:
        """Give the elapsed time of each scenario with the plan's work in other times.

        Parameters
        ----------
        duration_ns, node_delay_ns : array
            Times of tasks, and of the driver before each node.
        cluster : list of dict
            What to schedule it on.
        scenarios, stretches : sequence
            As of `pyrometer.simulation.scheduler.schedules`.

        Raises
        ------
        UsageError
            If it cannot be scheduled.
        """
        with refused():
            found: list[float] = self._schedule.elapsed_ns(
                _request(locality_wait_ns, cluster, scenarios),
                node_delay_ns.tobytes(),
                duration_ns.tobytes(),
                self._delay_ns,
                np.asarray(stretches, dtype=np.float64).tobytes(),
            )
        return found


def _request(
    locality_wait_ns: float, cluster: Description, scenarios: Sequence[dict[str, Any]]
) -> str:
    request = {
        "locality_wait_ns": locality_wait_ns,
        "clusters": [cluster],
        "scenarios": list(scenarios),
    }
    return json.dumps(request)
