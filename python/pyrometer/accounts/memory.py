"""Memory that tasks and processes used in a window, and whether the JVM had compiled their code.

Values about memory and compiled code: parts of the structure of ``show --json``.

Bytes by samples: allocated on the heap, in use at the end, native memory not given back.
"""

from __future__ import annotations

from pydantic import Field

from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS
from pyrometer.accounts.memory_waits import MemoryWaits, memory_waits
from pyrometer.accounts.numa import NumaMemory, numa_memory
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model
from pyrometer.statistics.shares import LEVEL, Z, part_of
from pyrometer.window.counters import growth
from pyrometer.window.scope import Scope


class ClassBytes(Model):
    """Sampled bytes of one class."""

    class_name: str
    bytes: int
    share: float
    samples_count: int


class SampledBytes(Model):
    """Bytes by the profiler's samples.

    Attributes
    ----------
    estimate : Estimate or None
        ``bytes`` with its interval.
    ratio : Estimate or None
        To the JVM's count of the same, where there is one.
    """

    bytes: int | None = None
    estimate: Estimate | None = None
    ratio: Estimate | None = None
    samples_count: int | None = None
    by_class: list[ClassBytes] = Field(default_factory=list)
    reason: str | None = None


class Allocation(Model):
    """What the threads of tasks allocated on the heap; the rate is per second of the window."""

    allocated_bytes: int | None = None
    bytes_per_s: float | None = None
    sampled: SampledBytes = Field(default_factory=SampledBytes)
    reason: str | None = None


class Faults(Model):
    """Page faults of all processes of the application; major ones waited for a disk."""

    minor_count: int | None = None
    major_count: int | None = None
    reason: str | None = None


class Swap(Model):
    """Most memory of the application in swap at once, and what the host read from and wrote to it.

    The host's bytes are those of all its programs.
    """

    peak_bytes: int | None = None
    host_read_bytes: int | None = None
    host_written_bytes: int | None = None
    reason: str | None = None


class Memory(Model):
    """What tasks and processes did with memory."""

    allocation: Allocation = Field(default_factory=Allocation)
    live_heap: SampledBytes = Field(default_factory=SampledBytes)
    native: SampledBytes = Field(default_factory=SampledBytes)
    faults: Faults = Field(default_factory=Faults)
    swap: Swap = Field(default_factory=Swap)
    waits: MemoryWaits = Field(default_factory=MemoryWaits)
    numa: NumaMemory | None = None


class CodeKind(Model):
    """Task CPU in Java code of one kind: ``interpreted``, ``c1``, ``c2`` or ``no_java_frame``."""

    kind: str
    on_cpu_ns: int | None = None
    estimate: Estimate | None = None
    share: float | None = None


class Code(Model):
    """Task CPU by how the JVM ran its code."""

    kinds: list[CodeKind] = Field(default_factory=list)
    reason: str | None = None


MAX_CLASSES = 20
_TASKS = "AND x.task_attempt_id IS NOT NULL"
_INSIDE = (
    "JOIN w ON x.t_ns >= CASE x.clock WHEN 'wall' THEN w.start_wall_ns ELSE w.start_mono_ns END"
    " AND x.t_ns < CASE x.clock WHEN 'wall' THEN w.end_wall_ns ELSE w.end_mono_ns END"
)


def allocated(scope: Scope, counted: int | None) -> SampledBytes:
    """Add up what tasks allocated by the profiler's samples, and compare with the JVM's count.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    counted : int or None
        Bytes by the JVM's counters of the same threads.
    """
    return _sampled(scope, "alloc", f"{_INSIDE} WHERE x.event = 'alloc' {_TASKS}", counted)


def live_heap(scope: Scope) -> SampledBytes:
    """Objects of sampled allocations that were in use when the recordings ended."""
    return _sampled(scope, "live", "WHERE x.event = 'live'", None)


def native_memory(scope: Scope) -> SampledBytes:
    """Bytes asked of the native allocator, by all threads, and not given back by the end."""
    return _sampled(scope, "nativemem", "WHERE x.event = 'nativemem'", None)


def _events(scope: Scope) -> frozenset[str]:
    """Events of which the run has samples."""
    if "events" not in scope.kept:
        rows = scope.tables.query("SELECT DISTINCT event FROM samples")
        scope.kept["events"] = frozenset(event for (event,) in rows)
    found: frozenset[str] = scope.kept["events"]
    return found


