"""Records of the workload runner: a line per start and end of an iteration, and messages.

Checks of an iteration's result: failed parts, and differences from the first iteration.

A treatment in the running JVM: alone, or one of several that take turns between iterations.

Of several, each has its own session, with settings and views; they share the context, with what it
has compiled and cached. Only the standard library is used.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyrometer.core.errors import WorkloadError
from pyrometer.workloads.contract import Workload, prepared_from_json, prepared_to_json
from pyrometer.workloads.results import same_rows
from pyrometer.workloads.values import IterationResult, Mismatch, PartResult, Prepared, WorkloadSpec

ITERATIONS_FILE = "iterations.ndjson"


class IterationLog:
    """Appends to ``iterations.ndjson``, each line flushed to the kernel.

    Parameters
    ----------
    path : Path
        File to append to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False

    def write(self, kind: str, iteration: int, warmup: bool, **more: Any) -> None:
        """Write one line with the present time on both clocks.

        A full disk must not end the workload: it is reported once, and the run continues.
        """
        record = {
            "k": kind,
            "iteration": iteration,
            "warmup": warmup,
            "mono_ns": time.monotonic_ns(),
            "wall_ns": time.time_ns(),
            **more,
        }
        try:
            with self._path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")
        except OSError as error:
            if not self._failed:
                say(f"{self._path} cannot be written: {error}; iterations will be missing")
            self._failed = True


def say(message: str) -> None:
    """Write a message of the runner to standard error."""
    sys.stderr.write(f"pyrometer workload: {message}\n")
    sys.stderr.flush()


def failures(result: IterationResult) -> str | None:
    """Name the parts that failed, with the error of the first; ``None`` if none failed."""
    failed = [part for part in result.parts if part.error is not None]
    if not failed:
        return None
    names = ", ".join(part.name for part in failed)
    return f"{len(failed)} of {len(result.parts)} failed ({names}): {failed[0].error}"


def unlike(first: IterationResult, result: IterationResult) -> Mismatch | None:
    """Describe where a result differs from the first iteration's; ``None`` if it does not.

    Where both have their rows, floating point may differ as in `same_rows`.
    """
    nearly = False
    for was, now in zip(first.parts, result.parts, strict=True):
        if not _same(was, now):
            if not _near(was, now):
                return Mismatch(f"{was.name}, unlike the first iteration", _shown(was), _shown(now))
            nearly = True
    # The checksum of the whole follows from those of its parts.
    if not (nearly or _same(first, result) or _near(first, result)):
        return Mismatch("result, unlike the first iteration", _shown(first), _shown(result))
    return None


def _same(first: IterationResult | PartResult, result: IterationResult | PartResult) -> bool:
    return (first.rows, first.checksum) == (result.rows, result.checksum)


def _near(first: IterationResult | PartResult, result: IterationResult | PartResult) -> bool:
    known = bool(first.answer) and bool(result.answer) and first.rows == result.rows
    return known and same_rows(first.answer, result.answer)


def _shown(result: IterationResult | PartResult) -> str:
    return f"{result.rows} rows with checksum {result.checksum}"


@dataclass
class Turn:
    """What an iteration runs.

    Parameters
    ----------
    spec : WorkloadSpec
        Its levels and size.
    prepared : Prepared
        Its data.
    cache_state : str or None
        State of the page cache that the data's files are brought into before each iteration.
    conf : mapping
        Settings of its session.
    levels : mapping
        Levels in which it differs from the others, for the record.
    positions : collection of int
        Its iterations, where several treatments take turns.
    session, files, first
        Its session, the files that it reads and its first result, once it has begun.
    """

    spec: WorkloadSpec
    prepared: Prepared
    cache_state: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    positions: Collection[int] = ()
    session: Any = None
    files: Sequence[str] = ()
    first: IterationResult | None = None

    def begin(self, workload: Workload, spark: Any) -> None:
        """Set up, in a separate session where several treatments take turns.

        Raises
        ------
        WorkloadError
            If a setting cannot change while a session runs.
        """
        self.session = spark.newSession() if self.positions else spark
        for key, value in self.conf.items():
            if not self.session.conf.isModifiable(key):
                raise WorkloadError(
                    f"{key} cannot change between iterations of one JVM",
                    "use design.kind: randomized-blocks: each treatment has a JVM of its own",
                )
            self.session.conf.set(key, value)
        workload.setup(self.session, self.prepared, self.spec)
        self.files = workload.read_files(self.prepared, self.spec)

    def to_json(self) -> dict[str, Any]:
        """Turn it into JSON values."""
        return {
            "spec": asdict(self.spec),
            "prepared": prepared_to_json(self.prepared),
            "cache_state": self.cache_state,
            "conf": dict(self.conf),
            "levels": dict(self.levels),
            "positions": sorted(self.positions),
        }


def from_json(value: Mapping[str, Any]) -> Turn:
    """Build a turn from the result of `Turn.to_json`."""
    return Turn(
        spec=WorkloadSpec(**value["spec"]),
        prepared=prepared_from_json(value["prepared"]),
        cache_state=value.get("cache_state"),
        conf=value.get("conf", {}),
        levels=value.get("levels", {}),
        positions=frozenset(value.get("positions", ())),
    )
