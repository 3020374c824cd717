"""What a running JVM is to Spark: driver, executor or nothing; its event log and its tasks."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyrometer.collect.attach.as_user import User
from pyrometer.collect.attach.polled_tasks import PolledTasks, write_spans
from pyrometer.collect.launch.record import Record
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.foreign_files import copy_files

_EXECUTOR = "CoarseGrainedExecutorBackend"
_LOG_NAME = re.compile(r"(local-\d+|app-\d{14}-\d{4}|application_\d+_\d+|spark-[0-9a-f]{32})")
_PROGRESS = ".inprogress"


@dataclass(frozen=True)
class SparkJvm:
    """A JVM's part in an application.

    Attributes
    ----------
    role : str
        ``driver``, ``executor``, or ``java`` where no Spark runs in it.
    executor_id : str or None
        As Spark names it; ``driver`` of a driver.
    app_id : str or None
        As far as the command line or the event log shows it.
    """

    role: str
    executor_id: str | None
    app_id: str | None


def part_of(arguments: Sequence[str], properties: Mapping[str, str], log: Path | None) -> SparkJvm:
    """Recognise a JVM's part by its command line and system properties.

    Examples
    --------
    >>> line = ["java", "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    ...         "--executor-id", "3", "--app-id", "app-1"]
    >>> part_of(line, {}, None)
    SparkJvm(role='executor', executor_id='3', app_id='app-1')
    >>> part_of(["java", "Main"], {}, None).role
    'java'
    """
    if any(_EXECUTOR in word for word in arguments):
        return SparkJvm(
            "executor", _after(arguments, "--executor-id"), _after(arguments, "--app-id")
        )
    words = [properties.get("sun.java.command", ""), properties.get("java.class.path", "")]
    spark = any(name.startswith("spark.") for name in properties)
    if (
        spark
        or log is not None
        or any("spark-core_" in word or ".spark." in word for word in words)
    ):
        named = _LOG_NAME.search(str(log)) if log else None
        app = properties.get("spark.app.id") or (named.group(0) if named else None)
        return SparkJvm("driver", "driver", app)
    return SparkJvm("java", None, None)


def open_log(pid: int) -> Path | None:
    """Event log that a driver writes at this moment: one of the files it has open.

    A rolling one is given by its folder, as seen from here.
    """
    links = []
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            # Files are opened and closed meanwhile.
            with contextlib.suppress(OSError):
                links.append(os.readlink(descriptor))
    for link in sorted(links):
        file = Path(link)
        if file.name.startswith(".") or not file.is_absolute():
            continue
        if file.parent.name.startswith("eventlog_v2_"):
            return _outside(pid, file.parent)
        if file.name.endswith(_PROGRESS) and _LOG_NAME.search(file.name):
            return _outside(pid, file)
    return None


def configured_log(properties: Mapping[str, str]) -> str | None:
    """Folder of event logs by the settings that the JVM was started with; ``None`` if off."""
    if properties.get("spark.eventLog.enabled", "false").lower() != "true":
        return None
    return properties.get("spark.eventLog.dir", "file:/tmp/spark-events")


def local_folder(where: str) -> Path | None:
    """Path of a folder on this machine; ``None`` if it is elsewhere."""
    parsed = urlparse(where)
    return Path(unquote(parsed.path)) if parsed.scheme in ("", "file") else None


def closed_name(log: Path) -> Path:
    """Name that a log gets when its application ends.

    Examples
    --------
    >>> closed_name(Path("/e/local-1.zstd.inprogress")).name
    'local-1.zstd'
    """
    return log.with_name(log.name.removesuffix(_PROGRESS))


def _outside(pid: int, path: Path) -> Path:
    """Path as seen from here, where the process runs in a container."""
    seen = Path(f"/proc/{pid}/root") / path.relative_to("/")
    return path if path.exists() else seen


def _after(words: Sequence[str], name: str) -> str | None:
    places = [place for place, word in enumerate(words[:-1]) if word == name]
    return words[places[0] + 1] if places else None


def copy_event_logs(
    record: Record, part: SparkJvm, properties: Mapping[str, str], log: Path | None, user: User
) -> list[Path]:
    """Copy the application's event log, as far as it is written, into a run directory.

    The JVM's user rules where it lies: nothing is copied that this user could not read.

    Parameters
    ----------
    record : Record
        The run; what could not be copied becomes a doubt of it.
    part : SparkJvm
        What the JVM is to Spark.
    properties : mapping
        Its system properties.
    log : Path or None
        The log that it has open.
    user : User
        Who the JVM is.
    """
    if part.role == "java":
        return []
    if part.role == "executor":
        record.doubt("eventlog_elsewhere", "The driver of this executor writes the event log.")
        return []
    if log is None:
        where = configured_log(properties)
        folder = local_folder(where) if where else None
        if where is None or folder is None or not part.app_id:
            text = f"The event log is in {where}." if where else "The application writes none."
            record.doubt("eventlog_elsewhere", text)
            return []
        found = sorted(folder.glob(f"*{glob.escape(part.app_id)}*"))
    else:
        found = [name for name in (log, closed_name(log)) if name.exists()][:1]
    copies = []
    for source in found:
        target = record.paths.eventlog / closed_name(source).name
        try:
            copy_files(source, target, user.does)
            copies.append(target)
        except OSError as error:
            record.doubt("eventlog_elsewhere", f"{source}: {error.strerror or error}.")
    if not copies:
        record.doubt("eventlog_elsewhere", f"No log of {part.app_id} was found.")
    return copies


def write_tasks(
    record: Record,
    pid: int,
    part: SparkJvm,
    properties: Mapping[str, str],
    polled: PolledTasks,
    logs: Sequence[Path],
) -> None:
    """Write the tasks that were seen in a JVM as a plugin in it would have.

    Parameters
    ----------
    record : Record
        The run.
    pid : int
        Process of the JVM.
    part, properties
        As of :func:`copy_event_logs`.
    polled : PolledTasks
        The probe that saw them.
    logs : sequence of Path
        Event logs, which know their times to the millisecond.
    """
    manifest = record.manifest
    facts: dict[str, object] = {
        "role": part.role,
        "executor_id": part.executor_id,
        "pid": pid,
        "host": manifest.host.hostname,
        "app_id": part.app_id,
        "mono_ns": manifest.started_mono_ns,
        "wall_ns": manifest.started_wall_ns,
        "java_version": properties.get("java.version"),
        "jvm": properties.get("java.vm.name"),
        "spark_version": None,
    }
    name = f"plugin-{part.role}-{part.executor_id or 'none'}-{pid}.ndjson"
    offset = (manifest.started_wall_ns or 0) - (manifest.started_mono_ns or 0)

    def exact(tasks: Iterable[int]) -> dict[int, tuple[int, int | None]]:
        return _times_of(logs, list(tasks), offset)

    write_spans(record.paths.raw / name, facts, polled.spans, exact)


def _times_of(
    logs: Sequence[Path], tasks: list[int], offset_ns: int
) -> dict[int, tuple[int, int | None]]:
    """Launch and finish by task, on the monotonic clock, as event logs have them."""
    # Imported here: earlier, their CPU time would be taken from the application.
    from pyrometer.store import ingest_eventlogs
    from pyrometer.store.tables import Tables

    if not logs or not tasks:
        return {}
    with tempfile.TemporaryDirectory(prefix="pyrometer-attach-") as folder:
        try:
            ingest_eventlogs(logs, folder)
        except (UsageError, CapabilityError):
            return {}
        with Tables(Path(folder) / "tables") as tables:
            rows = tables.query(
                "SELECT task_attempt_id, launch_wall_ns, finish_wall_ns FROM tasks"
                f" WHERE launch_wall_ns IS NOT NULL AND task_attempt_id IN ({_list(tasks)})"
            )
    return {
        task: (launch - offset_ns, None if finish is None else finish - offset_ns)
        for task, launch, finish in rows
    }


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
