"""What is done to the host for one launch, decided before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.plan import Level
from pyrometer.run import cgroup, settings
from pyrometer.run.cgroup_plan import Plan
from pyrometer.run.memory import Condition, condition, with_limit
from pyrometer.run.neighbours import Neighbour, neighbours
from pyrometer.run.placing import Placement, placed_here


@dataclass(frozen=True)
class HostPlan:
    """What is done while the application runs, and undone after it.

    Parameters
    ----------
    group : Plan
        Control groups it is born in.
    switches : tuple of settings.Switch
        Switches of the kernel.
    placement : Placement
        CPUs and NUMA nodes.
    neighbours : tuple of Neighbour
        What runs beside it.
    memory : Condition or None
        How short memory is.
    """

    group: Plan = field(default_factory=Plan)
    switches: tuple[settings.Switch, ...] = ()
    placement: Placement = field(default_factory=Placement)
    neighbours: tuple[Neighbour, ...] = ()
    memory: Condition | None = None


def plan_host(treatment: Mapping[str, Level], data: Path) -> HostPlan:
    """Decide what is done to this host.

    Parameters
    ----------
    treatment : mapping
        Levels, those that the workload brings among them.
    data : Path
        On the disk that limits are about.

    Raises
    ------
    UsageError, CapabilityError
        What this host cannot honour, with the reason and what would give it.
    """
    return HostPlan(
        group=cgroup.planned_here(with_limit(treatment), data),
        switches=settings.switches(treatment),
        placement=placed_here(treatment),
        neighbours=neighbours(str(treatment.get("co.run", "none"))),
        memory=condition(treatment),
    )
