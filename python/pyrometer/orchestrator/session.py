"""A block of a Spark session that is already running: once, or again and again as a workload.

``with pm.measure(spark) as m:`` runs it once. ``pm.repeat(spark, block, name="nightly")`` runs it
a few times to warm up, then as often as asked for, each time as one iteration. It must return the
same each time: nothing else is known about its result.

No JVM option can be given any more, so there are no task spans and no stacks: Spark's events
come from a listener that we add, CPU and waits from the OS probe. The record says so.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyrometer.collect.attach.session import SessionProbes, classic_context
from pyrometer.collect.launch.record import new_record
from pyrometer.core.errors import WorkloadError
from pyrometer.orchestrator.derive import redact_raw
from pyrometer.store.manifest import Exit, clock_pair
from pyrometer.store.private import keep_private
from pyrometer.trial.trial import ProbeBudget, Trial
from pyrometer.trial.trial import probe_budget as resolved
from pyrometer.workloads.iterations import IterationLog
from pyrometer.workloads.results import result_rows, unlike
from pyrometer.workloads.rounding import rounded_checksum

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


class Measurement:
    """A measured block, as given by :func:`measure` and :func:`repeat`.

    Attributes
    ----------
    run_dir : Path
        The run directory; ``pyrometer show``, ``ledger`` and ``report`` read it.
    """

    def __init__(self, spark: Any, trial: Trial, probe: bool) -> None:
        self._context = classic_context(spark)
        budget = resolved(trial.probe_budget, with_stacks=False)
        self._probes = SessionProbes(self._context, os_probe=probe, budget=budget)
        self._record = new_record(trial, self._probes.probes, [])
        self._log = IterationLog(self._record.paths.iterations)
        self._block = contextlib.ExitStack()
        self._summary: Summary | None = None
        self.run_dir = self._record.paths.root

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as block:
            block.enter_context(self.recorded())
            block.enter_context(self.iteration(0))
            self._block = block.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._block.__exit__(kind, error, trace)

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the session while the block runs, and write down its result at the end."""
        manifest = self._record.manifest
        manifest.versions["spark"] = self._context.version
        self._probes.start(self._record)
        pair = clock_pair()
        manifest.clock_pairs.append(pair)
        manifest.started_mono_ns, manifest.started_wall_ns = pair.mono_ns, pair.wall_ns
        self._record.doubt(
            "live_session", "Measured inside a running session: no task spans and no stacks."
        )
        self._record.save()
        failed = None
        try:
            yield
        except BaseException as error:
            failed = _cause(error)
            raise
        finally:
            pair = clock_pair()
            manifest.clock_pairs.append(pair)
            manifest.ended_mono_ns, manifest.ended_wall_ns = pair.mono_ns, pair.wall_ns
            manifest.state = "failed" if failed else "finished"
            manifest.exit = Exit(code=None, reason=failed)
            self._probes.stop(self._record)
            redact_raw(self._record)
            self._record.save()
            keep_private(self.run_dir)

    @contextlib.contextmanager
    def iteration(self, number: int, *, warmup: bool = False) -> Iterator[dict[str, Any]]:
        """Mark the jobs of one iteration; what is put into the value is written at its end."""
        ended: dict[str, Any] = {"status": "ok", "error": None}
        self._probes.mark(str(number), "true" if warmup else "false")
        self._log.write("start", number, warmup)
        try:
            yield ended
        except BaseException as error:
            if ended["status"] == "ok":
                ended.update(status="failed", error=_cause(error))
            raise
        finally:
            self._log.write("end", number, warmup, **ended)
            # The block may have stopped the session.
            with contextlib.suppress(Exception):
                self._probes.mark(None, None)

    @property
    def summary(self) -> Summary:
        """What ``pyrometer show --json`` gives; computed when first asked for."""
        from pyrometer.store import Run
        from pyrometer.store.ingest import ingest_run
        from pyrometer.summary.summary import summary

        if self._summary is None:
            ingest_run(self.run_dir)
            keep_private(self.run_dir)
            with Run.open(self.run_dir) as opened:
                self._summary = summary(opened)
        return self._summary

    def show(self) -> None:
        """Print the summary, as ``pyrometer show`` does."""
        from pyrometer.summary import screen
        from pyrometer.terminal import console

        screen.show(console.out(), self.summary)

    def report(self) -> Path:
        """Write ``report.html`` into the run directory and return its path."""
        from pyrometer.report.page import write_run_report

        written = write_run_report(self.run_dir)
        keep_private(self.run_dir)
        return written


