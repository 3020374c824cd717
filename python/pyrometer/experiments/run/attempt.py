"""One attempt at a trial: run now, or read from a run directory.

Also what an experiment keeps of one run: its time, its result, and the shape of its plans.
"""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyrometer.collect.launch.driver_place import not_measured
from pyrometer.collect.launch.observe import Watch
from pyrometer.collect.launch.process import TIMEOUT
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.folder import UNAPPLIED, HostSeen, Status
from pyrometer.experiments.run.hosts import Most, on_a_cluster, waited_s
from pyrometer.experiments.run.other_machine import CLOCK, other_machine
from pyrometer.experiments.run.outside import ended_from_outside
from pyrometer.experiments.run.work import work_of
from pyrometer.guests.facts import oom_kills, oom_kills_since
from pyrometer.orchestrator import run as orchestrator
from pyrometer.orchestrator.run import Outcome
from pyrometer.statistics.warmup import Shape, counting
from pyrometer.store import Run
from pyrometer.store.manifest import Manifest, Result, read_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial

BORNE = (
    "emulated", "machine_waited", "machine_oversubscribed", "memory_condition_missed", UNAPPLIED
)  # fmt: skip
"""Doubts about the machine or the levels of a trial, which its time bears in an experiment, too."""

_ITERATIONS = """
    SELECT iteration, warmup, (end_mono_ns - start_mono_ns) / 1e9,
           result_rows_count, result_checksum
    FROM iterations WHERE status = 'success' AND end_mono_ns IS NOT NULL ORDER BY iteration
"""
_NODES = """
    SELECT sql_id, depth, name FROM plan_nodes WHERE is_final
    ORDER BY app_index, sql_id, node_id
"""
# Event logs have whole milliseconds: a query may seem to start before its iteration.
_NODES_WITHIN = """
    SELECT sql_id, depth, name FROM plan_nodes JOIN sql_executions s USING (app_index, sql_id)
    WHERE is_final AND EXISTS (
        SELECT 1 FROM iterations i WHERE i.iteration IN ({})
        AND s.start_wall_ns BETWEEN i.start_wall_ns - 1000000 AND i.end_wall_ns)
    ORDER BY app_index, sql_id, node_id
"""


@dataclass(frozen=True)
class TrialFacts:
    """Facts of a run that finished.

    Attributes
    ----------
    iterations_s : tuple of float
        Of each iteration that counts; empty for a command.
    seconds : float or None
        Their mean; of a command the time from its launch to its end, less `waited_s`.
    rows, checksum
        Of the last iteration's result, where it is known.
    plan : str or None
        Digest of the operators of all plans that ran and how they are nested; numbers in their
        names are left out. ``None`` without SQL.
    series_s : tuple of float
        Of every iteration, those of the warm-up first.
    counted_from : int or None
        Position in the series from which iterations count.
    shape : str or None
        What the series looks like.
    canaries : mapping
        Geometric mean over the iterations that count, where they were measured before each.
    doubted : tuple of str
        Codes of doubts of the run that its time bears wherever it goes.
    waited_s : float or None
        Of an application on a cluster: from its begin until it had an executor.
    hosts : tuple of HostSeen
        Hosts of a cluster, and what others did there.
    most : Most or None
        Executors of an application on a cluster, where their number is fixed.
    unapplied : tuple of str
        Levels that did not hold, as sentences that begin with the factor.
    work : mapping of str to float
        What all of the run did; empty where only some of its iterations are meant.
    """

    iterations_s: tuple[float, ...]
    seconds: float | None
    rows: int | None
    checksum: str | None
    plan: str | None
    series_s: tuple[float, ...] = ()
    counted_from: int | None = None
    shape: Shape | None = None
    canaries: Mapping[str, float | str] = field(default_factory=dict)
    doubted: tuple[str, ...] = ()
    waited_s: float | None = None
    hosts: tuple[HostSeen, ...] = ()
    most: Most | None = None
    unapplied: tuple[str, ...] = ()
    work: Mapping[str, float] = field(default_factory=dict)


