"""The folder of a run's tables: built aside and put in its place once they are whole.

If that fails or is killed, the former tables stay as they were. Only files that we
wrote are ever replaced or deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyrometer.core import schema
from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.replacing import replacing
from pyrometer.store.private import keep_private, make_private
from pyrometer.store.scratch import Scratch
from pyrometer.store.sql.text import check_utf8

_SCHEMAS = "pyrometer/tables/"
SCHEMA = f"{_SCHEMAS}1"
STAMP = "tables.json"
"""Written last: the tables next to it are whole. Names their files."""
STARTED = ".started"
"""Names files of tables that are ours while there is no stamp yet, or none for a moment."""
_TABLE = re.compile(r"([a-z0-9_]+)(-(agents|beside[0-9]+|probe|python))?\.parquet")
_BUILDING = ".building-"
_KEPT = re.compile(r"\.(summary|findings)-[a-z0-9-]+\.json(\.[0-9]+)?")


@contextmanager
def replaced_tables(folder: Path, known: bool = False) -> Iterator[Path]:
    """Give an empty folder for new tables; when the block ends they replace those in `folder`.

    Parameters
    ----------
    folder : Path
        Where the tables belong. It is created, private, if it is missing, as is the one above.
    known : bool
        Whether a folder that carries no mark of ours may hold other files: it is a run's. Files
        that bear a table's name it may not.

    Raises
    ------
    UsageError
        If it is a link, or holds files of others that bear a table's name, or any at all where
        nothing says that we wrote there. If it cannot be written, or its path is not UTF-8.
    """
    with _writable(folder):
        _check(folder, known)
        for made in (folder.parent, folder):
            make_private(made)
        # One who is killed meanwhile leaves a folder of which is known what is ours.
        _mark(folder, _ours(folder) or ())
        building = Scratch(_BUILDING, folder)
    try:
        yield building.path
        with _writable(folder):
            keep_private(building.path)
            _put(building.path, folder)
    finally:
        building.close()
        _tidy(folder)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror}", "make it writable, or copy the run directory"
        ) from error


def _check(folder: Path, known: bool) -> None:
    check_utf8(folder)
    if folder.is_symlink():
        raise UsageError(
            f"{folder} is a symbolic link: what it leads to would be deleted",
            "remove the link, or give another folder",
        )
    ours = _ours(folder)
    found = sorted(os.listdir(folder)) if folder.exists() else []
    if known or ours is not None:
        found = [name for name in found if table_of(name) and name not in (ours or ())]
    found = [name for name in found if not name.lstrip(".").startswith(STARTED.lstrip("."))]
    if found and all(table_of(name) or _KEPT.fullmatch(name) for name in found) and ours is None:
        raise UsageError(
            f"{folder} holds tables without their {STAMP} ({found[-1]})",
            "if Pyrometer wrote them, delete the folder; else move them away",
        )
    if found:
        raise UsageError(
            f"{folder} holds files that Pyrometer did not write ({found[0]})",
            "move them away, or give another folder",
        )


def _put(built: Path, folder: Path) -> None:
    """Put new tables in the place of old ones; between both there is no stamp."""
    old, new = _ours(folder) or set(), {one.name for one in built.iterdir() if table_of(one.name)}
    _mark(folder, old | new)
    (folder / STAMP).unlink(missing_ok=True)
    _remove(folder, old | new, stay=new)
    for name in sorted({*new, STAMP} & set(os.listdir(built)), key=lambda one: (one == STAMP, one)):
        (built / name).replace(folder / name)


def _tidy(folder: Path) -> None:
    """Take the mark away where there is a stamp; else all that is ours, as it is not whole."""
    with suppress(OSError):
        whole = (folder / STAMP).is_file()
        if not whole:
            _remove(folder, _ours(folder) or set())
        (folder / STARTED).unlink(missing_ok=True)
        if not whole:
            folder.rmdir()


def _mark(folder: Path, files: Iterable[str]) -> None:
    with replacing(folder / STARTED) as mark:
        mark.write(json.dumps({"schema": SCHEMA, "files": sorted(files)}).encode())


def _remove(folder: Path, tables: set[str], stay: Set[str] = frozenset()) -> None:
    """Remove tables but for those that stay, halves of any, and what was computed from them."""
    gone = (tables - stay) | {f".{name}.tmp" for name in tables}
    for path in list(folder.iterdir()):
        if path.name in gone or _KEPT.fullmatch(path.name):
            path.unlink()


def _ours(folder: Path) -> set[str] | None:
    """Name the files of tables that we wrote there; ``None`` where nothing says that we wrote."""
    said = [mark for name in (STAMP, STARTED) if (mark := _said(folder / name)) is not None]
    if not said:
        return None
    # Older versions did not list them, and a full disk cuts the list.
    listed = [mark.get("files") for mark in said]
    named = [names if isinstance(names, list) else os.listdir(folder) for names in listed]
    return {name for names in named for name in names if table_of(str(name))}


def _said(mark: Path) -> dict[str, Any] | None:
    """Give what a mark says: nothing where it is damaged, or of a version that wrote a number."""
    try:
        said = parse_json(mark.read_bytes())
    except OSError:
        return None
    except ValueError:
        return {} if mark.name == STAMP else None
    if isinstance(said, int) and mark.name == STARTED:
        return {}
    ours = isinstance(said, dict) and str(said.get("schema")).startswith(_SCHEMAS)
    return said if ours else None


def table_of(file: str) -> str | None:
    """Name the table whose rows a file has: ``<table>.parquet``, or one more of that table.

    Examples
    --------
    >>> table_of("tasks.parquet"), table_of("samples-python.parquet"), table_of("tasks-old.parquet")
    ('tasks', 'samples', None)
    """
    found = _TABLE.fullmatch(file)
    return found[1] if found and found[1] in schema.tables() else None


def note_written(folder: Path, tables: Iterable[str]) -> None:
    """Note that tables will be written next to those that were made of raw files."""
    more = [f"{table}.parquet" for table in tables]
    _restamp(folder, lambda stamp: {"files": sorted({*stamp["files"], *more})})


def note_rewritten(folder: Path, more_bytes: int) -> None:
    """Note that raw files, which say the same, take more bytes, or fewer, than when they were read.

    Parameters
    ----------
    folder : Path
        The tables that were made of them, if there are any.
    more_bytes : int
        By how much they grew: what stands for a secret may be longer.
    """
    _restamp(folder, lambda stamp: {"raw_bytes": stamp["raw_bytes"] + more_bytes})


def _restamp(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with suppress(OSError, ValueError, TypeError, KeyError):
        stamp = parse_json((folder / STAMP).read_bytes())
        changed = stamp | change(stamp)
        if changed != stamp:
            with replacing(folder / STAMP) as out:
                out.write(json.dumps(changed).encode())


_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""Names of windows that are names of files, too."""


def summary_file(folder: Path, window: str | None) -> Path:
    """Name the file of a summary that is kept next to the tables it was computed from.

    Examples
    --------
    >>> summary_file(Path("tables"), "iteration/2").name, summary_file(Path("tables"), None).name
    ('.summary-iteration-2.json', '.summary-all.json')
    >>> len(summary_file(Path("tables"), "query/" + "a query's text; " * 50).name)
    78
    """
    name = (window or "all").replace("/", "-", 1)
    if not _PLAIN.fullmatch(name):
        name = hashlib.sha256(name.encode()).hexdigest()
    return folder / f".summary-{name}.json"


def findings_file(folder: Path, window: str | None) -> Path:
    """Name the file of findings that are kept there, too.

    Examples
    --------
    >>> findings_file(Path("tables"), None).name
    '.findings-all.json'
    """
    return folder / summary_file(folder, window).name.replace("summary", "findings")
