"""A Spark session that runs already: a listener logs its events, the OS probe watches its JVM."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from pyrometer.collect.launch.record import Record, results
from pyrometer.collect.probes.base import Probe, reported
from pyrometer.collect.probes.logs import EVENT_LOG, EventLogProbe
from pyrometer.collect.probes.os import OsProbe
from pyrometer.core.errors import CapabilityError
from pyrometer.core.redaction import Redactor
from pyrometer.store.axis.probe_reports import slowed
from pyrometer.workloads.runner import ITERATION_PROPERTY, WARMUP_PROPERTY

DRAIN_MS = 30_000
"""How long events may be on their way to the listener."""

LOGGING = {**EVENT_LOG, "spark.eventLog.overwrite": "true"}
"""Settings of the listener, in its copy of the session's settings."""


def standing_events(context: Any) -> list[dict[str, Any]]:
    """Describe a session by Spark's events: those that were sent before the listener was added."""
    scala = context._jsc.sc()
    now = int(time.time() * 1000)
    redactor = _redactor(context)
    settings = context.getConf().getAll()
    properties = {key: redactor.setting(key, value) for key, value in settings}
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


def _redactor(context: Any) -> Redactor:
    """Give a redactor that knows a session's own patterns."""
    return Redactor.of(f"{key}={value}" for key, value in context.getConf().getAll())


def classic_context(spark: Any) -> Any:
    """Give the SparkContext of a session or a context.

    Raises
    ------
    CapabilityError
        If it has no JVM here.
    """
    # A Connect session has no sparkContext: asking for it raises. A stopped one has no JVM.
    try:
        context = getattr(spark, "sparkContext", spark)
        if context._jsc is not None:
            return context
    except Exception:  # noqa: S110 - whatever it is, it is no classic session
        pass
    raise CapabilityError(
        "this session has no JVM of its own here (Spark Connect, or it was stopped)",
        "use a classic SparkSession, or `pyrometer run` where the server is started",
    )


class SessionProbes:
    """What is observed of a session; :meth:`start` and :meth:`stop` never disturb its jobs.

    Parameters
    ----------
    context : SparkContext
        Of the session.
    os_probe : bool
        Whether the OS probe watches its processes.
    budget : float or None
        Share of a CPU that its passes may cost.
    """

    def __init__(self, context: Any, os_probe: bool, budget: float | None = None) -> None:
        self.event_log = EventLogProbe()
        self.os = OsProbe(budget=budget) if os_probe else None
        self._context = context
        self._listener: Any = None

    @property
    def probes(self) -> list[Probe]:
        """The probes, in the order of the manifest."""
        return [self.event_log, *([self.os] if self.os else [])]

    def start(self, record: Record) -> None:
        """Add the listener, and start the OS probe."""
        self._add_listener(record)
        # For its log, and for the manifest; without the native module neither is read.
        with contextlib.suppress(ImportError):
            _redactor(self._context).teach()
        if self.os is not None:
            for problem in self.os.check():
                record.doubt("probe_missing", f"Probe {problem.probe}: {problem.reason}.")
            name = str(self._context._jvm.org.apache.spark.util.Utils.getProcessName())
            self.os.start(record.paths, int(name.partition("@")[0]))

    def mark(self, iteration: str | None, warmup: str | None) -> None:
        """Have the jobs that this thread starts carry the number of their iteration."""
        self._context.setLocalProperty(ITERATION_PROPERTY, iteration)
        self._context.setLocalProperty(WARMUP_PROPERTY, warmup)

    def stop(self, record: Record) -> None:
        """Take the listener away, stop the OS probe, and write down what they delivered."""
        try:
            scala = self._context._jsc.sc()
            # Events are delivered in the background: the last tasks' may still be on their way.
            scala.listenerBus().waitUntilEmpty(DRAIN_MS)
            scala.removeSparkListener(self._listener)
            self._listener.stop()
        except Exception as error:
            # The block may have stopped the session: what was logged up to then is there.
            said = f"The listener could not be closed: {str(error)[:300]}."
            record.doubt("probe_degraded", said)
        if self.os is not None:
            self.os.stop()
        record.manifest.probes = [reported(probe, record.paths) for probe in self.probes]
        for said in filter(None, map(slowed, record.manifest.probes)):
            record.doubt("probe_slowed", said)
        record.manifest.results = results(record.paths.iterations)

    def _add_listener(self, record: Record) -> None:
        # A rolling log of two files: what the session was when we came, then what it does.
        context = self._context
        log = record.paths.eventlog / f"eventlog_v2_{context.applicationId}"
        log.mkdir()
        first = log / f"events_1_{context.applicationId}"
        lines = "".join(json.dumps(event) + "\n" for event in standing_events(context))
        first.write_text(lines, encoding="utf-8")
        jvm, scala = context._jvm, context._jsc.sc()
        conf = scala.getConf()
        for key, value in LOGGING.items():
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