def _sampled(scope: Scope, event: str, where: str, counted: int | None) -> SampledBytes:
    if event not in _events(scope):
        asked = "--profile full" if event == "alloc" else f"--profile cpu,wall,lock,{event}"
        return SampledBytes(reason=f"not sampled in this run: {asked}")
    if scope.unrecorded:
        return SampledBytes(reason=scope.unrecorded)
    found = scope.tables.record(
        "SELECT sum(x.weight)::BIGINT AS bytes, count(*) AS n,"
        f" sqrt(sum(x.weight::DOUBLE ** 2)) AS error FROM samples x {where}"
    )
    if not found["n"]:
        return SampledBytes(samples_count=0, reason=f"no sample of {event} in this window")
    # Samples fall at random among the bytes, so their number has a Poisson distribution.
    half = Z * found["error"]
    total = int(found["bytes"])
    classes = [
        ClassBytes(class_name=name, bytes=size, share=size / total, samples_count=n)
        for name, size, n in scope.tables.query(
            "SELECT coalesce(x.top_class, 'no class'), sum(x.weight)::BIGINT, count(*)"
            f" FROM samples x {where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MAX_CLASSES}"
        )
    ]
    return SampledBytes(
        bytes=total,
        estimate=_estimate(total, half, found["n"]),
        ratio=_estimate(total / counted, half / counted, found["n"]) if counted else None,
        samples_count=found["n"],
        by_class=classes if event != "nativemem" else [],
    )


def _estimate(value: float, half: float, n: int) -> Estimate:
    low = max(0.0, value - half)
    return Estimate(value=value, low=low, high=value + half, level=LEVEL, n=n, method="poisson")


KINDS = ("interpreted", "c1", "c2")
NO_JAVA_FRAME = "no_java_frame"

_OURS = f"scope NOT IN (SELECT 'process/' || pid FROM ({OWN_PROCESS}))"


def memory(scope: Scope) -> Memory:
    """Account for what tasks allocated, what was in use, page faults and swap of the application.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_series``.
    """
    allocation = _allocation(scope)
    allocation.sampled = allocated(scope, allocation.allocated_bytes)
    return Memory(
        allocation=allocation,
        live_heap=live_heap(scope),
        native=native_memory(scope),
        faults=_faults(scope),
        swap=_swap(scope),
        waits=memory_waits(scope),
        numa=numa_memory(scope),
    )


def _allocation(scope: Scope) -> Allocation:
    if not scope.has("spans"):
        return Allocation(
            reason=scope.unrecorded or "no plugin: what threads allocate was not read"
        )
    if not scope.has_mono:
        return Allocation(reason="no clock pair joins the plugin's clock with the window")
    reporting, silent, amount = scope.tables.query(
        "SELECT count(allocated_bytes), count(*) - count(allocated_bytes),"
        " sum(allocated_bytes * inside)::BIGINT FROM w_spans"
    )[0]
    if not reporting:
        return Allocation(reason="no task of this window reported what it allocated")
    length = scope.window.length_ns
    return Allocation(
        allocated_bytes=int(amount),
        bytes_per_s=amount * 1e9 / length if length else None,
        reason=f"without {silent} task(s) that did not report it" if silent else None,
    )


def _faults(scope: Scope) -> Faults:
    reason = _unread(scope, "process/%", "minor_faults_count")
    if reason:
        return Faults(reason=reason)
    found = growth(scope, f"scope LIKE 'process/%' AND {_OURS}")
    return Faults(
        minor_count=found.get("minor_faults_count", 0),
        major_count=found.get("major_faults_count", 0),
    )


def _swap(scope: Scope) -> Swap:
    reason = _unread(scope, "process/%", "swap_bytes")
    host = {} if _unread(scope, "host", "swapped_in_bytes") else growth(scope, "scope = 'host'")
    return Swap(
        peak_bytes=None if reason else _peak(scope, "swap_bytes"),
        host_read_bytes=host.get("swapped_in_bytes"),
        host_written_bytes=host.get("swapped_out_bytes"),
        reason=reason,
    )


def resident_peak(scope: Scope) -> tuple[int | None, str | None]:
    """Highest resident memory of the application's processes together, or why it is not known.

    Pages that processes share count in each of them.
    """
    reason = _unread(scope, "process/%", "rss_bytes")
    return (None, reason) if reason else (_peak(scope, "rss_bytes"), None)


def executor_peak(scope: Scope) -> tuple[int | None, str | None]:
    """Highest resident memory of one executor, or why it is not known.

    Its JVM counts with the processes below it, such as Python workers; where the driver runs the
    tasks, it is the executor.
    """
    if reason := _unread(scope, "process/%", "rss_bytes"):
        return None, reason
    if not (scope.has("processes") and scope.has("tasks")):
        return None, "no plugin: which processes are executors is not known"
    if "of_executor" not in scope.tables.defined:
        scope.tables.define("of_executor", _OF_EXECUTOR)
    found = _peak(scope, "rss_bytes", "JOIN of_executor USING (scope)", "part")
    return (found or None), None if found else "no probe read the memory of an executor"


