"""Where a run lies, and tables that are there and current; opening them is another matter."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.installation import upgrade
from pyrometer.core.json_text import parse_json
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.store.paths import RunPaths, raw_states
from pyrometer.store.private import keep_private
from pyrometer.store.remote.opened import address, in_addresses, mirror_of, place_of
from pyrometer.store.tables_folder import STAMP

if TYPE_CHECKING:
    from pyrometer.store.remote.cache import Held

_MOST_BESIDE = 1_000  # names that are looked at, of a folder that may be any
_HELD: dict[Path, Held] = {}
"""Folders of tables of event logs that this process may read: nobody removes them meanwhile."""
_MOST_HELD = 64  # of them, the newest: each takes a file descriptor


@dataclass(frozen=True)
class Located:
    """A run whose tables are current.

    Attributes
    ----------
    paths : RunPaths
        Where it lies; of an event log, the cache folder.
    manifest : Manifest or None
        ``None`` where only event logs are known, or where it is missing or cut (a doubt says so).
    doubts : list of Doubt
        Of the manifest.
    """

    paths: RunPaths
    manifest: Manifest | None = None
    doubts: list[Doubt] = field(default_factory=list)


def locate(path: str | Path) -> Located:
    """Find a run directory, a folder of tables, or an event log, and have its tables current.

    Tables that are missing, of an older version or older than the raw streams are built first. An
    event log (file or rolling directory) is ingested to the cache folder, once. A run at an
    address (``s3://bucket/run``) is read through a cache; nothing is written there.

    Raises
    ------
    UsageError
        If there is nothing of the kind at ``path``, or a newer Pyrometer wrote it.
    """
    root = place_of(path)
    if not root.exists():
        near = _alike(root)
        more = f"; did you mean {near}?" if near else ""
        raise UsageError(f"{root}: no such file or directory{more}", "pyrometer run -- COMMAND…")
    if root.is_file() or _rolling(root):
        return _located_log(root)
    paths = RunPaths(root)
    if not paths.raw.is_dir() and not paths.tables.is_dir() and not paths.manifest.is_file():
        if (root / "trials").is_dir():
            raise UsageError(f"{root}: an experiment, which is not one run", _trials(root))
        raise UsageError(
            f"{root}: neither a run directory nor an event log",
            "give the directory that `pyrometer run` printed (it holds manifest.json)",
        )
    manifest, doubts = _manifest(paths)
    mirror = mirror_of(root)
    if _must_ingest(paths):
        from pyrometer.store import ingest_run

        ingest_run(root)
        if mirror is not None:
            keep_private(root)
    if mirror is not None and manifest is not None and manifest.state == "failed":
        mirror.bring_output()
    doubts += _other_rules(paths)
    return Located(paths, manifest, doubts)


def _trials(root: Path) -> str:
    """Say which runs an experiment has."""
    found = sorted(islice((root / "trials").iterdir(), _MOST_BESIDE))
    runs = [one for one in map(RunPaths, found) if one.manifest.is_file() or one.tables.is_dir()]
    if not runs:
        verb = "tune show" if (root / "tuning.json").is_file() else "experiment resume"
        return f"it has no trials yet: pyrometer {verb} {root}"
    shown = ", ".join(str(one.root) for one in runs[:3])
    more = f", and {len(runs) - 3} more" if len(runs) > 3 else ""
    return f"give one of its trials: {shown}{more}"


def _must_ingest(paths: RunPaths) -> bool:
    """Whether tables have to be made; the raw files of a run elsewhere are then here."""
    mirror = mirror_of(paths.root)
    if mirror is None:
        return not is_current(paths.tables, paths.raw) and paths.raw.is_dir()
    # Times of objects are those of their upload: only sizes tell whether there is more.
    if not mirror.has_raw() or (is_current(paths.tables, None) and not mirror.outgrown()):
        return False
    mirror.bring_raw()
    return True


def _located_log(log: Path) -> Located:
    folder = cache_folder(log)
    if not is_current(folder / "tables", None):
        from pyrometer.store import ingest_eventlogs

        ingest_eventlogs([log], folder)
        drop_former(folder)
    return Located(RunPaths(folder))


def is_current(folder: Path, raw: Path | None) -> bool:
    """Whether tables are whole, of this version, and not older than the raw files.

    Tables of other rules (`schema.rules_digest`) are current only where the raw files to make them
    of again are not all there: `locate` has a doubt then.

    Raises
    ------
    UsageError
        If a newer Pyrometer wrote them and there are no raw files to read again.
    """
    try:
        stamp = parse_json((folder / STAMP).read_bytes())
        version = int(stamp["schema_version"])
    except (OSError, ValueError, TypeError, KeyError):
        return False
    if version > schema.schema_version():
        raise UsageError(
            f"{folder}: tables of schema version {version}; this Pyrometer reads up to "
            f"{schema.schema_version()}",
            upgrade(),
        )
    if version < schema.schema_version():
        return False
    if raw is None or not raw.is_dir():
        return True
    states = raw_states(raw)
    # A file of a clock that is ahead would be newer than any tables.
    now_ns = time.time_ns()
    times = [state.st_mtime_ns for state in states if state.st_mtime_ns <= now_ns]
    if max(times, default=0) > int(stamp.get("started_wall_ns", 0)):
        return False
    if _more(folder, states, stamp):
        return False
    return stamp.get("rules") == schema.rules_digest() or not _whole(states, stamp)


def _whole(states: list[os.stat_result], stamp: dict[str, Any]) -> bool:
    """Whether raw files are as many as there were: striking secrets out changes their bytes.

    Stamps of before say only how many bytes there were.
    """
    found = _amounts(states)
    name = next((name for name in found if isinstance(stamp.get(name), int)), None)
    return name is not None and found[name] >= stamp[name]


def _more(folder: Path, states: list[os.stat_result], stamp: dict[str, Any]) -> bool:
    """Whether raw files are more than there were: copies have the times of their originals.

    Bytes alone tell only where the stamp follows what striking secrets out does to them, as those
    of before did not; and they are no reason to refuse tables that cannot be made again.
    """
    found = _amounts(states)
    if stamp.get("raw_bytes_follow_redaction") is not True or not os.access(folder, os.W_OK):
        del found["raw_bytes"]
    return any(isinstance(stamp.get(name), int) and found[name] > stamp[name] for name in found)


def _amounts(states: list[os.stat_result]) -> dict[str, int]:
    return {"raw_files": len(states), "raw_bytes": sum(state.st_size for state in states)}


def _other_rules(paths: RunPaths) -> list[Doubt]:
    """Give the doubt of samples that were classified by other rules."""
    try:
        stamp = parse_json((paths.tables / STAMP).read_bytes())
        rules, samples = stamp.get("rules"), stamp["tables"]["samples"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []
    if rules == schema.rules_digest() or not samples:
        return []
    return [schema.doubt("rules_differ", "Samples were classified by the rules of another version")]


def _alike(path: Path) -> Path | None:
    """Give what lies beside a path that is not there, under a name much like its own."""
    try:
        names = [one.name for one in islice(os.scandir(path.parent), _MOST_BESIDE)]
    except OSError:
        return None
    near = get_close_matches(path.name, names, 1)
    return path.with_name(near[0]) if near else None


def cache_folder(log: Path) -> Path:
    """Give the folder of the tables built from one event log: by its path, size and time of change.

    It is made if it is missing, and while this process may read it nobody removes it.

    Raises
    ------
    UsageError
        If there is no such log.
    """
    if not log.exists():
        raise UsageError(f"{log}: no such file or directory", "give a Spark event log")
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    marks = []
    # A file of a log that is being written may be renamed meanwhile.
    for file in sorted(_files(log)):
        with suppress(FileNotFoundError):
            status = file.stat()
            marks.append((str(file.resolve()), status.st_size, status.st_mtime_ns))
    from pyrometer.store.remote.cache import Held

    where = address(log) if mirror_of(log) is not None else str(log.resolve())
    name = f"{_digest(where.removesuffix('.inprogress'))}-{_digest(marks)}"
    folder = root / "pyrometer" / "eventlogs" / name
    if folder in _HELD and not _HELD[folder].is_there():
        _HELD.pop(folder).close()
    if folder not in _HELD:
        _HELD[folder] = Held(name, folder.parent)
        for former in list(_HELD)[:-_MOST_HELD]:
            _HELD.pop(former).close()
    return folder


def drop_former(folder: Path) -> None:
    """Remove tables of the same event log as it was before, but for those that somebody reads.

    Parameters
    ----------
    folder : Path
        Of the log as it is (`cache_folder`).
    """
    _HELD[folder].remove_others(folder.name.partition("-")[0] + "-")


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:20]


def _files(log: Path) -> Iterator[Path]:
    if not log.is_dir():
        yield log
    for folder, _, names in os.walk(log):
        yield from (Path(folder, name) for name in names)


def _rolling(root: Path) -> bool:
    """Whether a directory is a rolling event log, or holds nothing but event log files."""
    if root.name.startswith("eventlog_v2_"):
        return True
    return any(root.glob("events_*")) and not (root / "raw").is_dir()


def _manifest(paths: RunPaths) -> tuple[Manifest | None, list[Doubt]]:
    if not paths.manifest.is_file():
        if paths.raw.is_dir():
            name = f"{paths.address}/{paths.manifest.name}"
            message = f"{name}: missing; what ran and how it ended is not known"
            return None, [schema.doubt("manifest_unreadable", message)]
        return None, []
    try:
        manifest = read_manifest(paths.root)
    except PyrometerError as error:
        # Beside nothing else that can be read it is no doubt.
        if "schema version" in error.message or not (paths.raw.is_dir() or paths.tables.is_dir()):
            raise
        return None, [schema.doubt("manifest_unreadable", in_addresses(error.message))]
    return manifest, list(manifest.doubts)
