"""``with pm.measure(spark) as m:`` — measure a block of a session that is already running.

No JVM option can be given any more, so there are no task spans and no stacks: Spark's events
come from a listener that we add, CPU and waits from the OS probe. The record says so.

Spark's own events of a session that runs already: what was sent before we came.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pyrometer.collect.launch.record import Record
    from pyrometer.collect.probes.os import OsProbe
    from pyrometer.summary.schema import Summary
    from pyrometer.trial.trial import Trial


SECRET = re.compile(r"(?i)secret|password|token|access[.]?key|credential")


def standing_events(context: Any) -> list[dict[str, Any]]:
    """Say what a session is, in Spark's own events: those that were sent before we came."""
    scala = context._jsc.sc()
    now = int(time.time() * 1000)
    properties = {
        key: "*********(redacted)" if SECRET.search(key) else value
        for key, value in context.getConf().getAll()
    }
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": context.version},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": context.appName,
            "App ID": context.applicationId,
            "Timestamp": int(scala.startTime()),
            "User": context.sparkUser(),
        },
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "JVM Information": {},
            "Spark Properties": properties,
            "System Properties": {},
            "Classpath Entries": {},
        },
    ]
    executors = scala.statusStore().executorList(True)
    for position in range(executors.size()):
        executor = executors.apply(position)
        cores = int(executor.totalCores())
        if cores:
            events.append(
                {
                    "Event": "SparkListenerExecutorAdded",
                    "Timestamp": now,
                    "Executor ID": str(executor.id()),
                    "Executor Info": {
                        "Host": str(executor.hostPort()).rpartition(":")[0],
                        "Total Cores": cores,
                        "Log Urls": {},
                    },
                }
            )
    return events


LISTENER = "org.apache.spark.scheduler.EventLoggingListener"
DRAIN_MS = 30_000


