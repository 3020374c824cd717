"""A run directory of event logs, with what was shipped from the hosts of their applications.

For applications that nobody launched under ``pyrometer run``, as with a driver on the cluster: the
event log says which they are and when they ran, a store has what their executors' plugin and agents
that run as services recorded. Without the driver's records clocks are compared by wall time.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from pyrometer import __version__
from pyrometer.core import schema
from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import redact_each
from pyrometer.store.ingest import IngestReport, ingest_eventlogs, ingest_run
from pyrometer.store.manifest import Host, Manifest, Shipped, Workload, write_manifest
from pyrometer.store.private import keep_private
from pyrometer.store.run_folder import new_run_folder
from pyrometer.store.services.stores import check_store
from pyrometer.store.tables import Tables

PROFILE = "shipped"

_APPLICATIONS = """
SELECT app_id, min(start_wall_ns), max(coalesce(end_wall_ns, last_event_wall_ns))
FROM apps WHERE app_id IS NOT NULL GROUP BY app_id ORDER BY 2, 1
"""


def ingest_shipped(logs: Sequence[str | Path], run_dir: str | Path, store: str) -> IngestReport:
    """Make a run directory of event logs and of what a store has of their applications.

    The logs are copied to ``raw/eventlog``, secrets struck, and the store is kept in the manifest,
    so that a later :func:`pyrometer.store.ingest_run` adds what arrives afterwards.

    Parameters
    ----------
    logs : sequence of path
        Files and rolling directories, in any codec that Spark writes.
    run_dir : path
        The directory to make; it must be new or empty.
    store : str
        A folder or an address, as ``spark.pyrometer.ship.to`` or an agent's ``--to`` names it.

    Raises
    ------
    PyrometerError
        If a log is none, ``run_dir`` holds something, or the store cannot be read or has nothing of
        the applications; what was written is then removed again.
    """
    check_store(store)
    sources = [Path(log) for log in logs]
    with new_run_folder(Path(run_dir)) as paths:
        ingest_eventlogs(sources, paths.root)
        with Tables(paths.tables) as tables:
            applications = tables.query(_APPLICATIONS)
        _copy(sources, paths.eventlog)
        manifest = _manifest(applications, store)
        for said in redact_each(sorted(paths.eventlog.rglob("*"))):
            manifest.doubts.append(schema.doubt("secrets_kept", said))
        write_manifest(paths.root, manifest)
        report = ingest_run(paths.root)
        if not any(file.is_file() for file in paths.shipped.rglob("*")):
            raise UsageError(_nothing(applications, store, report), "pyrometer show EVENTLOG")
        keep_private(paths.root)
    return report


def _copy(sources: Sequence[Path], folder: Path) -> None:
    folder.mkdir(parents=True)
    for source in sources:
        target = folder / source.name
        if target.exists():
            raise UsageError(
                f"{source}: another log has the same name", "give logs that lie in one folder"
            )
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)


def _manifest(applications: Sequence[tuple[str, int | None, int | None]], store: str) -> Manifest:
    starts = [start for _, start, _ in applications if start is not None]
    ends = [end for _, _, end in applications if end is not None]
    return Manifest(
        run_id=str(uuid.uuid4()),
        created_wall_ns=time.time_ns(),
        pyrometer_version=__version__,
        state="finished",
        workload=Workload(),
        profile=PROFILE,
        host=Host(),
        started_wall_ns=min(starts, default=None),
        ended_wall_ns=max(ends, default=None),
        shipped=[Shipped(app_id=app, to=store) for app, *_ in applications],
    )


def _nothing(
    applications: Sequence[tuple[str, int | None, int | None]], store: str, report: IngestReport
) -> str:
    names = ", ".join(app for app, *_ in applications[:3]) or "applications without an id"
    unread = ("chunks_elsewhere", "chunks_unjoined")
    why = [one.message for one in report.doubts if one.code in unread]
    said = f": {why[0]}" if why else ""
    return f"{store} has nothing of {names}, of its executors or of agents that saw them{said}"
