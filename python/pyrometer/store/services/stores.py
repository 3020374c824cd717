"""Stores that agents of hosts ship to, and what of them is a run's."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError
from pyrometer.store.manifest import Manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.remote.schemes import read_as
from pyrometer.store.services.applications import applications_of
from pyrometer.store.services.chunk_files import folder_of, is_same
from pyrometer.store.services.chunk_store import ChunkStore, Refusals, why
from pyrometer.store.services.folder_store import FolderStore
from pyrometer.store.services.object_store import ObjectStore
from pyrometer.store.services.take import Life, Wanted, lives, take_life

AWAY_S = 60.0
"""A store that could not be read is asked no more for so long: every try takes its patience."""

_AWAY: dict[str, tuple[float, PyrometerError]] = {}


def open_store(place: str) -> ChunkStore:
    """Open the store at a folder or an address; nothing is asked of it yet.

    Raises
    ------
    PyrometerError
        If it is no address of a store, what reads it is not installed, or it could not be read a
        moment ago.
    """
    folder = folder_of(place)
    if folder is not None:
        return FolderStore(folder)
    since, error = _AWAY.get(place, (0.0, None))
    if error is not None and time.monotonic() < since + AWAY_S:
        raise error
    return ObjectStore(place)


def give_up(place: str, error: PyrometerError) -> PyrometerError:
    """Remember why a store cannot be read; gives the error again."""
    if _AWAY.get(place, (0.0, None))[1] is not error:
        _AWAY[place] = (time.monotonic(), error)
    return error


def check_store(place: str) -> None:
    """Make sure that a store elsewhere can be read; folders are looked for when they are read.

    Raises
    ------
    PyrometerError
        If it cannot.
    """
    _AWAY.pop(place, None)
    if folder_of(place) is None:
        open_store(place).has_services()


def services_of(paths: RunPaths, manifest: Manifest, refused: Refusals) -> Iterator[Life]:
    """Find what agents that run as services shipped of a run's applications.

    Looked into are the stores that the user named, and those that the run's executors ship to.
    """
    wanted = wanted_of(paths, manifest)
    for place in service_stores(paths, manifest) if wanted.apps else ():
        try:
            yield from lives(open_store(place), wanted, refused)
        except PyrometerError as error:
            refused.append(give_up(place, error))


def wanted_of(paths: RunPaths, manifest: Manifest) -> Wanted:
    """Say which applications are a run's, and when it was."""
    apps = applications_of(paths) | {one.app_id for one in manifest.shipped}
    begun_ns = manifest.started_wall_ns or manifest.created_wall_ns
    return Wanted(apps, begun_ns, manifest.ended_wall_ns)


def service_stores(paths: RunPaths, manifest: Manifest) -> list[str]:
    """Give the stores in which services' streams of a run may lie, each once."""
    found: dict[object, str] = {}
    for place in (*manifest.agents, *(one.to for one in manifest.shipped)):
        found.setdefault(_key(place), place)
    return [place for place in found.values() if not is_own(place, paths)]


def is_own(place: str, paths: RunPaths) -> bool:
    """Whether a store is the run's own folder of chunks."""
    folder = folder_of(place)
    return folder is not None and is_same(folder, paths.chunks)


def take_services(
    paths: RunPaths, manifest: Manifest, as_of_ns: int, refused: Refusals
) -> list[Doubt]:
    """Copy into the run what services shipped of its applications; the stores stay as they are."""
    told: set[object] = set()
    wanted = wanted_of(paths, manifest)
    for place in service_stores(paths, manifest) if wanted.apps else ():
        try:
            for life in lives(open_store(place), wanted, refused):
                told.add(_key(place))
                try:
                    take_life(life, paths, wanted, as_of_ns)
                except OSError as error:
                    refused.append(error)
        except PyrometerError as error:
            told.add(_key(place))
            refused.append(give_up(place, error))
    silent = [one for one in manifest.agents if _key(one) not in told]
    return [schema.doubt("agents_silent", f"{one}: {_why_silent(one)}.") for one in silent]


def _key(place: str) -> object:
    """Give what tells stores apart, however they are written."""
    return folder_of(place) or read_as(place).rstrip("/")


def _why_silent(place: str) -> str:
    try:
        if not open_store(place).has_services():
            return "no agent that runs as a service ships there"
    except PyrometerError as error:
        return why(give_up(place, error))
    except OSError as error:
        return why(error)
    return "no agent there found an executor of the run's applications"
