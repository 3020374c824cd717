"""Memory that tasks and processes used in a window, and whether the JVM had compiled their code."""

from __future__ import annotations

from pyrometer.analyse.counters import growth
from pyrometer.analyse.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS
from pyrometer.analyse.model import Allocation, Code, CodeKind, Faults, Memory, Swap
from pyrometer.analyse.sampled_bytes import allocated, live_heap, native_memory
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import part_of

KINDS = ("interpreted", "c1", "c2")
NO_JAVA_FRAME = "no_java_frame"

_OURS = f"scope NOT IN (SELECT 'process/' || pid FROM ({OWN_PROCESS}))"


def memory(scope: Scope) -> Memory:
    """Tell what tasks allocated, what was in use, and page faults and swap of the application.

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
    )


def _allocation(scope: Scope) -> Allocation:
    if not scope.has("spans"):
        return Allocation(reason="no plugin: what threads allocate was not read")
    if not scope.has_mono:
        return Allocation(reason="no clock pair joins the plugin's clock with the window")
    told, silent, amount = scope.tables.query(
        "SELECT count(allocated_bytes), count(*) - count(allocated_bytes),"
        " sum(allocated_bytes * inside)::BIGINT FROM w_spans"
    )[0]
    if not told:
        return Allocation(reason="no task of this window told what it allocated")
    length = scope.window.length_ns
    return Allocation(
        allocated_bytes=int(amount),
        bytes_per_s=amount * 1e9 / length if length else None,
        reason=f"without {silent} task(s) that did not tell" if silent else None,
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


def _peak(scope: Scope, name: str) -> int:
    """Highest sum of a level over the application's processes, each holding until it changes."""
    found = scope.tables.scalar(
        f"""
        WITH readings AS (
          SELECT scope, t_mono_ns AS t, value FROM os_series
          WHERE scope LIKE 'process/%' AND name = '{name}' AND {_OURS}),
        changes AS (
          SELECT t, value - coalesce(lag(value) OVER (PARTITION BY scope ORDER BY t), 0) AS change
          FROM readings
          UNION ALL SELECT max(t) + 1, -arg_max(value, t) FROM readings GROUP BY scope),
        moments AS (SELECT t, sum(change) AS change FROM changes GROUP BY t),
        levels AS (
          SELECT t, lead(t) OVER upto AS until, sum(change) OVER upto AS level
          FROM moments WINDOW upto AS (ORDER BY t))
        SELECT max(level)::BIGINT FROM levels JOIN w
          ON t < w.end_mono_ns AND until > w.start_mono_ns
        """
    )
    return int(found or 0)


def code(scope: Scope) -> Code:
    """Split task CPU by the kind of code of the Java method that ran or had called what ran.

    An inlined frame is a part of the compiled method around it: the innermost frame that is not
    inlined decides.
    """
    scope.tables.define(
        "stack_code",
        "SELECT s.stack_id, arg_max(f.kind, s.i) AS kind FROM"
        " (SELECT stack_id, unnest(frame_ids) AS frame_id, generate_subscripts(frame_ids, 1) AS i"
        "  FROM stacks) s"
        f" JOIN (SELECT frame_id, kind FROM frames WHERE kind IN {KINDS}) f USING (frame_id)"
        " GROUP BY s.stack_id",
    )
    counts = dict(
        scope.tables.query(
            f"SELECT coalesce(c.kind, '{NO_JAVA_FRAME}'), sum(x.hits)::BIGINT FROM w_samples x"
            " LEFT JOIN stack_code c ON c.stack_id = x.java_stack"
            " WHERE x.event = 'cpu' AND x.role = 'task' GROUP BY 1"
        )
    )
    total, parent = sum(counts.values()), scope.task_cpu_ns
    if not total:
        return Code(reason="no CPU samples of task threads")
    if not counts.keys() & set(KINDS):
        return Code(reason="no stack of task threads has a Java frame of a known kind")
    made = []
    for kind in (*KINDS, NO_JAVA_FRAME):
        hits = counts.get(kind, 0)
        part = None if parent is None else part_of(parent, hits, total)
        on_cpu = None if part is None else round(part.value or 0)
        made.append(CodeKind(kind=kind, on_cpu_ns=on_cpu, estimate=part, share=hits / total))
    return Code(kinds=made)