def trial_facts(
    run: Run, *, detected: bool = True, only: Collection[int] = (), start: int = 0
) -> TrialFacts:
    """Read the facts of one run.

    Parameters
    ----------
    detected : bool
        Whether iterations count from where their times are steady; else all that were declared.
    only : collection of int
        Iterations that are looked at; empty: all.
    start : int
        Position in the series before which none counts.
    """
    found = run.tables.query(_ITERATIONS) if run.tables.has("iterations") else []
    found = [row for row in found if not only or row[0] in only]
    times = tuple(float(row[2]) for row in found)
    declared = max(start, sum(bool(row[1]) for row in found))
    shape, start = counting(times, declared, detected)
    counted = times[start:]
    rows, checksum = (found[-1][3], found[-1][4]) if found else (None, None)
    seconds = statistics.fmean(counted) if counted else None
    results: Sequence[Result] = run.manifest.results if run.manifest else ()
    cluster = on_a_cluster(run)
    if not times and run.manifest is not None:
        manifest = run.manifest
        if manifest.started_mono_ns is not None and manifest.ended_mono_ns is not None:
            seconds = (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9
            # How long a manager had nothing to give is no property of a treatment.
            seconds -= cluster.waited_s or 0
        if results:
            rows, checksum = results[-1].rows, results[-1].checksum
    return TrialFacts(
        iterations_s=counted,
        seconds=seconds,
        rows=rows,
        checksum=checksum,
        plan=_plan(run, only),
        series_s=times,
        counted_from=start if times else None,
        shape=shape if times else None,
        canaries=_canaries(results, {row[0] for row in found[start:]}),
        doubted=_doubted(run.manifest),
        waited_s=cluster.waited_s,
        hosts=cluster.hosts,
        most=cluster.most,
        unapplied=_unapplied(run.manifest),
        work={} if only else work_of(run),
    )


def _doubted(manifest: Manifest | None) -> tuple[str, ...]:
    found = {one.code for one in manifest.doubts} if manifest else set()
    return tuple(code for code in BORNE if code in found)


def _unapplied(manifest: Manifest | None) -> tuple[str, ...]:
    doubts = manifest.doubts if manifest else ()
    return tuple(dict.fromkeys(one.message for one in doubts if one.code == UNAPPLIED))


def _canaries(results: Sequence[Result], counted: Collection[int]) -> dict[str, float | str]:
    seen = [one.canary for one in results if one.iteration in counted and one.canary]
    reason = next((one["reason"] for one in seen if "reason" in one), None)
    if reason is not None or not seen:
        return {} if reason is None else {"reason": reason}
    return {name: statistics.geometric_mean(float(one[name]) for one in seen) for name in seen[0]}


def _plan(run: Run, only: Collection[int]) -> str | None:
    if not run.tables.has("plan_nodes"):
        return None
    query = _NODES_WITHIN.format(", ".join(map(str, sorted(only)))) if only else _NODES
    shapes: dict[int, list[str]] = {}
    for sql_id, depth, name in run.tables.query(query):
        shapes.setdefault(sql_id, []).append(f"{depth} {re.sub(r'[0-9]+', '', name)}")
    digest = hashlib.sha256()
    # Iterations repeat their queries, and how often they run is no change of plan.
    for shape in sorted({"\n".join(one) for one in shapes.values()}):
        digest.update(shape.encode() + b"\0")
    return digest.hexdigest()[:16] if shapes else None


_TAIL_BYTES = 1 << 16
_OUT_OF_MEMORY = (b"java.lang.OutOfMemoryError", b"Java heap space", b"GC overhead limit")


@dataclass(frozen=True)
class Attempt:
    """The outcome of an attempt.

    Parameters
    ----------
    status : str
        As the journal has it, or ``interrupted``: the user stopped it, and it will be repeated.
    seconds : float or None
        Its value, where it finished.
    censored_s : float or None
        How long it ran, where time or memory ran out.
    reason : str or None
        Why it did not finish.
    facts : TrialFacts or None
        Of a run that finished.
    outside : str or None
        What ended it, where that may be nothing of its own doing.
    waited_s : float or None
        Of a run that ran out of time on a cluster: how much of that it waited for executors.
    """

    status: Status | Literal["interrupted"]
    seconds: float | None = None
    censored_s: float | None = None
    reason: str | None = None
    facts: TrialFacts | None = None
    outside: str | None = None
    waited_s: float | None = None


RunTrial = Callable[[Trial, Watch], Attempt]
"""Runs one trial: :func:`run_trial`, or what simulates it."""

RunTurns = Callable[[Trial, Watch], list[Attempt]]
"""Runs a trial in which treatments take turns; gives the outcome of each."""

Place = tuple[Path, Collection[int]]
"""A run directory, and which of its iterations are meant; none: all."""


def run_trial(trial: Trial, watch: Watch) -> Attempt:
    """Launch a trial in fresh processes, measured as ``pyrometer run`` measures it."""
    killed = oom_kills()
    try:
        outcome = orchestrator.run(trial, watch, report=False)
    except PyrometerError as error:
        return Attempt("failed", reason=error.message)
    return attempt_of(trial, outcome, bool(oom_kills_since(killed)))


def attempt_of(trial: Trial, outcome: Outcome, kernel_killed: bool = False) -> Attempt:
    """Read the outcome of a trial that was launched; `kernel_killed` as of :func:`read`."""
    root = outcome.record.paths.root
    found = read(root, kernel_killed, detected=trial.warmup == "auto")
    if outcome.ending.interrupted_by == TIMEOUT:
        return Attempt(
            "timeout", censored_s=trial.timeout_s, reason=found.reason, waited_s=_waited_s(root)
        )
    return found


def _waited_s(root: Path) -> float | None:
    try:
        with Run.open(root) as opened:
            return waited_s(opened, read_manifest(root).ended_wall_ns)
    except PyrometerError:
        return None


def run_turns(trial: Trial, watch: Watch) -> list[Attempt]:
    """Launch a trial whose treatments take turns in one JVM."""
    whole = run_trial(trial, watch)
    if whole.status == "interrupted" or trial.run_dir is None:
        return [whole] * len(trial.turns)
    if whole.status != "finished":
        # The failure belongs to the treatment whose turn it was; it ended the others' trials, too.
        at = last_begun(trial.run_dir)
        other = Attempt("failed", reason="the JVM ended in another treatment's turn")
        return [whole if at is None or at in turn else other for _, turn in trial.turns]
    places = [(trial.run_dir, positions) for _, positions in trial.turns]
    return read_together(places, detected=trial.warmup == "auto")


def last_begun(root: Path) -> int | None:
    """Return the iteration in which a run ended; ``None`` where it ended between two."""
    try:
        results = read_manifest(root).results
    except PyrometerError:
        return None
    return results[-1].iteration if results and results[-1].status != "ok" else None


def read_together(places: Sequence[Place], *, detected: bool) -> list[Attempt]:
    """Read runs that are compared with each other: in all, iterations count from the same one."""
    found = [read(root, detected=detected, only=only) for root, only in places]
    start = max((one.facts.counted_from or 0 for one in found if one.facts), default=0)
    return [read(root, detected=False, only=only, start=start) for root, only in places]


def read(
    root: Path,
    kernel_killed: bool = False,
    *,
    detected: bool = True,
    only: Collection[int] = (),
    start: int = 0,
) -> Attempt:
    """Read the outcome of a run.

    Parameters
    ----------
    kernel_killed : bool
        Whether this host's kernel killed processes meanwhile, out of memory. Of a trial in a
        virtual machine it says nothing: that has its own kernel, and memory of its own.
    detected, only, start
        Which iterations count: see :func:`pyrometer.experiments.run.attempt.trial_facts`.
    """
    manifest = read_manifest(root)
    if manifest.state == "interrupted":
        return Attempt("interrupted", reason=manifest.exit.reason)
    if manifest.state == "finished":
        if why := not_measured(manifest.doubts):
            return Attempt("failed", reason=why)
        if why := other_machine(manifest.doubts):
            late = any(one.code == CLOCK for one in manifest.doubts)
            return Attempt("failed", reason=why, outside=why if late else None)
        try:
            with Run.open(root) as opened:
                facts = trial_facts(opened, detected=detected, only=only, start=start)
        except PyrometerError as error:
            return Attempt("failed", reason=error.message)
        if facts.seconds is None or facts.seconds <= 0:
            return Attempt("failed", reason="no iteration's time is known")
        return Attempt("finished", seconds=facts.seconds, facts=facts)
    if any(one.status == "wrong_result" for one in manifest.results):
        return Attempt("wrong_result", reason=manifest.exit.reason)
    own = _short_of_memory(root, manifest)
    if own or (kernel_killed and manifest.machine is None):
        outside = None if own else "the kernel ran out of memory, for this or for something else"
        return Attempt(
            "out_of_memory", censored_s=_ran(manifest), reason=manifest.why, outside=outside
        )
    reason = _with_its_log(root, manifest)
    return Attempt("failed", reason=reason, outside=ended_from_outside(manifest))


def _with_its_log(root: Path, manifest: Manifest) -> str | None:
    """Say why a run failed; of a command, whose output nobody saw, also where that is."""
    log = RunPaths(root).stderr
    if any(one.error for one in manifest.results) or not _tail(log):
        return manifest.why
    return f"{manifest.why or 'it failed'}; its output: {log}"


def _ran(manifest: Manifest) -> float | None:
    if manifest.started_mono_ns is None or manifest.ended_mono_ns is None:
        return None
    return (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9


def _short_of_memory(root: Path, manifest: Manifest) -> bool:
    if any((one or {}).get("oom_kills_count") for one in (manifest.cgroup, manifest.machine)):
        return True
    texts = [(one.error or "").encode() for one in manifest.results]
    texts.append((manifest.exit.reason or "").encode())
    paths = RunPaths(root)
    texts += [_tail(paths.stderr), _tail(paths.stdout)]
    return any(word in text for text in texts for word in (*_OUT_OF_MEMORY, b"OutOfMemoryError"))


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read()
    except OSError:
        return b""