class Measurement:
    """A measured block; made by :func:`measure` and :func:`pyrometer.orchestrator.repeat.repeat`.

    Attributes
    ----------
    run_dir : Path
        The run directory; ``pyrometer show``, ``ledger`` and ``report`` read it.
    """

    def __init__(self, spark: Any, trial: Trial, probe: bool) -> None:
        from pyrometer.collect.host.card import this_host
        from pyrometer.collect.launch.record import Record, make_run_dir, new_manifest
        from pyrometer.core.errors import CapabilityError
        from pyrometer.workloads.iterations import IterationLog

        self._context: Any = _classic(spark)
        if self._context is None:
            raise CapabilityError(
                "this session has no JVM of its own here (Spark Connect, or it was stopped)",
                "use a classic SparkSession, or `pyrometer run` where the server is started",
            )
        paths = make_run_dir(trial)
        probes = ["eventlog", "os"] if probe else ["eventlog"]
        self.run_dir = paths.root
        self._record: Record = Record(paths, new_manifest(trial, this_host(), probes, []))
        self._log = IterationLog(paths.iterations)
        self._block = contextlib.ExitStack()
        self._wants_probe = probe
        self._probe: OsProbe | None = None
        self._listener: Any = None
        self._summary: Summary | None = None

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
        """Record the session while the block runs, and say at its end how it came."""
        from pyrometer.store.manifest import Exit, clock_pair

        manifest = self._record.manifest
        manifest.versions["spark"] = self._context.version
        self._add_listener()
        if self._wants_probe:
            self._start_probe()
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
            self._close()
            self._record.save()

    @contextlib.contextmanager
    def iteration(self, number: int, *, warmup: bool = False) -> Iterator[dict[str, Any]]:
        """Mark the jobs of one iteration; what is put into the value is written at its end."""
        ended: dict[str, Any] = {"status": "ok", "error": None}
        self._mark(str(number), "true" if warmup else "false")
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
                self._mark(None, None)

    @property
    def summary(self) -> Summary:
        """What ``pyrometer show --json`` gives; made when first asked for."""
        from pyrometer.store import Run
        from pyrometer.store.ingest import ingest_run
        from pyrometer.summary.summary import summary

        if self._summary is None:
            ingest_run(self.run_dir)
            with Run.open(self.run_dir) as opened:
                self._summary = summary(opened)
        return self._summary

    def show(self) -> None:
        """Print the summary, as ``pyrometer show`` does."""
        from rich.console import Console

        from pyrometer.summary import terminal

        terminal.show(Console(highlight=False), self.summary)

    def report(self) -> Path:
        """Write ``report.html`` into the run directory and return its path."""
        from pyrometer.report.page import write_run_report

        return write_run_report(self.run_dir)

    def _mark(self, iteration: str | None, warmup: str | None) -> None:
        from pyrometer.workloads.runner import ITERATION_PROPERTY, WARMUP_PROPERTY

        self._context.setLocalProperty(ITERATION_PROPERTY, iteration)
        self._context.setLocalProperty(WARMUP_PROPERTY, warmup)

    def _add_listener(self) -> None:
        # A rolling log of two files: what the session was when we came, then what it does.
        context = self._context
        log = self._record.paths.eventlog / f"eventlog_v2_{context.applicationId}"
        log.mkdir()
        first = log / f"events_1_{context.applicationId}"
        lines = "".join(json.dumps(event) + "\n" for event in standing_events(context))
        first.write_text(lines, encoding="utf-8")
        jvm, scala = context._jvm, context._jsc.sc()
        conf = scala.getConf()
        for key, value in {
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.overwrite": "true",
            "spark.eventLog.logStageExecutorMetrics": "true",
        }.items():
            conf.set(key, value)
        self._listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
            f"events_2_{context.applicationId}",
            jvm.scala.Option.apply(None),
            jvm.java.net.URI(log.resolve().as_uri()),
            conf,
            scala.hadoopConfiguration(),
        )
        self._listener.start()
        scala.addSparkListener(self._listener)

    def _start_probe(self) -> None:
        from pyrometer.collect.probes.os import OsProbe

        self._probe = OsProbe()
        for problem in self._probe.check():
            self._record.doubt("probe_missing", f"Probe {problem.probe}: {problem.reason}.")
        name = str(self._context._jvm.org.apache.spark.util.Utils.getProcessName())
        self._probe.start(self._record.paths, int(name.partition("@")[0]))

    def _close(self) -> None:
        from pyrometer.collect.launch.record import results
        from pyrometer.collect.probes.logs import EventLogProbe

        manifest = self._record.manifest
        try:
            scala = self._context._jsc.sc()
            # Events are delivered in the background: the last tasks' may still be on their way.
            scala.listenerBus().waitUntilEmpty(DRAIN_MS)
            scala.removeSparkListener(self._listener)
            self._listener.stop()
        except Exception as error:
            # The block may have stopped the session: what was logged up to then is there.
            self._record.doubt(
                "probe_degraded", f"The listener could not be closed: {str(error)[:300]}"
            )
        manifest.probes = [EventLogProbe().report(self._record.paths)]
        if self._probe is not None:
            self._probe.stop()
            manifest.probes.append(self._probe.report(self._record.paths))
        manifest.results = results(self._record.paths.iterations)


def measure(spark: Any, run_dir: str | Path | None = None, *, probe: bool = True) -> Measurement:
    """Measure a block of a live session.

    Parameters
    ----------
    spark : SparkSession or SparkContext
        A classic session, whose JVM runs on this machine.
    run_dir : path, optional
        Where to write: new, or an empty folder. A new one under ``./pyrometer-runs`` by default.
    probe : bool
        Whether the OS probe runs beside (CPU, run queue and I/O of the session's processes).

    Returns
    -------
    Measurement
        To be used with ``with``; then ``m.show()``, ``m.summary``, ``m.report()``.

    Raises
    ------
    CapabilityError
        If the session has no JVM of its own (Spark Connect).
    UsageError
        If the run directory cannot be written.

    Examples
    --------
    >>> import pyrometer as pm
    >>> with pm.measure(spark) as m:  # doctest: +SKIP
    ...     spark.range(10**7).selectExpr("sum(id)").collect()
    >>> m.show()  # doctest: +SKIP
    """
    from pyrometer.trial.trial import Trial

    where = Path(run_dir) if run_dir is not None else None
    trial = Trial(command=("pm.measure",), profile="live", iterations=1, warmup=0, run_dir=where)
    return Measurement(spark, trial, probe)


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:2000]


def _classic(spark: Any) -> Any:
    # A Connect session has no sparkContext: asking for it raises. A stopped one has no JVM.
    try:
        context = getattr(spark, "sparkContext", spark)
        return context if context._jsc is not None else None
    except Exception:
        return None
