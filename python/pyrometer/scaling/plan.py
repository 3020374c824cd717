"""A scaling curve as an experiment: one factor, levels spaced for the laws that are fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.experiments.plan.source import experiment_text
from pyrometer.trial.factors import find_factor, parse_cpus, parse_level, parse_treatment
from pyrometer.trial.layout import EXECUTORS, TASKS, is_layout, resolve_layout

SLOTS = (TASKS, EXECUTORS)
"""Factors whose level is a number of task slots (of executors: times the slots of each)."""

INSTANCES = "spark.executor.instances"
"""Executors that a cluster is asked for."""
CORES_MAX = "spark.cores.max"
"""Cores of all executors together, which a standalone master goes by instead."""

OF_CLUSTERS = (INSTANCES, CORES_MAX)
"""What a cluster is asked for: :mod:`pyrometer.scaling.cluster_levels` knows how much it has."""

WORKERS = (*SLOTS, "host.cpus", "cpu.quota", "machine.cpus", *OF_CLUSTERS)
"""Factors whose level is a number of workers: laws of scaling apply to them."""

SPACED = 10
"""Most levels, unless every level is asked for."""

FEWEST = 6
"""A curve goes to at least this number of tasks: the laws have up to four parameters."""

BEYOND = 1.5
"""A curve goes to this number of tasks per CPU, to show what happens when tasks share CPUs."""

QUOTAS = 8
"""Steps of a quota, up to all CPUs."""


def default_levels(factor: str, cpus: int, *, dense: bool = False) -> list[str]:
    """Choose levels for a factor on a number of CPUs: about equal steps of the logarithm.

    Raises
    ------
    UsageError
        If there are no default levels of this factor.

    Examples
    --------
    >>> default_levels("layout.tasks", 2), default_levels("host.cpus", 32)[:6]
    (['1', '2', '3', '4', '5', '6'], ['1', '2', '3', '5', '7', '10'])
    >>> default_levels("cpu.quota", 2)
    ['0.25', '0.5', '0.75', '1', '1.25', '1.5', '1.75', '2']
    """
    if factor == "cpu.quota":
        return [f"{cpus * part / QUOTAS:g}" for part in range(1, QUOTAS + 1)]
    if factor in OF_CLUSTERS:
        raise UsageError(f"{factor}: how many has the cluster?", "--levels 1,2,4,8,16")
    if factor not in WORKERS:
        find_factor(factor)
        raise UsageError(f"{factor}: which levels?", "--levels 1g,2g,4g")
    most = max(FEWEST, round(BEYOND * cpus)) if factor == TASKS else cpus
    if limits := find_factor(factor).range:
        most = min(most, int(limits[1]))
    if dense or most <= SPACED:
        return [str(level) for level in range(1, most + 1)]
    ratio = most ** (1 / (SPACED - 1))
    return [str(level) for level in sorted({round(ratio**step) for step in range(SPACED)})]


def level_number(factor: str, text: str) -> float:
    """Give a level as a number: of CPUs, tasks, bytes.

    Raises
    ------
    UsageError
        If it is not a number.

    Examples
    --------
    >>> level_number("layout.tasks", "4"), level_number("host.cpus", "0,2-3")
    (4.0, 3.0)
    >>> level_number("jvm.heap", "1g")
    1073741824.0
    """
    if factor == "host.cpus":
        cpus = parse_cpus(text)
        return float(cpus if isinstance(cpus, int) else len(cpus))
    try:
        return float(text)
    except ValueError:
        level = parse_level(find_factor(factor), factor, text)
    if isinstance(level, str):
        raise UsageError(
            f"{factor}={text}: not a number", "choose a factor with numbers, such as layout.tasks"
        )
    return float(level)


def slots_of_worker(factor: str, levels: Mapping[str, str]) -> int:
    """Count the tasks that a worker of a curve runs at once: an executor, as many as its slots.

    Examples
    --------
    >>> levels = {"layout.executors": "2", "layout.cores_per_executor": "4"}
    >>> slots_of_worker("layout.executors", levels), slots_of_worker("layout.tasks", {})
    (4, 1)
    """
    if factor != EXECUTORS:
        return 1
    layout = [f"{name}={level}" for name, level in levels.items() if is_layout(name)]
    return resolve_layout(parse_treatment(layout)).slots or 1


def scaling_file(
    workload: str, factor: str, levels: Sequence[str], shared: Mapping[str, str], **keys: Any
) -> str:
    """Write the experiment file of a curve.

    Parameters
    ----------
    workload : str
        Its name, or a file.
    shared : mapping
        Levels that all trials share.
    **keys
        Other keys of the file; those that are ``None`` are left out.
    """
    least = min(levels, key=lambda level: level_number(factor, level))
    return experiment_text(
        "scale", workload, f"How {{}} scales over {factor}", matrix={factor: list(levels)},
        set=dict(shared) or None, baseline={factor: least}, **keys,
    )  # fmt: skip
