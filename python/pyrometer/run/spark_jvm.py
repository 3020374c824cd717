"""What a running JVM is to Spark: driver, executor or nothing; and where its event log lies."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

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
        As far as the command line or the event log tells.
    """

    role: str
    executor_id: str | None
    app_id: str | None


def part_of(arguments: Sequence[str], properties: Mapping[str, str], log: Path | None) -> SparkJvm:
    """Tell by command line and system properties.

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