def measure(
    spark: Any,
    run_dir: str | Path | None = None,
    *,
    probe: bool = True,
    probe_budget: ProbeBudget = "auto",
) -> Measurement:
    """Measure a block of a live session.

    Parameters
    ----------
    spark : SparkSession or SparkContext
        A classic session, whose JVM runs on this machine.
    run_dir : path, optional
        Where to write: new, or an empty folder. A new one under ``./pyrometer-runs`` by default.
    probe : bool
        Whether the OS probe runs as well (CPU, run queue and I/O of the session's processes).
    probe_budget : float, "auto" or None
        Share of a CPU that its passes may cost before they become rarer; ``None``: any;
        ``"auto"``: 0.5 %.

    Returns
    -------
    Measurement
        To be used with ``with``; then ``m.show()``, ``m.summary``, ``m.report()``.

    Raises
    ------
    CapabilityError
        If the session has no JVM here (Spark Connect).
    UsageError
        If the run directory cannot be written.

    Examples
    --------
    >>> import pyrometer as pm
    >>> with pm.measure(spark) as m:  # doctest: +SKIP
    ...     spark.range(10**7).selectExpr("sum(id)").collect()
    >>> m.show()  # doctest: +SKIP
    """
    where = Path(run_dir) if run_dir is not None else None
    trial = Trial(
        command=("pm.measure",),
        profile="live",
        iterations=1,
        warmup=0,
        run_dir=where,
        probe_budget=probe_budget,
    )
    return Measurement(spark, trial, probe)


def repeat(
    spark: Any,
    block: Callable[[], object],
    run_dir: str | Path | None = None,
    *,
    name: str,
    iterations: int = 3,
    warmup: int = 1,
    probe: bool = True,
    probe_budget: ProbeBudget = "auto",
) -> Measurement:
    """Measure iterations of a block in a live session.

    Parameters
    ----------
    spark : SparkSession or SparkContext
        A classic session, whose JVM runs on this machine.
    block : callable
        What runs, without arguments. If it returns rows (what ``collect`` gives), a list of
        values, or one value, that is its result, and every iteration must give the first one's:
        in any order, floating point within a relative 1e-9. Results of other types are not
        compared.
    run_dir : path, optional
        Where to write: new, or an empty folder. A new one under ``./pyrometer-runs`` by default.
    name : str
        What the workload is called.
    iterations, warmup : int
        How many are measured, and how many run before.
    probe : bool
        Whether the OS probe runs as well.
    probe_budget : float, "auto" or None
        Share of a CPU that its passes may cost before they become rarer; ``None``: any;
        ``"auto"``: 0.5 %.

    Raises
    ------
    WorkloadError
        If an iteration gives another result than the first; it is the last one then.
    CapabilityError
        If the session has no JVM here (Spark Connect).
    UsageError
        If the run directory cannot be written, or a number is too small.

    Examples
    --------
    >>> import pyrometer as pm
    >>> m = pm.repeat(spark, lambda: spark.range(10**7).count(), name="count")  # doctest: +SKIP
    >>> m.show()  # doctest: +SKIP
    """
    where = Path(run_dir) if run_dir is not None else None
    trial = Trial(
        name=name,
        profile="live",
        iterations=iterations,
        warmup=warmup,
        run_dir=where,
        probe_budget=probe_budget,
    )
    measured = Measurement(spark, trial, probe)
    first: list[tuple[Any, ...]] | None = None
    with measured.recorded():
        for number in range(warmup + iterations):
            with measured.iteration(number, warmup=number < warmup) as ended:
                value = block()
                ended.update(mono_ns=time.monotonic_ns(), wall_ns=time.time_ns())
                rows = result_rows(value)
                if rows is None:
                    continue
                ended.update(rows=len(rows), checksum=rounded_checksum(rows))
                first = rows if first is None else first
                wrong = unlike(first, rows)
                if wrong:
                    ended.update(status="wrong_result", error=str(wrong))
                    raise WorkloadError(f"iteration {number} of {name}, unlike the first: {wrong}")
    return measured


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:2000]
