"""The jobs that tables are made of: six that differ, each small enough for hundreds of trials."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.experiments.run.planned import host_facts
from pyrometer.trial.factors import did_you_mean
from pyrometer.tune.space.job import Job
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.budget import Budget
from pyrometer.tune.trials.folder import Tuning

SPACE = "spark-sql+jvm+layout"
MEMORY = 8 << 30
"""Most memory that configurations are bounded for: tables of two machines have one space."""
TIMEOUT = "10m"
"""Longest time of a baseline."""
ENGINE = "wide"
"""Written in the plan: ``pyrometer tune`` does not go on with such a search by another engine."""

_APPS = Path(__file__).parent / "apps"


@dataclass(frozen=True)
class Searched:
    """A job that is searched.

    Attributes
    ----------
    workload : str
        By name, or a file.
    scale : str
        With which a trial of the baseline takes about half a minute on two CPUs, or less.
    shared : mapping of str to str
        Levels of every trial.
    """

    workload: str
    summary: str
    scale: str = "default"
    shared: Mapping[str, str] = field(default_factory=dict)
    space: str = SPACE


JOBS: Mapping[str, Searched] = {
    "tpch": Searched("tpch", "all queries of TPC-H, one after another", "10"),
    "tpch-joins": Searched("tpch", "q09: six tables joined", "1000", {"workload.query": "q09"}),
    "tpch-scan": Searched(
        "tpch", "q01: one table read and aggregated", "1000", {"workload.query": "q01"}
    ),
    "sort-text": Searched("sort-text", "words sorted by an RDD", "1500000"),
    "kmeans": Searched("kmeans", "clusters of points, from stored vectors", "500000"),
    "visits": Searched(str(_APPS / "visits.yaml"), "a command with a Python function for each row"),
}


def job(name: str) -> Searched:
    """Find a job.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    if name not in JOBS:
        remedy = did_you_mean(name, JOBS) or f"one of: {', '.join(JOBS)}"
        raise UsageError(f"there is no job {name!r} to search", remedy)
    return JOBS[name]


def planned(name: str, one: Searched, root: Path, seed: int, guard: str = "wait") -> Tuning:
    """Plan the search of a job.

    A trial is one iteration without warm-up, as most jobs run: once. Nothing but its time is
    measured, and there is no end: whoever carries it out stops it.

    Parameters
    ----------
    root : Path
        Where it is going to be.
    guard : str
        What to do while others use the machine.

    Raises
    ------
    UsageError
        If the workload or the space is none here.
    """
    memory = host_facts()["mem_total"]
    bounds = {} if memory is None else {"mem_total": min(float(MEMORY), memory)}
    wanted = Wanted(
        workload=one.workload, space=one.space, shared=one.shared, scale=one.scale, profile="off",
        iterations=1, warmup="0", guard=guard, seed=seed, timeout=TIMEOUT,
        job=Job({}, {}, None, measured=bounds),
    )  # fmt: skip
    endless = Budget(text="without end", amount=1e9, unit="runs")
    update: dict[str, Any] = {"name": name, "engine": ENGINE, "budget": endless, "reserved": 0.0}
    update["pyspark"] = _pyspark()
    return started(wanted, root).tuning.model_copy(update=update)


def _pyspark() -> str | None:
    """Give the version of the PySpark that runs jobs; ``None`` where another Spark does."""
    if os.environ.get("SPARK_HOME"):
        return None
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None
