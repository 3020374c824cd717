"""Scans of storage that is not on the host, and what their tasks wait for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.python.work import work
from pyrometer.explain.evidence.task_costs import read_bytes, unexplained
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.simulation.measured import Floats

LOCAL = ("file", "local", "memory")
_LOCATION = re.compile(r"Location: \w+ ?(?:\([^)]*\))? ?\[([a-z][a-z0-9+.-]*):")
_RDD = r'"name":"([a-z][a-z0-9+.-]*):/'
_OTHERS = re.compile(r"^Gpu|Python|Pandas|InArrow|^ScriptTransformation")
"""Operators whose tasks wait for another process or device."""
_RUN, _CPU = "executor_run_time_ns", "executor_cpu_time_ns"


@dataclass(frozen=True)
class RemoteScan:
    """A scan of remote storage; without a node it is one of an RDD.

    Attributes
    ----------
    scheme : str
        Of the location: ``s3a``, ``gs``, ``abfss``, ``hdfs``.
    numbers : sequence of int
        Stages that scanned.
    """

    scheme: str
    numbers: Collection[int]
    plan: Plan | None = None
    node: Node | None = None


@dataclass(frozen=True)
class Waits:
    """What tasks of some stages wait for the store.

    Attributes
    ----------
    ns : mapping of int to array
        Of each task, at most, by number of the stage.
    expected_ns : float
        Of all tasks together, without what such tasks wait for other things.
    sampled : bool
        Whether waits were seen as such, or are what Spark's counters leave unexplained.
    """

    ns: Mapping[int, Floats]
    expected_ns: float
    sampled: bool

    @property
    def total_ns(self) -> float:
        """Of all tasks together, at most."""
        return float(sum(one.sum() for one in self.ns.values()))


def scheme_of(text: str | None) -> str | None:
    """Give the scheme of a scan's location where it is not on the host.

    Examples
    --------
    >>> scheme_of("FileScan parquet [a#1] Location: InMemoryFileIndex(1 paths)[s3a://b/t], ...")
    's3a'
    >>> scheme_of("FileScan parquet [a#1] Location: InMemoryFileIndex[file:/data/t], ...")
    """
    found = _LOCATION.search(text or "")
    return None if found is None or found[1] in LOCAL else found[1]


def remote_scans(facts: Facts) -> list[RemoteScan]:
    """Find the scans; of several in a stage, the one of most bytes has it."""
    by_size = sorted(
        (
            (float(metric(node, "size of files read") or 0), plan, node, scheme)
            for plan in plans(facts)
            for node in plan.sql.nodes
            if (scheme := scheme_of(node.simple_string)) is not None
        ),
        key=lambda one: -one[0],
    )
    taken = waiting_otherwise(facts)
    found = []
    for _, plan, node, scheme in by_size:
        numbers = [n for n in facts.stages_of(node, plan.sql) if n not in taken]
        taken.update(numbers)
        if numbers:
            found.append(RemoteScan(scheme, numbers, plan, node))
    of_rdds = [(n, scheme) for n, scheme in _rdds(facts) if n not in taken]
    return found + [RemoteScan(scheme, [number]) for number, scheme in of_rdds]


def _rdds(facts: Facts) -> Iterator[tuple[int, str]]:
    app = 0 if facts.measured is None else facts.measured.app_index
    for stage_id, attempt, scheme in facts.tables.query(
        f"SELECT stage_id, coalesce(stage_attempt, 0), regexp_extract(rdd_names, '{_RDD}', 1)"
        " FROM stages WHERE app_index = $1 AND rdd_names LIKE '%:/%'"
        ' AND NOT regexp_matches(rdd_names, \'"name":"(PythonRDD|PipedRDD)\') ORDER BY ALL',
        [app],
    ):
        number = facts.number(stage_id, attempt)
        if number is not None and scheme and scheme not in LOCAL:
            yield number, scheme


def waiting_otherwise(facts: Facts) -> set[int]:
    """Give the numbers of stages whose tasks wait for a Python worker, a program or a GPU."""
    found = set(work(facts))
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if _OTHERS.search(node.name):
                found.update(facts.stages_of(node, plan.sql))
    return found


def _part_of_input(tasks: TaskColumns) -> Floats:
    """Give the part of each task's traffic with storage that is the reading of its input."""
    read, others = (
        np.nansum([tasks[name] for name in names], axis=0)
        for names in (("input_bytes",), ("output_bytes", "disk_spilled_bytes"))
    )
    part: Floats = np.where(others > 0, read / np.maximum(read + others, 1.0), 1.0)
    return part


def waits(facts: Facts, scan: RemoteScan, usual: float) -> Waits | None:
    """Give what the tasks of a scan wait for the store; None where nothing tells.

    Parameters
    ----------
    usual : float
        What tasks of other stages wait for each second of CPU, and no counter says for what.
    """
    near = _near(facts) if scan.scheme in ("hdfs", "viewfs") else None
    found: dict[int, Floats] = {}
    expected, seen = 0.0, False
    for number in scan.numbers:
        tasks = facts.tasks_of(number)
        if tasks.total(_CPU) <= 0:
            continue
        most = np.minimum(unexplained(tasks) * _part_of_input(tasks), tasks.duration_ns)
        if near is not None:
            most = np.where(near[facts.place_of(number)] > 0, 0.0, most)
        total = float(most.sum())
        cap = _seen(facts.ledger.get(number, {}))
        if cap is not None:
            seen = True
            most = most * (min(1.0, cap / total) if total > 0 else 0.0)
            expected += float(most.sum())
        else:
            expected += max(0.0, total - usual * tasks.total(_CPU))
        found[number] = most
    return Waits(found, expected, seen) if found else None


def _seen(rows: Mapping[str, float]) -> float | None:
    """Give what a stage's tasks were seen to wait for sockets, and in a scan for its readers."""
    if "task/waiting" in rows:
        return sum(
            ns
            for path, ns in rows.items()
            if path == "task/waiting/network"
            or (path.startswith("task/waiting/helper/") and "Scan" in path)
        )
    if "task/run_queue" in rows:  # no samples, but what waited for a CPU is known
        return rows.get("task/off_cpu", 0.0)
    return None


def _near(facts: Facts) -> Floats:
    """Say which tasks ran where their data are: 1 or 0."""
    rows = facts.more_of_tasks("bool_or(t.locality = 'NODE_LOCAL')::INT AS near")
    return np.nan_to_num(np.asarray(rows["near"], dtype=np.float64))


def usual_waits(facts: Facts, scans: Collection[RemoteScan]) -> float:
    """Give what tasks wait unexplained for each second of CPU where they scan nothing remote.

    Of stages that read something: others may list files of the same store.
    """
    left_out = waiting_otherwise(facts).union(*(scan.numbers for scan in scans))
    used, waited = 0.0, 0.0
    for stage in facts.stages:
        if stage.number not in left_out:
            tasks = facts.tasks_of(stage.number)
            if not read_bytes(tasks).any():
                continue
            used += tasks.total(_CPU)
            waited += float(unexplained(tasks).sum())
    return waited / used if used > 0 else 0.0
