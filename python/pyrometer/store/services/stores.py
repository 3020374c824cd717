"""Stores that agents of hosts ship to, and what of them is a run's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.store.manifest import Manifest
from pyrometer.store.paths import OF_THE_HOST, RunPaths
from pyrometer.store.services.applications import applications_of
from pyrometer.store.services.chunk_files import folder_of, is_same
from pyrometer.store.services.take import Life, Wanted, lives, take_life


def services_of(
    paths: RunPaths, manifest: Manifest, refused: list[OSError]
) -> Iterator[tuple[Path, Life]]:
    """Find what agents that run as services shipped of a run's applications, with its store.

    Looked into are the stores that the user named, and those that the run's executors ship to.
    """
    apps = applications_of(paths) | {one.app_id for one in manifest.shipped}
    wanted = wanted_of(manifest, apps)
    for store in service_stores(paths, manifest) if apps else ():
        for life in lives(store, wanted, refused):
            yield store, life


def wanted_of(manifest: Manifest, apps: frozenset[str]) -> Wanted:
    """Say which applications of a run are looked for, and when it was."""
    begun_ns = manifest.started_wall_ns or manifest.created_wall_ns
    return Wanted(apps, begun_ns, manifest.ended_wall_ns)


def service_stores(paths: RunPaths, manifest: Manifest) -> list[Path]:
    """Give the folders in which services' streams of a run may lie, each once."""
    places = [*manifest.agents, *(one.to for one in manifest.shipped)]
    stores = [store for store in map(folder_of, places) if store is not None]
    return [one for one in dict.fromkeys(stores) if not is_same(one, paths.chunks)]


def take_services(
    paths: RunPaths, manifest: Manifest, as_of_ns: int, refused: list[OSError]
) -> list[Doubt]:
    """Copy into the run what services shipped of its applications; the stores stay as they are."""
    found: set[Path] = set()
    wanted = wanted_of(manifest, frozenset())
    for store, life in services_of(paths, manifest, refused):
        found.add(store)
        try:
            take_life(life, store, paths, wanted, as_of_ns)
        except OSError as error:
            refused.append(error)
    missing = [one for one in manifest.agents if folder_of(one) not in found]
    return [schema.doubt("agents_silent", f"{one}: {_why_silent(one)}.") for one in missing]


def _why_silent(place: str) -> str:
    store = folder_of(place)
    if store is None:
        return "it is no folder, and cannot be read from here"
    if not store.joinpath(*OF_THE_HOST).is_dir():
        return "no agent that runs as a service ships there"
    return "no agent there found an executor of the run's applications"
