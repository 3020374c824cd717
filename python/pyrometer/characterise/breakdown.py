"""CPU of all threads by the code that ran: the program, codecs, collector, JIT, VM, kernel.

The split follows the method profiles of Chiba and Onodera
("Workload characterization and optimization of TPC-H queries on Apache Spark", ISPASS 2016, Figures
10 and 11): first by the program image of the frame that ran, then what ran in Java by what it
worked for.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Literal, get_args

from pydantic import BaseModel

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import part_of
from pyrometer.store import Run
from pyrometer.window.windows import clock_offset_ns

Component = Literal["java", "codec", "gc", "jit", "vm", "kernel", "python", "native"]


class BreakdownRow(BaseModel):
    """Samples of one component or layer: their CPU, and their share of the whole in its row."""

    name: str
    on_cpu_ns: int
    share: Estimate


class Breakdown(BaseModel):
    """CPU of all threads by component, and what ran in Java by what it worked for.

    Shares of ``components`` are of all samples, shares of ``java`` of those that ran in Java.
    """

    samples_count: int
    on_cpu_ns: int
    components: list[BreakdownRow]
    java: list[BreakdownRow]


# Categories (schema/categories.toml) of Java code -> what it worked for. The rest is "other".
LAYERS = {
    "sql": ("operator", "cast", "hash", "sort", "udf", "spill"),
    "files": ("decode", "encode", "decompression", "compression", "io"),
    "serialisation": ("serialisation",),
    "shuffle": ("shuffle_read", "shuffle_write", "helper"),
    "python": ("python_bridge", "python"),
    "code generation": ("codegen",),
    "driver": ("driver", "scheduler"),
    "pyrometer": ("pyrometer",),
}
OTHER = "other"

_JAVA = "('interpreted', 'c1', 'c2', 'inlined')"
# The image of the frame that ran; where that is the JVM's library, the thread shows which part
# of the JVM. Code that the JVM generates for Java (copying of arrays) has no library.
_COMPONENT = f"""
    CASE WHEN f.kind = 'python' THEN 'python'
         WHEN f.kind = 'kernel' THEN 'kernel'
         WHEN f.kind IN {_JAVA} OR (f.library IS NULL AND x.role NOT IN ('gc', 'jit', 'vm'))
           THEN 'java'
         WHEN regexp_matches(f.library, '^(libsnappy|libzstd|liblz4|libzip|libz[.])') THEN 'codec'
         WHEN x.role = 'gc' OR x.category = 'gc' THEN 'gc'
         WHEN x.role = 'jit' THEN 'jit'
         WHEN x.role = 'vm' OR f.library LIKE 'libjvm%' THEN 'vm'
         ELSE 'native' END
"""
_COUNTS = f"""
    WITH leaves AS (
      SELECT s.stack_id, f.kind, f.library FROM stacks s
      JOIN frames f ON f.frame_id = s.frame_ids[len(s.frame_ids)])
    SELECT p.name, {_COMPONENT} AS component, x.category, count(*), sum(x.weight)::BIGINT
    FROM samples x JOIN part_times p ON x.clock = 'mono'
      AND x.t_ns >= p.start_mono_ns AND x.t_ns < p.end_mono_ns
    LEFT JOIN leaves f ON f.stack_id = coalesce(x.java_stack, x.native_stack, x.kernel_stack)
    WHERE x.event = 'cpu' GROUP BY ALL
"""
Times = list[tuple[str, int, int]]


def breakdowns(run: Run, executions: Times) -> tuple[dict[str, Breakdown], str | None]:
    """Split the CPU of every thread by component, for each query of a run.

    Parameters
    ----------
    executions : list of (str, int, int)
        Queries with start and end by Spark's clock (Unix ns), for runs whose workload does not
        time its queries itself; for the others, the measured iterations count.

    Returns
    -------
    dict
        Breakdowns by the name of the query.
    str or None
        Why there are none.
    """
    if not run.tables.has("samples"):
        return {}, "the run has no profiler samples"
    times = _timed(run)
    if not times:
        offset = clock_offset_ns(run)
        if offset is None:
            return {}, "no clock pair joins Spark's clock with that of the samples"
        times = [(name, start - offset, end - offset) for name, start, end in executions]
    if not times:
        return {}, "no query ended"
    times.sort(key=lambda part: part[1])
    if any(after[1] < before[2] for before, after in pairwise(times)):
        return {}, "queries ran at the same time: the JVM's own threads worked for several at once"
    rows = ", ".join(
        f"({_text(name)}, {start}::BIGINT, {end}::BIGINT)" for name, start, end in times
    )
    run.tables.define(
        "part_times", f"SELECT * FROM (VALUES {rows}) AS p(name, start_mono_ns, end_mono_ns)"
    )
    counted: dict[str, list[tuple[str, str | None, int, int]]] = defaultdict(list)
    for name, component, category, hits, weight in run.tables.query(_COUNTS):
        counted[name].append((component, category, hits, weight))
    if not counted:
        return {}, "no CPU sample lies in the time of a query"
    return {name: _breakdown(found) for name, found in counted.items()}, None


def layer(category: str | None) -> str:
    """Say what Java code of a category worked for.

    Examples
    --------
    >>> layer("hash"), layer("decode"), layer(None)
    ('sql', 'files', 'other')
    """
    return next((name for name, of in LAYERS.items() if category in of), OTHER)


def _breakdown(counted: list[tuple[str, str | None, int, int]]) -> Breakdown:
    total = sum(hits for _, _, hits, _ in counted)
    components: dict[str, list[int]] = {name: [0, 0] for name in get_args(Component)}
    layers: dict[str, list[int]] = {name: [0, 0] for name in (*LAYERS, OTHER)}
    for component, category, hits, weight in counted:
        for sums in [components[component], *([layers[layer(category)]] * (component == "java"))]:
            sums[0] += hits
            sums[1] += weight
    java = components["java"][0]
    return Breakdown(
        samples_count=total,
        on_cpu_ns=sum(weight for *_, weight in counted),
        components=_rows(components, total),
        java=_rows(layers, java),
    )


def _rows(sums: dict[str, list[int]], total: int) -> list[BreakdownRow]:
    return [
        BreakdownRow(name=name, on_cpu_ns=weight, share=part_of(1, hits, total))
        for name, (hits, weight) in sums.items()
    ]


def _timed(run: Run) -> Times:
    """Give when each query ran in the measured iterations, by the workload runner's clock."""
    return [
        (part.name, part.started_mono_ns, part.ended_mono_ns)
        for result in (run.manifest.results if run.manifest else [])
        for part in result.parts
        if not result.warmup and part.error is None and part.ended_mono_ns > part.started_mono_ns
    ]


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
