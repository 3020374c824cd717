"""Hold runs on a cluster of your own against what a whole account of them has.

::

    python -m benchmarks.cluster.check RUN...
    python -m benchmarks.cluster.check --json RUN...

One line for each check: ``yes``, ``no``, or ``?`` where the run does not say. The exit code is 1
unless all are ``yes``. What is measured on test beds is held against the same numbers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cluster import figures, table
from benchmarks.cluster.figures import percent, ratio
from pyrometer.core import units
from pyrometer.summary.rules.ledger_open import OPEN

CPU_RATIO = 0.01
"""How far task CPU time may be from the sum that Spark has of the same tasks."""
AGENT_CORES = 0.01
"""What the agent of an executor may use of one core."""
AGENT_BYTES = 50 << 20
"""And of memory, at its peak."""


@dataclass(frozen=True)
class Check:
    """One thing that a run on a cluster should show.

    Attributes
    ----------
    name : str
        What.
    holds : bool or None
        Whether it does; ``None`` where the run does not say.
    found : str
        What was found, for people.
    """

    name: str
    holds: bool | None
    found: str


def checks(run: Mapping[str, Any]) -> list[Check]:
    """Judge what :func:`benchmarks.cluster.figures.of_run` gives of a run."""
    return [Check(name, *judge(run)) for name, judge in _CHECKS.items()]


_Judged = tuple[bool | None, str]


def _executors(run: Mapping[str, Any]) -> _Judged:
    ran, recorded, probed = (run["executors"][key] for key in ("ran", "recorded", "probed"))
    found = f"{recorded} recorded, {probed} seen by a probe, of {ran}"
    return (None, "no executor ran a task") if not ran else (recorded == probed == ran, found)


def _tasks(run: Mapping[str, Any]) -> _Judged:
    recorded, succeeded = run["spans"]["count"], run["tasks"]["succeeded"]
    # Tasks that failed have a span, too.
    return recorded >= succeeded, f"{recorded} recorded, {succeeded} succeeded"


def _cpu(run: Mapping[str, Any]) -> _Judged:
    share = ratio(run["spans"]["cpu_ns"], run["spark_task_ns"])
    holds = None if share is None else abs(share - 1) <= CPU_RATIO
    return holds, f"{percent(share)} of Spark's own sum"


def _closed(view: str) -> Callable[[Mapping[str, Any]], _Judged]:
    def judge(run: Mapping[str, Any]) -> _Judged:
        known = {one["host"]: one[view] for one in run["hosts"]}
        if not known:
            known = {"all": run["closure"][f"{view}_view"]}
        unknown = [host for host, value in known.items() if value is None]
        values = {host: value for host, value in known.items() if value is not None}
        widest = max(values, key=lambda host: abs(values[host]), default=None)
        if widest is None:
            return None, "not known for any host"
        closed = abs(values[widest]) <= OPEN
        more = f"; not known: {', '.join(unknown[:5])}" if unknown else ""
        return (
            None if closed and unknown else closed
        ), f"furthest from 0: {percent(values[widest])} ({widest}){more}"

    return judge


def _hosts(run: Mapping[str, Any]) -> _Judged:
    unseen = [one["host"] for one in run["hosts"] if not one["observed"]]
    found = (
        f"not observed: {', '.join(unseen[:5])}" if unseen else f"tiers {table.tiers(dict(run))}"
    )
    return not unseen, found


def _clocks(run: Mapping[str, Any]) -> _Judged:
    bounds = [one["bound_ns"] for one in run["hosts"]]
    if not bounds:
        return True, "one host"
    if any(bound is None for bound in bounds):
        return False, "a host has no bound"
    return True, f"at most {units.duration(max(bounds))}"


def _orphans(run: Mapping[str, Any]) -> _Judged:
    lost, every = run["samples"]["orphans"], run["samples"]["samples"]
    return (None if not every else lost == 0), f"{lost} of {every} samples of tasks"


def _agents(run: Mapping[str, Any]) -> _Judged:
    used = run["agents"]
    if not used:
        return None, "no agent has reported"
    cores = [one["core_ratio"] for one in used]
    little = all(one["peak_bytes"] <= AGENT_BYTES for one in used)
    known = [share for share in cores if share is not None]
    holds = little and all(share <= AGENT_CORES for share in known)
    return (None if holds and len(known) < len(cores) else holds), table.agents(dict(run))


_CHECKS: dict[str, Callable[[Mapping[str, Any]], _Judged]] = {
    "every executor was recorded": _executors,
    "every task was recorded": _tasks,
    f"task CPU time within {percent(CPU_RATIO, 0)} of Spark's": _cpu,
    f"CPUs of each host add up, within {percent(OPEN, 0)}": _closed("core"),
    f"slots add up, within {percent(OPEN, 0)}": _closed("slot"),
    "every host was observed": _hosts,
    "every host's clock has a bound": _clocks,
    "no sample without a process": _orphans,
    "agents stayed below 1 % of a core and 50 MiB": _agents,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge runs and print it; the exit code is 1 unless everything holds."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--json", action="store_true", help="one JSON object a run")
    asked = parser.parse_args(arguments)
    whole = True
    for run in asked.runs:
        try:
            found = checks(figures.of_run(run))
        except subprocess.CalledProcessError as error:
            print(error.stderr.strip(), file=sys.stderr)
            whole = False
            continue
        except subprocess.TimeoutExpired as error:
            limit = units.duration(error.timeout * 1e9)
            print(f"error: {run}: no answer in {limit} from pyrometer {error.cmd[3]}",
                  file=sys.stderr)  # fmt: skip
            whole = False
            continue
        whole &= all(one.holds for one in found)
        if asked.json:
            print(json.dumps({"run": str(run), "checks": [asdict(one) for one in found]}))
            continue
        print(run)
        for one in found:
            said = {True: "yes", False: "no", None: "?"}[one.holds]
            print(f"  {said:<4}{one.name}: {one.found}")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
