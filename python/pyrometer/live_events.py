"""Spark's own events of a session that runs already: what was sent before we came."""

from __future__ import annotations

import re
import time
from typing import Any

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
