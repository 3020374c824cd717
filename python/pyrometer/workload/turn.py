"""A treatment in the running JVM: alone, or one of several that take turns between iterations.

Each of several has a session of its own: its settings and its views; the context, with what it
has compiled and cached, is everybody's. Only the standard library is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pyrometer.errors import WorkloadError
from pyrometer.workload.contract import (
    IterationResult,
    Prepared,
    Workload,
    WorkloadSpec,
    prepared_from_json,
    prepared_to_json,
)


@dataclass
class Turn:
    """What an iteration runs.

    Parameters
    ----------
    spec : WorkloadSpec
        With which levels and size.
    prepared : Prepared
        On which data.
    cache_state : str or None
        State of the page cache that the data's files are brought into before each iteration.
    conf : mapping
        Settings of its session.
    levels : mapping
        What tells it from the others, for the record.
    positions : collection of int
        Which iterations are its own, where several take turns.
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
        """Set up, in a session of its own where others take turns.

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
                    "design.kind: randomized-blocks gives each treatment a JVM of its own",
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
    """Make a turn of what `Turn.to_json` gave."""
    return Turn(
        spec=WorkloadSpec(**value["spec"]),
        prepared=prepared_from_json(value["prepared"]),
        cache_state=value.get("cache_state"),
        conf=value.get("conf", {}),
        levels=value.get("levels", {}),
        positions=frozenset(value.get("positions", ())),
    )