# A JVM of its own below another, as an executor below a driver, is no part of it.
_OF_EXECUTOR = """
WITH RECURSIVE jvms AS (
  SELECT DISTINCT pid, app_id, executor_id, pid AS jvm FROM processes),
below AS (
  SELECT pid, jvm FROM jvms
  UNION
  SELECT c.pid, b.jvm FROM below b JOIN (
    SELECT DISTINCT TRY_CAST(replace(scope, 'process/', '') AS BIGINT) AS pid, value AS parent
    FROM os_series WHERE name = 'parent_pid' AND scope LIKE 'process/%') c ON c.parent = b.pid
  WHERE c.pid NOT IN (SELECT pid FROM jvms))
SELECT DISTINCT 'process/' || b.pid AS scope, b.jvm AS part FROM below b JOIN jvms j USING (jvm)
WHERE EXISTS (SELECT 1 FROM w_tasks t LEFT JOIN apps a USING (app_index)
  WHERE t.executor_id = j.executor_id AND coalesce(a.app_id = j.app_id, true))
"""


def _unread(scope: Scope, where: str, name: str) -> str | None:
    """Say why a series of the probe is not known in the window; ``None`` if it is."""
    if not scope.has("os_series"):
        return NO_PROBE
    if not scope.has_mono:
        return NO_CLOCK
    known = scope.tables.scalar(
        f"SELECT count(*) FROM os_series WHERE scope LIKE '{where}' AND name = '{name}'"
    )
    return None if known else f"the kernel did not give the probe {name}"


def _peak(scope: Scope, name: str, among: str = "", part: str = "0") -> int:
    """Highest sum of a level over the application's processes, each holding until it changes.

    Parameters
    ----------
    among, part : str
        A join that says of a process which part of the application it is, and that column: the
        sum is then the highest of any part.
    """
    found = scope.tables.scalar(
        f"""
        WITH readings AS (
          SELECT {part} AS part, scope, t_mono_ns AS t, value FROM os_series {among}
          WHERE scope LIKE 'process/%' AND name = '{name}' AND {_OURS}),
        changes AS (
          SELECT part, t, value - coalesce(lag(value)
            OVER (PARTITION BY part, scope ORDER BY t), 0) AS change
          FROM readings
          UNION ALL
          SELECT part, max(t) + 1, -arg_max(value, t) FROM readings GROUP BY part, scope),
        moments AS (SELECT part, t, sum(change) AS change FROM changes GROUP BY part, t),
        levels AS (
          SELECT t, lead(t) OVER upto AS until, sum(change) OVER upto AS level
          FROM moments WINDOW upto AS (PARTITION BY part ORDER BY t))
        SELECT max(level)::BIGINT FROM levels JOIN w
          ON t < w.end_mono_ns AND until > w.start_mono_ns
        """
    )
    return int(found or 0)


def define_stack_code(scope: Scope) -> None:
    """Define ``stack_code``: the kind of code of the Java method that a stack ran or had called.

    An inlined frame is a part of the compiled method around it: the innermost frame that is not
    inlined decides.
    """
    if "stack_code" in scope.tables.defined:
        return
    scope.tables.define(
        "stack_code",
        "SELECT s.stack_id, arg_max(f.kind, s.i) AS kind FROM"
        " (SELECT stack_id, unnest(frame_ids) AS frame_id, generate_subscripts(frame_ids, 1) AS i"
        "  FROM stacks) s"
        f" JOIN (SELECT frame_id, kind FROM frames WHERE kind IN {KINDS}) f USING (frame_id)"
        " GROUP BY s.stack_id",
    )


def code(scope: Scope) -> Code:
    """Split task CPU by the kind of code of the Java method that ran or had called what ran."""
    define_stack_code(scope)
    counts = dict(
        scope.tables.query(
            f"SELECT coalesce(c.kind, '{NO_JAVA_FRAME}'), sum(x.hits)::BIGINT FROM w_samples x"
            " LEFT JOIN stack_code c ON c.stack_id = x.java_stack"
            " WHERE x.event = 'cpu' AND x.role = 'task' GROUP BY 1"
        )
    )
    total, parent = sum(counts.values()), scope.task_cpu_ns
    if not total:
        return Code(reason=scope.unsampled or "no CPU samples of task threads")
    if not counts.keys() & set(KINDS):
        return Code(reason="no stack of task threads has a Java frame of a known kind")
    kinds = []
    for kind in (*KINDS, NO_JAVA_FRAME):
        hits = counts.get(kind, 0)
        part = None if parent is None else part_of(parent, hits, total)
        on_cpu = None if part is None else round(part.value or 0)
        kinds.append(CodeKind(kind=kind, on_cpu_ns=on_cpu, estimate=part, share=hits / total))
    return Code(kinds=kinds)
