"""What a run of the job says of it: facts that bound a space, and levels that hold as it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyrometer.collect.launch.executors_place import is_here
from pyrometer.collect.launch.settings_before import ANYWHERE
from pyrometer.core.json_text import parse_json
from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.store.tables import Tables
from pyrometer.trial.layout import HEAP, is_layout
from pyrometer.tune.space.declared import knobs
from pyrometer.tune.space.levels import as_special, with_unit
from pyrometer.tune.space.memory import ELSEWHERE, OF_EXECUTORS, SPARKS_HEAP

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[(\d+),(\d+),(\d+)\]")


@dataclass(frozen=True)
class Job:
    """A job as it ran, for :func:`~pyrometer.tune.space.named.named_space`.

    Attributes
    ----------
    facts : mapping of str to float
        ``heap`` and ``off_heap`` of a JVM in bytes, ``driver_heap`` and ``executor_heap`` of the
        other side, ``elsewhere``, where executors run on other machines, ``jvm_cpus`` of one of
        them, ``jvms``, ``slots``, ``input_bytes`` of the stage that read most,
        ``shuffle_bytes`` of the largest shuffle, ``writes_files`` and ``writes_parquet`` (1 or 0),
        ``overhead``, ``overhead_ratio`` and ``python`` of an executor; those that are known.
    now : mapping of str to str
        Levels that hold, by factor.
    settings : mapping of str to str
        Spark settings that both follow from.
    measured : mapping of str to float
        Facts that a run has measured.
    """

    facts: Mapping[str, float]
    now: Mapping[str, str]
    spark_version: str | None
    settings: Mapping[str, str] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)


def job_of(tables: Tables, app_index: int = 0, levels: Collection[str] = ()) -> Job:
    """Read the job of a run; what its tables lack is left out.

    Parameters
    ----------
    levels : collection of str
        Factors whose levels the run was given: what these set is not the job's own.
    """
    rows = (
        tables.query(
            "SELECT spark_conf, master, spark_version FROM apps WHERE app_index = ?", [app_index]
        )
        if tables.has("apps")
        else []
    )
    conf, master, version = rows[0] if rows else (None, None, None)
    read = parse_json(conf or "{}")
    forced = _set_by(levels)
    settings = {
        name: one for name, one in read.items() if isinstance(one, str) and name not in forced
    }
    measured = {**_bytes(tables, app_index), **_writes(tables, app_index)}
    if "spark.master" in forced:
        master = None
    else:
        measured |= _executors(tables, app_index)
    return job_from(settings, master, version, measured)


def _set_by(levels: Collection[str]) -> set[str]:
    """Name the settings that levels stand for."""
    found = {name for name in levels if name.startswith("spark.")}
    if HEAP in levels:
        found |= {"spark.driver.memory", "spark.executor.memory"}
    return found | {"spark.master" for name in levels if is_layout(name)}


def job_from(
    settings: Mapping[str, str],
    master: str | None,
    spark_version: str | None,
    measured: Mapping[str, float],
) -> Job:
    """Join what settings say with what was measured.

    Examples
    --------
    >>> found = job_from({"spark.driver.memory": "2g"}, "local[4]", "4.0.1", {})
    >>> found.facts["heap"] / (1 << 30), found.facts["slots"], dict(found.now)
    (2.0, 4.0, {'jvm.heap': '2g', 'layout.tasks': '4'})
    """
    master = master or settings.get("spark.master", "")
    settings = {name: with_unit(name, one) for name, one in settings.items()}
    now = _set(settings)
    cluster, local = _LOCAL_CLUSTER.fullmatch(master), _LOCAL.fullmatch(master)
    heap = settings.get(f"spark.{'driver' if local else 'executor'}.memory")
    if heap and _number(heap) is not None:
        now["jvm.heap"] = heap
    facts = {**measured, **_heaps(settings, in_driver=local is not None)}
    if cluster:
        facts["jvms"], facts["slots"] = float(cluster[1]), float(cluster[1]) * float(cluster[2])
        now["layout.executors"], now["layout.cores_per_executor"] = cluster[1], cluster[2]
    elif local:
        facts["jvms"] = 1.0
        if (slots := "1" if master == "local" else local[1]) != "*":
            facts["slots"] = float(slots)
            now["layout.tasks"] = slots
    elif master and not is_here(master):
        facts |= _of_cluster(settings, master)
    said = {**settings, "spark.master": master} if master else settings
    return Job(facts, now, spark_version, said, measured)


def _of_cluster(settings: Mapping[str, str], master: str) -> dict[str, float]:
    """Give what settings say of executors on other machines."""
    found = {ELSEWHERE: 1.0}
    one = "1" if master.startswith(("yarn", "k8s")) else ""
    cores = _number(settings.get("spark.executor.cores", one))
    count = _number(settings.get("spark.executor.instances", ""))
    if cores is not None:
        found["jvm_cpus"] = cores
    if count is not None:
        found["jvms"] = count
    if cores is not None and count is not None:
        found["slots"] = count * cores
    most = _number(settings.get("spark.cores.max", "")) if master.startswith("spark:") else None
    if most is not None:
        found["slots"] = most
        if cores:
            found["jvms"] = max(1.0, most // cores)
    return found


def joined(job: Job | None, own: Mapping[str, str], levels: Mapping[str, str]) -> Job:
    """Join what a run says with what is known without one.

    Parameters
    ----------
    job : Job or None
        Of a run; ``None``: there is none.
    own : mapping of str to str
        Settings that the job itself says: they win over what a run had, which tells the rest.
    levels : mapping of str to str
        Settings of all trials, which win over both.

    Examples
    --------
    >>> run = job_from({"spark.driver.memory": "2g", "spark.a": "1"}, "local[4]", "4.0.1", {})
    >>> found = joined(run, {"spark.driver.memory": "1g"}, {"spark.master": "local[2]"})
    >>> dict(found.now), found.settings["spark.a"]
    ({'jvm.heap': '1g', 'layout.tasks': '2'}, '1')
    """
    run = job or Job({}, {}, None)
    # Where nobody names a master, a program may.
    named = {k: v for k, v in own.items() if (k, v) != ("spark.master", ANYWHERE)}
    settings = {**own, **run.settings, **named, **levels}
    return job_from(settings, None, run.spark_version, run.measured)


def _heaps(settings: Mapping[str, str], *, in_driver: bool) -> dict[str, float]:
    """Give the memory of JVMs that settings say; `in_driver`: the driver runs the tasks."""
    driver, executor, off_heap = (
        _number(settings.get(name, ""))
        for name in ("spark.driver.memory", "spark.executor.memory", "spark.memory.offHeap.size")
    )
    mine = driver if in_driver else executor
    found = {"heap": SPARKS_HEAP if mine is None else mine}
    if driver is not None:
        found["driver_heap"] = driver
    if in_driver:
        # What executors have that a layout adds.
        found["executor_heap"] = SPARKS_HEAP if executor is None else executor
    if settings.get("spark.memory.offHeap.enabled") == "true" and off_heap is not None:
        found["off_heap"] = off_heap
    for fact, name in OF_EXECUTORS.items():
        if (value := _number(settings.get(name, ""))) is not None:
            found[fact] = value
    return found


PARALLELISM = ("spark.sql.leafNodeDefaultParallelism", "spark.default.parallelism")
"""Settings by which Spark divides files where ``spark.sql.files.minPartitionNum`` is not set."""
FILES = "spark.sql.files.minPartitionNum"


def _set(settings: Mapping[str, str]) -> dict[str, str]:
    """Give settings that are factors of a space, where their text is a level."""
    at_least = next((settings[one] for one in PARALLELISM if settings.get(one, "").isdigit()), None)
    if at_least is not None:
        settings = {FILES: at_least, **settings}
    return {
        one.factor: settings[one.factor]
        for one in knobs()
        if one.factor in settings
        and (
            one.kind == "choice"
            or as_special(settings[one.factor], one.special) is not None
            or _number(settings[one.factor]) is not None
        )
    }


def _bytes(tables: Tables, app_index: int) -> dict[str, float]:
    if not tables.has("tasks"):
        return {}
    rows = tables.query(
        "SELECT max(input), max(shuffle) FROM (SELECT sum(input_bytes) AS input,"
        " sum(shuffle_written_bytes) AS shuffle FROM tasks WHERE app_index = ?"
        " GROUP BY stage_id, stage_attempt)",
        [app_index],
    )
    found = dict(zip(("input_bytes", "shuffle_bytes"), rows[0], strict=True))
    return {name: float(one) for name, one in found.items() if one}


def _writes(tables: Tables, app_index: int) -> dict[str, float]:
    """Say whether plans write files, and such of Parquet; nothing where there are no plans."""
    if not tables.has("plan_nodes"):
        return {}
    writes = "simple_string LIKE '%InsertIntoHadoopFsRelationCommand%"
    rows = tables.query(
        f"SELECT count(*), count(*) FILTER (WHERE {writes}'),"
        f" count(*) FILTER (WHERE {writes}Parquet%') FROM plan_nodes WHERE app_index = ?",
        [app_index],
    )
    nodes, writing, parquet = rows[0]
    if not nodes:
        return {}
    return {"writes_files": float(writing > 0), "writes_parquet": float(parquet > 0)}


def _executors(tables: Tables, app_index: int) -> dict[str, float]:
    if not tables.has("executors"):
        return {}
    rows = tables.query(
        "SELECT count(*), sum(cores_count) FROM executors WHERE app_index = ?"
        " AND cores_count > 0 AND (executor_id <> 'driver' OR (SELECT count(*) FROM executors"
        " WHERE app_index = ? AND executor_id <> 'driver') = 0)",
        [app_index, app_index],
    )
    count, cores = rows[0]
    return {"jvms": float(count), "slots": float(cores)} if count and cores else {}


def _number(text: str) -> float | None:
    found = number_or_text(text)
    return found if isinstance(found, float) else None
