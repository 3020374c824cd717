"""Whether trials see what executors on other hosts use, said before the first of them.

What really came is said by the first run of the job as it is
(:mod:`pyrometer.tune.trials.baseline`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyrometer.collect.host.disks import file_system
from pyrometer.collect.launch.environment import AGENTS, SHIP_SETTING, SHIP_TO
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core.errors import UsageError
from pyrometer.experiments.plan.constraints import Constraint
from pyrometer.tune.space.job import Job
from pyrometer.tune.trials.budget import Budget
from pyrometer.tune.trials.folder import Objective
from pyrometer.tune.trials.measured import OF_OBJECTIVE, PROBED

SHIPPED_PROBE = "spark.pyrometer.ship.probe"
ON_SEVERAL_HOSTS = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "nfs", "nfs4", "ocfs2",
        "orangefs", "panfs", "pvfs2", "smb3", "virtiofs", "wekafs",
    }
)  # fmt: skip
"""File systems that other hosts may have mounted, too; so may those in user space (``fuse.…``)."""
_INSTEAD = "--objective elapsed or cost, and conditions on elapsed or cost, need none of it"


def check_observed(
    objective: Objective,
    conditions: Sequence[Constraint],
    job: Job,
    profile: str,
    root: Path,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Refuse what adds up processes of executors where nothing would read them, or none would come.

    Parameters
    ----------
    job : Job
        Whose executors run on other hosts.
    root : Path
        Folder of the tuning: executors ship to its trials unless somebody names another place.
    environment : mapping of str to str, optional
        Of the trials; by default that of this process.

    Raises
    ------
    UsageError
        With what is missing, and how to have it.
    """
    asked = [f"--objective {objective}"] * (OF_OBJECTIVE[objective] in PROBED)
    asked += [f"--subject-to {one.text!r}" for one in conditions if one.names & PROBED]
    if not asked:
        return
    env = os.environ if environment is None else environment
    master = job.settings["spark.master"]
    begins = f"{asked[0]}: executors run elsewhere (master {master}), and"
    probes = parse_profile(profile).probes
    if not {"os", "plugin"} <= {*probes}:
        raise UsageError(
            f"{begins} --profile {profile} measures nothing beside them",
            f"--profile light; {_INSTEAD}",
        )
    if job.settings.get(SHIPPED_PROBE) == "off":
        raise UsageError(
            f"{begins} {SHIPPED_PROBE}=off starts no probe beside them",
            f"leave {SHIPPED_PROBE} out; {_INSTEAD}",
        )
    named = job.settings.get(SHIP_SETTING) or env.get(SHIP_TO) or env.get(AGENTS)
    kind = "" if named else file_system(root)
    if named or not kind or kind in ON_SEVERAL_HOSTS or kind.startswith("fuse."):
        return
    raise UsageError(
        f"{begins} what is measured beside them would not arrive: {root} is on this host alone"
        f" ({kind})",
        f"give a folder that all hosts mount, with -o or {SHIP_TO}=/mnt/shared/pyrometer"
        f" (docs/how-to/clusters/executors.md); {_INSTEAD}",
    )


def cores_of(job: Job, budget: Budget) -> int | None:
    """Give the cores of the executors of a job on other hosts; ``None`` where Spark decides.

    Raises
    ------
    UsageError
        If the budget is of core time, and nobody knows them.
    """
    why = None
    if job.settings.get("spark.dynamicAllocation.enabled") == "true":
        why = "dynamic allocation decides how many executors there are"
    elif "slots" not in job.facts:
        standalone = job.settings["spark.master"].startswith("spark://")
        names = "spark.cores.max" if standalone else "spark.executor.instances"
        why = f"the job does not set {names}"
    if why is None:
        return max(1, int(job.facts["slots"]))
    if budget.unit == "core-seconds":
        raise UsageError(
            f"--budget {budget.text!r}: how many cores its executors have is not known before they"
            f" run: {why}",
            "a budget of runs or time: --budget 25, or --budget 40min",
        )
    return None
