"""Tasks of a scan wait for remote storage.

What it is
    Input lies in an object store or on other hosts (`s3a`, `gs`, `abfs`, `wasb`, `hdfs`, `http`):
    each request takes a round trip of tens of milliseconds, and a task sends them one after
    another.

Mechanism
    What is left of a task's run time without CPU, collections, fetch waits and shuffle writes are
    waits that no counter names. Of a task that also writes or spills, only its input's part of
    these bytes counts. At most all of that is waiting for the store; the expected part is what
    exceeds the waits (for a CPU, for locks) for each second of CPU in stages without remote input.
    Where waits were sampled, those for sockets and for a scan's readers count instead. Bytes take
    their time at `RATE` for each task (at the low end: `SLOW_RATE`) however they are asked for; of
    the rest the simulator removes what the remedies achieve (`ACHIEVED`), at most all of it: with
    the data on the host.

Evidence
    The scan's location, run time beside its counters, bytes read; the ledger's waits.

Remedy
    More tasks for each core, which wait in parallel: in local mode `layout.tasks`, on Kubernetes
    `spark.executor.cores`, with `spark.kubernetes.executor.request.cores` as it was; elsewhere more
    cores may mean more CPUs, too. Larger files, which need fewer requests; for columnar files of
    `s3a` reads of ranges (`fs.s3a.experimental.input.fadvise=random`, `fs.s3a.vectored.*`), for
    text a longer `fs.s3a.readahead.range`; a cache of what is read again.

When it is wrong
    Tasks wait for something that Spark does not count: CPUs that others hold, locks, a slow local
    disk. Stages that run Python, programs or GPUs are left out, as are tasks on the host of their
    blocks (HDFS). Settings of `s3a` have no effect where a platform brings its own client.

Source
    Amazon, Best practices design patterns: optimizing Amazon S3 performance: 100 to 200 ms to the
    first byte, 85 to 90 MB/s for each request. Measured for these bounds on 2026-11-25: 60 Parquet
    files, 58 MB, behind a file system that sleeps 30 ms for each request, on two slots of two CPUs:
    5.3 and 6.7 s; with twice the slots 3.1 s (one run), in 4 files 1.3 s (one run, 240 requests
    down to 16), without the 30 ms 1.2 and 3.2 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest, where_in
from pyrometer.explain.evidence.saying import code, factor, machine, page, place, shown_by
from pyrometer.explain.evidence.scans.remote_scans import (
    RemoteScan,
    Waits,
    remote_scans,
    usual_waits,
    waits,
)
from pyrometer.explain.evidence.task_costs import unexplained
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent

RATE, SLOW_RATE = 90e6, 30e6
"""Bytes that one request at a time brings in a second: see above; and a slow one, assumed."""
ACHIEVED = (0.3, 1.0)
"""Of the waits beyond bytes. Measured, one run each: twice the slots 0.68 of all waits, fewer
files 0.86 of the time in requests. A setting may do less: the low end is assumed."""
_COLUMNAR = ("parquet", "orc")
_REQUEST = "spark.kubernetes.executor.request.cores"
_LEFT = (
    "SELECT sum(greatest(0, executor_run_time_ns - coalesce(executor_cpu_time_ns, 0)"
    " - coalesce(jvm_gc_time_ns, 0) - coalesce(shuffle_fetch_wait_time_ns, 0)"
    " - coalesce(shuffle_write_time_ns, 0))) FROM tasks WHERE {}"
)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    scans = remote_scans(facts)
    usual = usual_waits(facts, scans) if scans else 0.0
    for scan in scans:
        found = waits(facts, scan, usual)
        if found is not None and (one := _suspect(facts, scan, found)) is not None:
            yield one


def _suspect(facts: Facts, scan: RemoteScan, found: Waits) -> tuple[float, Suspect] | None:
    most, size = found.total_ns, sum(facts.tasks_of(n).total("input_bytes") for n in found.ns)
    if scan.node is None and size <= 0:
        return None  # an RDD that may have come from a cache
    low, value = (max(0.0, found.expected_ns - size / rate * 1e9) for rate in (SLOW_RATE, RATE))
    if most <= 0 or value <= 0:
        return None
    tasks = sum(facts.tasks_of(n).count for n in found.ns)
    cost = {n: float(one.sum()) for n, one in found.ns.items()}
    ran = sum(facts.tasks_of(n).total("executor_run_time_ns") for n in found.ns)
    node, sql = scan.node, scan.plan.sql.sql_id if scan.plan else None
    where = place(
        facts, "data", cost, sql_id=sql, node_id=node.node_id if node else None,
        operator=node.name.strip() if node else None,
        source=None if node else facts.stages[next(iter(cost))].called,
    )  # fmt: skip
    link = page(where) if node is None else f"/sql/{sql}/{node.node_id}"
    what = "were seen to wait for it" if found.sampled else "waited (no counter says for what)"
    read = where_in(facts, found.ns)
    return value, Suspect(
        place=where,
        mechanism=(
            f"{units.counted(tasks, 'task')} read {units.size(size)} from {scan.scheme} and {what}"
            f" {units.duration(found.expected_ns)} of {units.duration(ran)}, where the bytes alone"
            f" take {units.duration(size / RATE * 1e9)} at {units.rate(RATE)} a task."
        ),
        change=(Less("network", found.ns),),
        extent=Extent(value / most * sum(ACHIEVED) / 2, low / most * ACHIEVED[0], ACHIEVED[1],
                      tasks),
        evidence=[
            _waited(found, read, sum(float(unexplained(facts.tasks_of(n)).sum()) for n in found.ns),
                    link, tasks),
            shown_by("bytes read", size, "bytes", "tasks",
                     f"SELECT sum(input_bytes) FROM tasks WHERE {read}", link, tasks),
        ],
        remedies=_remedies(facts, scan),
    )  # fmt: skip


def _waited(found: Waits, read: str, left: float, link: str, n: int) -> Evidence:
    if found.sampled:
        query = "show --json: ledger, task/waiting"
        return shown_by("waits for it", found.expected_ns, "ns", "samples", query, link)
    query = _LEFT.format(read)
    return shown_by("run time beside its counters", left, "ns", "tasks", query, link, n)


def _remedies(facts: Facts, scan: RemoteScan) -> list[Remedy]:
    text = (scan.node.simple_string or "").lower() if scan.node else ""
    columnar = any(form in text for form in _COLUMNAR)
    found = []
    if scan.scheme == "s3a":
        advice = "spark.hadoop.fs.s3a.experimental.input.fadvise"
        if columnar and facts.setting(advice) != "random":
            found.append(
                factor(advice, "random", "ask for ranges of columnar files, and for more at once",
                       **{"spark.hadoop.fs.s3a.vectored.read.min.seek.size": "256K",
                          "spark.hadoop.fs.s3a.vectored.read.max.merged.size": "4M"})
            )  # fmt: skip
        elif not columnar:
            found.append(
                factor("spark.hadoop.fs.s3a.readahead.range", "4M", "read further at each request")
            )
    found.append(_more_tasks(facts))
    found.append(
        code("read it once, in fewer, larger files", "df.write.parquet(path)",
             "df.repartition(files).write.parquet(path)")
    )  # fmt: skip
    return found


def _more_tasks(facts: Facts) -> Remedy:
    """Say how twice the tasks run at once on as many CPUs."""
    text = "run two tasks for each core: while one waits, the other computes"
    if facts.heap_setting == "spark.driver.memory" and facts.measured is not None:  # local mode
        threads = sum(one.cores for one in facts.measured.executors)
        return factor("layout.tasks", str(2 * threads), text)
    cores = facts.setting("spark.executor.cores") or ""
    if not cores.isdecimal():
        return machine("run more tasks than there are cores: they wait in parallel")
    twice = str(2 * int(cores))
    if (facts.setting("spark.master") or "").startswith("k8s"):
        own = facts.setting(_REQUEST) or cores
        return factor("spark.executor.cores", twice, text, **{_REQUEST: own})
    return machine(f"{text} (spark.executor.cores={twice}, with as many CPUs as before)")


RULE = Rule(
    code="scan.remote-storage-latency",
    title="A scan waits for remote storage",
    cause="latency of remote storage",
    suspects=_suspects,
    explains=("network.slow",),
    refute="Read a copy on local disks: if tasks still wait as long, it is not the store.",
)
