"""The run that a word of the command line names: a path, an address, the latest of a folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyrometer.terminal.console import err, program


def run_path(word: str) -> Path:
    """Give the path of a run; of an address, the place here that it is read from.

    Raises
    ------
    UsageError
        If there is no run at an address, or it cannot be read.
    """
    from pyrometer.store.remote.opened import place_of

    return place_of(word)


def local_path(word: str) -> Path:
    """Give the path of a folder here.

    Raises
    ------
    UsageError
        If it is elsewhere.
    """
    from pyrometer.core.errors import UsageError
    from pyrometer.store.remote.address import is_url, shown

    if is_url(word):
        raise UsageError(
            f"{shown(word)}: this verb takes a folder on this machine",
            f"{program()} show URL reads one run elsewhere; copy the folder for all else",
        )
    return Path(word)


def run_named(path: Path) -> Path:
    """Give the run at a path; of a folder of runs, the latest, and say so on stderr."""
    from pyrometer.store.run_folder import latest_run

    latest = latest_run(path)
    if latest is None:
        return path
    run, count = latest
    err().print(
        f"{path} holds {count} run{'s' * (count != 1)}; this is the latest: {run}"
        f" (all of them: {program()} ls {path})",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    return run


def with_run(text: str, run: str) -> str:
    """Put a run into a command that says ``RUN``.

    Examples
    --------
    >>> with_run("pyrometer explain RUN --all", "my run")
    "pyrometer explain 'my run' --all"
    """
    return re.sub(r"\bRUN\b", lambda _: shlex.quote(run), text)


@contextmanager
def naming(run: str) -> Iterator[None]:
    """Have what an error advises name the run that was given."""
    from pyrometer.core.errors import PyrometerError

    try:
        yield
    except PyrometerError as error:
        error.remedy = error.remedy and with_run(error.remedy, run)
        raise


def beside(run: Path, name: str) -> Path:
    """Give where a page of a run is written if nobody says: beside it, or here if it is elsewhere.

    That it is here is said on stderr.
    """
    from pyrometer.store.remote import opened

    place = opened.beside(run, name)
    if opened.mirror_of(run) is not None:
        err().print(
            f"{opened.address(run)} is only read: {place} is written here (-o names another place)",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    return place
