"""Which applications a run is of, before anything of it is a table."""

from __future__ import annotations

import re

from pyrometer.store.paths import RunPaths
from pyrometer.store.services.plugin_records import first_process

# As Spark names a log after its application: <id>, <id>_<attempt>, with what it is packed by.
_LOG = re.compile(
    r"(?:eventlog_v2_)?"
    r"(?P<app>(?:app-[0-9]{14}-[0-9]{4}|application_[0-9]+_[0-9]+|spark-[0-9a-f]{32}|local-[0-9]+))"
    r"(?:_[0-9]+)?(?:\.[a-z0-9.]+)?",
    re.ASCII,
)


def applications_of(paths: RunPaths) -> frozenset[str]:
    """Give the ids of a run's applications: by its JVMs' records, and by the names of its logs."""
    found = {first_process(file).get("app_id") for file in paths.plugin_files()}
    found |= {app_of_log(log.name) for log in paths.eventlogs()}
    return frozenset(app for app in found if isinstance(app, str) and app)


def app_of_log(name: str) -> str | None:
    """Give the application in the name of an event log; ``None`` if it has none that is known.

    Examples
    --------
    >>> app_of_log("eventlog_v2_app-20261126101112-0003"), app_of_log("spark.log")
    ('app-20261126101112-0003', None)
    >>> app_of_log("application_17_0001_2.zstd.inprogress")
    'application_17_0001'
    """
    found = _LOG.fullmatch(name)
    return None if found is None else found["app"]
