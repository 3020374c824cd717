"""A summary stored next to the tables, so that `show` need not compute it again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ValidationError

import pyrometer
from pyrometer.accounts.plan_schema import share_texts
from pyrometer.core.model import Model, in_json
from pyrometer.core.redaction import redacted
from pyrometer.core.replacing import replacing
from pyrometer.store.locate import Located, locate
from pyrometer.store.table_files import files_of
from pyrometer.store.tables_folder import STAMP, summary_file
from pyrometer.summary.schema import Summary


def summary_of(path: str | Path, window: str | None = None) -> Summary:
    """Give the summary of a run: as stored, or else computed, and stored.

    Parameters
    ----------
    path : path
        A run directory, a folder of tables, or an event log.
    window : str, optional
        ``measured``, ``application``, ``iteration/<n>``, ``sql/<id>`` or ``query/<description>``.

    Raises
    ------
    UsageError
        If there is no run, or it has no such window.
    """
    found = locate(path)
    kept = kept_summary(found, window)
    if kept is not None:
        kept.run.run_dir = found.paths.address
        return kept
    from pyrometer.store import Run
    from pyrometer.summary.summary import summary

    with Run.opened(found) as run:
        computed = summary(run, window)
    keep(found, computed, window)
    return computed


def keep(found: Located, summary: Summary, window: str | None = None) -> None:
    """Store a summary next to the tables it came from; if that fails, it is computed each time."""
    with suppress(OSError):
        put_beside(summary_file(found.paths.tables, window), _written(state_of(found), summary))


def _written(state: str, summary: Summary) -> Iterator[str]:
    """Write a summary in parts: queries and stages of a long application are most of it."""
    lists: Mapping[str, Sequence[BaseModel]] = {"sql": summary.sql, "stages": summary.stages}
    yield f"{_of(state)}{{"
    for name, models in lists.items():
        yield f'"{name}": ['
        for number, one in enumerate(models):
            yield f"{',' if number else ''}{in_json(one)}"
        yield "],"
    yield f"{in_json(summary, exclude=set(lists))[1:]}}}"


def put_beside(target: Path, content: Iterable[str]) -> None:
    """Write a file of JSON next to the tables, whole or not at all; secrets are struck out.

    Parameters
    ----------
    target : Path
        The file.
    content : iterable of str
        Its text, in parts that no secret crosses.

    Raises
    ------
    OSError
        If it cannot be written. Whatever ends the writing, nothing of it remains.
    """
    with replacing(target, 0o600) as file:
        for part in content:
            file.write(redacted(part).encode())


def kept_summary(found: Located, window: str | None = None) -> Summary | None:
    """Give the stored summary of a run, or ``None`` if there is none of its present state."""
    try:
        data = summary_file(found.paths.tables, window).read_bytes()
        if not data.startswith(_of(state_of(found)).encode()):
            return None
        summary = _Kept.model_validate_json(data).summary
    except (OSError, ValueError, ValidationError):
        return None
    share_texts(summary.sql)
    return summary


class _Kept(Model):
    """The file of a kept summary."""

    of: str
    summary: Summary


def _of(state: str) -> str:
    """Give how the file of a state begins."""
    return f'{{"of": {json.dumps(state)}, "summary": '


def state_of(found: Located) -> str:
    """Hash what a summary depends on: tables, manifest, and the code of the analysis."""
    manifest = in_json(found.manifest) if found.manifest else ""
    doubts = [in_json(doubt) for doubt in found.doubts]
    parts = [_analysis(), str(found.paths.root.absolute()), manifest, *doubts]
    stamp = (found.paths.tables / STAMP).stat()
    parts += files_of(found.paths.tables).marks()
    parts.append(f"{STAMP} {stamp.st_size} {stamp.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _analysis() -> str:
    """Give the version and the state of every module: stored summaries of other code are stale."""
    folder = Path(pyrometer.__file__).parent
    states = []
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".py", ".toml", ".so")):
                state = os.stat(os.path.join(where, name))
                states.append(f"{where}/{name} {state.st_size} {state.st_mtime_ns}")
    return f"{pyrometer.__version__} {hashlib.sha256(repr(sorted(states)).encode()).hexdigest()}"
