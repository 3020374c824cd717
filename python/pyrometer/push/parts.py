"""One message to be: a profile of one event in one period, or a part of it that a server takes."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer.pprof import PprofWriter, ValueType
from pyrometer.push.settings import Settings, Window

__all__ = ["KINDS", "Kind", "Part", "Profile", "other_kind"]

NS = "nanoseconds"
NO_STACK = "[stack unknown]"


@dataclass(frozen=True)
class Kind:
    """How an event is called: Pyroscope's names, so that its pages know them."""

    name: str
    types: tuple[ValueType, ...]
    period_type: ValueType
    counted: bool = False


# What they mean: docs/how-to/continuous-profiling.md.
KINDS: Mapping[str, Kind] = {
    "cpu": Kind("process_cpu", (ValueType("cpu", NS),), ValueType("cpu", NS)),
    "wall": Kind("wall", (ValueType("wall", NS),), ValueType("wall", NS)),
    "alloc": Kind("memory", (ValueType("alloc_space", "bytes"),), ValueType("space", "bytes")),
    "lock": Kind(
        "mutex",
        (ValueType("contentions", "count"), ValueType("delay", NS)),
        ValueType("contentions", "count"),
        counted=True,
    ),
}


def other_kind(event: str, unit: str) -> Kind:
    """Give the names of an event that Pyroscope has none for.

    Examples
    --------
    >>> other_kind("nativemem", "bytes").types
    (ValueType(type='nativemem', unit='bytes'),)
    """
    value_type = ValueType(event, NS if unit == "ns" else unit)
    return Kind(event, (value_type,), value_type)


@dataclass(frozen=True)
class Profile:
    """One message to be: a profile of one event in one period.

    Parameters
    ----------
    key : str
        Names it within its chunk.
    event, name : str
        Ours, and the server's ``__name__``.
    data : bytes
        Gzipped pprof.
    raw_bytes, samples, weight : int
        Its uncompressed size, distinct samples, and the sum of their weights.
    end_wall_ns : int
        End of its period.
    """

    key: str
    event: str
    name: str
    data: bytes
    raw_bytes: int
    samples: int
    weight: int
    end_wall_ns: int


class Part:
    """A profile while it is written."""

    def __init__(
        self, frames: Mapping[int, tuple[str, str, int]], event: str, at: int, number: int,
        kind: Kind, window: Window, settings: Settings, period: int,
    ) -> None:  # fmt: skip
        count = window.slices(settings.every_ns)
        width = math.ceil((window.end_wall_ns - window.start_wall_ns) / count)
        start = window.start_wall_ns + at * width
        self._frames = frames
        self._event, self._kind, self._end = event, kind, start + width
        self._key = f"{event}/{at}/{number}"
        self._buffer = io.BytesIO()
        # A server that tells profiles of one series by their millisecond takes all parts.
        self._writer = PprofWriter(
            self._buffer, self._kind.types, self._kind.period_type, period,
            time_ns=start + number * 1_000_000, duration_ns=width,
        )  # fmt: skip
        self._locations: dict[int, int] = {}
        self._samples = self._weight = 0

    def add(self, stack: Sequence[int], weight: int, count: int, labels: Mapping[str, str]) -> None:
        """Add a sample by its frames, root first; one without a stack keeps its weight."""
        known = self._locations
        for frame in stack:
            if frame not in known:
                known[frame] = self._writer.location(*self._frames[frame])
        ids = [known[frame] for frame in reversed(stack)]
        values = (count, weight) if self._kind.counted else (weight,)
        self._writer.sample(ids or [self._writer.location(NO_STACK)], values, labels)
        self._samples += 1
        self._weight += weight

    def full(self, settings: Settings) -> bool:
        """Whether a part has become as large as a server takes."""
        return (
            self._writer.bytes_count >= settings.part_bytes
            or self._samples >= settings.part_samples
        )

    def close(self) -> Profile:
        """Give what was written."""
        data = gzip.compress(self._buffer.getvalue(), compresslevel=1, mtime=0)
        return Profile(
            self._key, self._event, self._kind.name, data,
            self._writer.bytes_count, self._samples, self._weight, self._end,
        )  # fmt: skip
