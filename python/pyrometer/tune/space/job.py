"""What a run of the job says of it: facts that bound a space, and levels that hold as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyrometer.core.json_text import parse_json
from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.store.tables import Tables
from pyrometer.tune.space.declared import knobs
from pyrometer.tune.space.memory import SPARKS_HEAP

_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[(\d+),(\d+),(\d+)\]")


@dataclass(frozen=True)
class Job:
    """A job as it ran, for :func:`~pyrometer.tune.space.named.named_space`.

    Attributes
    ----------
    facts : mapping of str to float
        ``heap`` and ``off_heap`` of a JVM in bytes, ``jvms``, ``slots``, ``input_bytes`` of the
        stage that read most, ``shuffle_bytes`` of the largest shuffle; those that are known.
    now : mapping of str to str
        Levels that hold, by factor.
    """

    facts: Mapping[str, float]
    now: Mapping[str, str]
    spark_version: str | None


def job_of(tables: Tables, app_index: int = 0) -> Job:
    """Read the job of a run; what its tables lack is left out."""
    rows = (
        tables.query(
            "SELECT spark_conf, master, spark_version FROM apps WHERE app_index = ?", [app_index]
        )
        if tables.has("apps")
        else []
    )
    conf, master, version = rows[0] if rows else (None, None, None)
    read = parse_json(conf or "{}")
    settings = {name: one for name, one in read.items() if isinstance(one, str)}
    measured = {**_bytes(tables, app_index), **_executors(tables, app_index)}
    return job_from(settings, master, version, measured)


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
    facts = dict(measured)
    now = _set(settings)
    cluster, local = _LOCAL_CLUSTER.fullmatch(master), _LOCAL.fullmatch(master)
    side = "driver" if local else "executor"
    heap = settings.get(f"spark.{side}.memory")
    size = _number(heap) if heap else None
    facts["heap"] = SPARKS_HEAP if size is None else size
    if heap and size is not None:
        now["jvm.heap"] = heap
    off_heap = _number(settings.get("spark.memory.offHeap.size", ""))
    if settings.get("spark.memory.offHeap.enabled") == "true" and off_heap is not None:
        facts["off_heap"] = off_heap
    if cluster:
        facts["jvms"], facts["slots"] = float(cluster[1]), float(cluster[1]) * float(cluster[2])
        now["layout.executors"], now["layout.cores_per_executor"] = cluster[1], cluster[2]
    elif local:
        facts["jvms"] = 1.0
        if local[1] not in (None, "*"):
            facts["slots"] = float(local[1])
            now["layout.tasks"] = local[1]
    return Job(facts, now, spark_version)


def _set(settings: Mapping[str, str]) -> dict[str, str]:
    """Give settings that are factors of a space, where their text is a level."""
    return {
        one.factor: settings[one.factor]
        for one in knobs()
        if one.factor in settings
        and (
            one.kind == "choice"
            or settings[one.factor] in one.special
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
