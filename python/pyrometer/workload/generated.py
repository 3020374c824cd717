"""Workloads whose data are one generated dataset, and whose right answer is known from it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.workload.contract import (
    Needs,
    Prepared,
    Progress,
    Workload,
    WorkloadSpec,
    no_progress,
)
from pyrometer.workload.jars import workloads_jar

if TYPE_CHECKING:
    from pyrometer.workload.cache import DataCache

NEEDS = Needs(python=("pyarrow", "numpy"))
NEEDS_JVM = replace(NEEDS, jars=(workloads_jar(),))
"""The same, and the programs that run in the JVM."""
ROOM = 1_000_000
"""Bytes for what does not grow with the data."""


@dataclass(frozen=True)
class Dataset:
    """What can be made, or found in the cache.

    Parameters
    ----------
    name : str
        Readable part of its folder's name.
    recipe : Mapping
        All that determines its bytes.
    build : callable
        ``build(folder, progress)`` writes the files and returns the facts.
    """

    name: str
    recipe: Mapping[str, Any]
    build: Callable[[Path, Progress], Mapping[str, Any]]


class GeneratedWorkload(Workload):
    """A workload of one dataset.

    Attributes
    ----------
    tables : Mapping[str, str]
        File or folder of each table, relative to the dataset.
    unit_bytes : int
        At most this many bytes are written for each unit of the scale.
    """

    needs = NEEDS
    tables: ClassVar[Mapping[str, str]]
    unit_bytes: ClassVar[int] = 20

    @abc.abstractmethod
    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Say how the data are made."""

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset | None:
        """Say how the right answer is found, if not while the data are written: facts alone."""
        return None

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Estimate the room from what a unit takes."""
        return spec.size * self.unit_bytes + ROOM

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Make the data and the answer, or find them: facts of both, paths of the data."""

        def ensure(what: Dataset, room: int) -> Prepared:
            return cache.ensure(
                what.name, what.recipe, what.build, bytes_needed=room, progress=progress
            )

        prepared = ensure(self.dataset(spec), self.bytes_needed(spec))
        prepared = prepared.with_paths(**self.tables)
        answer = self.answer(spec, prepared)
        if answer is None:
            return prepared
        found = ensure(answer, ROOM)
        return replace(
            prepared,
            facts={**prepared.facts, **found.facts},
            recipe=f"{prepared.recipe}+{found.recipe}",
        )
