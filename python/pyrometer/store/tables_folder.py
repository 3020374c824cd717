"""The folder of a run's tables: built aside and put in its place once they are whole.

If that fails or is killed, the former tables stay as they were. Only files that we
wrote are ever replaced or deleted.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyrometer.core import schema
from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.replacing import new_file, replacing
from pyrometer.store.private import keep_private, make_private
from pyrometer.store.scratch import Scratch
from pyrometer.store.sql.text import check_utf8

STAMP = "tables.json"
"""Written last: the tables next to it are whole."""
STARTED = ".started"
"""In a folder that is ours and has no stamp yet, or none for a moment."""
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
        Whether a folder that carries no mark of ours is known to be ours nevertheless.

    Raises
    ------
    UsageError
        If it is a link, or holds files of others and nothing says that we wrote there: their files
        could bear a table's name. If it cannot be written, or its path is not UTF-8.
    """
    with _writable(folder):
        _check(folder, known)
        for made in (folder.parent, folder):
            make_private(made)
        # One who is killed meanwhile leaves a folder that is known as ours.
        with new_file(folder / STARTED) as mark:
            mark.write(str(time.time_ns()).encode())
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
    found = sorted(folder.iterdir()) if folder.exists() else []
    if found and not known and not _stamped(folder):
        raise UsageError(
            f"{folder} holds files that Pyrometer did not write ({found[0].name})",
            "move them, or give another folder",
        )


def _put(built: Path, folder: Path) -> None:
    """Put new tables in the place of old ones; between both there is no stamp."""
    (folder / STAMP).unlink(missing_ok=True)
    new = {path.name for path in built.iterdir() if _written_by_us(path)}
    for old in folder.iterdir():
        if old.name not in new and old.name != STARTED and _written_by_us(old):
            old.unlink()
    for name in sorted(new, key=lambda name: (name == STAMP, name)):
        (built / name).replace(folder / name)


def _tidy(folder: Path) -> None:
    """Take the mark away where there is a stamp; else all that is ours, as it is not whole."""
    with suppress(OSError):
        whole = (folder / STAMP).is_file()
        for path in list(folder.iterdir()):
            if path.name == STARTED or (not whole and _written_by_us(path)):
                path.unlink()
        if not whole:
            folder.rmdir()


def _stamped(folder: Path) -> bool:
    try:
        return (folder / STARTED).read_text().isdigit()
    except (OSError, ValueError):
        pass
    try:
        stamp = parse_json((folder / STAMP).read_bytes())
        return str(stamp["schema"]).startswith("pyrometer/tables/")
    except (OSError, ValueError, TypeError, KeyError):
        return False


def note_rewritten(folder: Path, more_bytes: int) -> None:
    """Note that raw files, which say the same, take more bytes, or fewer, than when they were read.

    Parameters
    ----------
    folder : Path
        The tables that were made of them, if there are any.
    more_bytes : int
        By how much they grew: what stands for a secret may be longer.
    """
    with suppress(OSError, ValueError, TypeError, KeyError):
        stamp = parse_json((folder / STAMP).read_bytes())
        stamp["raw_bytes"] += more_bytes
        if more_bytes:
            with replacing(folder / STAMP) as out:
                out.write(json.dumps(stamp).encode())


def summary_file(folder: Path, window: str | None) -> Path:
    """Name the file of a summary that is kept next to the tables it was computed from.

    Examples
    --------
    >>> summary_file(Path("tables"), "iteration/2").name, summary_file(Path("tables"), None).name
    ('.summary-iteration-2.json', '.summary-all.json')
    """
    return folder / f".summary-{(window or 'all').replace('/', '-')}.json"


def findings_file(folder: Path, window: str | None) -> Path:
    """Name the file of findings that are kept there, too.

    Examples
    --------
    >>> findings_file(Path("tables"), None).name
    '.findings-all.json'
    """
    return folder / summary_file(folder, window).name.replace("summary", "findings")


def _written_by_us(path: Path) -> bool:
    if path.name in (STAMP, STARTED, f".{STAMP}") or _KEPT.fullmatch(path.name):
        return True
    named = re.fullmatch(r"\.?([a-z0-9_]+)(-[^/]*)?\.parquet(\.tmp)?", path.name)
    return named is not None and named[1] in schema.tables()
