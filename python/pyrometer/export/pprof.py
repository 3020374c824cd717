"""pprof profiles (gzipped ``profile.proto``): used wherever a profile leaves in that format.

Messages are written as they come, in any order as protobuf allows: what is kept in memory is the
string table and the frames, never the samples.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from pyrometer.export.protobuf.pprof_pb2 import Profile
from pyrometer.export.stacks import Stacks

# All frames have names already: no tool need look for symbols.
_MAPPING_ID = 1


class Sink(Protocol):
    """Takes bytes: a file, a `gzip.GzipFile`, an `io.BytesIO`."""

    def write(self, data: bytes, /) -> object:
        """Take bytes."""


class ValueType(NamedTuple):
    """What a value is and its unit, as ``("cpu", "nanoseconds")``."""

    type: str
    unit: str


class PprofWriter:
    """One profile, written to a sink piece by piece.

    Parameters
    ----------
    out : Sink
        Where the bytes go, uncompressed; tools expect them gzipped (`gzip.GzipFile`).
    sample_types : sequence of ValueType
        What the values of each sample are.
    period_type : ValueType, optional
        What was counted between two samples.
    period : int
        How much of it; 0 if unknown.
    time_ns : int
        Start, Unix time; 0 if unknown.
    duration_ns : int
        Length; 0 if unknown.
    comments : iterable of str
        Free text that tools show with the profile.

    Attributes
    ----------
    bytes_count : int
        Bytes written so far.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> profile = PprofWriter(out, [ValueType("cpu", "nanoseconds")])
    >>> run, main = profile.location("Main.run", line=7), profile.location("Main.main")
    >>> profile.sample([run, main], [10_000_000], {"stage": "3"})
    >>> out.getbuffer().nbytes == profile.bytes_count
    True
    """

    def __init__(
        self,
        out: Sink,
        sample_types: Sequence[ValueType],
        period_type: ValueType | None = None,
        period: int = 0,
        time_ns: int = 0,
        duration_ns: int = 0,
        comments: Iterable[str] = (),
    ) -> None:
        self.bytes_count = 0
        self._out = out
        self._values_count = len(sample_types)
        self._strings: dict[str, int] = {}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[str, str, int], int] = {}
        # What is written next: messages of one type that follow one another are joined by readers.
        self._next = Profile()
        self._string("")
        for kind in sample_types:
            self._next.sample_type.add(type=self._string(kind.type), unit=self._string(kind.unit))
        if period_type is not None:
            self._next.period_type.type = self._string(period_type.type)
            self._next.period_type.unit = self._string(period_type.unit)
        self._next.comment.extend(self._string(comment) for comment in comments)
        self._next.time_nanos, self._next.duration_nanos = time_ns, duration_ns
        self._next.period = period
        self._next.mapping.add(
            id=_MAPPING_ID, has_functions=True, has_filenames=True, has_line_numbers=True
        )
        self._write()

    def location(self, function: str, file: str = "", line: int | None = None) -> int:
        """Return the id of a frame; the same frame has the same.

        Parameters
        ----------
        function : str
            Name as it is shown.
        file : str
            Source file or library; empty if unknown.
        line : int, optional
            Source line.
        """
        key = (function, file, line or 0)
        known = self._locations.get(key)
        if known is not None:
            return known
        number = self._locations[key] = len(self._locations) + 1
        place = self._next.location.add(id=number, mapping_id=_MAPPING_ID)
        place.line.add(function_id=self._function(function, file), line=max(0, line or 0))
        self._write()
        return number

    def sample(
        self,
        locations: Iterable[int],
        values: Sequence[int],
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Write a sample.

        Parameters
        ----------
        locations : iterable of int
            Ids of its frames, the leaf first.
        values : sequence of int
            One for each sample type.
        labels : mapping of str to str, optional
            What else is known of it.

        Raises
        ------
        ValueError
            If the values are not as many as the sample types.
        """
        if len(values) != self._values_count:
            raise ValueError(f"{len(values)} values for {self._values_count} sample types")
        sample = self._next.sample.add(location_id=locations, value=values)
        for key, value in (labels or {}).items():
            sample.label.add(key=self._string(key), str=self._string(value))
        self._write()

    def _function(self, name: str, file: str) -> int:
        known = self._functions.get((name, file))
        if known is not None:
            return known
        number = self._functions[name, file] = len(self._functions) + 1
        text = self._string(name)
        self._next.function.add(id=number, name=text, system_name=text, filename=self._string(file))
        return number

    def _string(self, text: str) -> int:
        known = self._strings.get(text)
        if known is None:
            known = self._strings[text] = len(self._strings)
            self._next.string_table.append(text.encode("utf-8", "replace").decode())
        return known

    def _write(self) -> None:
        data = self._next.SerializeToString()
        self._next.Clear()
        self.bytes_count += len(data)
        self._out.write(data)


UNITS = {"ns": "nanoseconds"}
"""Units of samples in the words of pprof and OpenTelemetry, where these differ from ours."""


def write_pprof(stacks: Stacks, out: BinaryIO) -> None:
    """Write the stacks, with the number of samples before their weight, and labels.

    Stage, operator, task, thread and iteration are labels. All are strings: pprof drops a numeric
    label that is 0, and there is a stage 0. A native frame's library is its file.
    """
    kind = ValueType(stacks.event or "", UNITS.get(stacks.unit, stacks.unit))
    started, ended = stacks.times_wall_ns
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0) as packed:
        profile = PprofWriter(
            packed,
            [ValueType("samples", "count"), kind],
            kind if stacks.period else None,
            stacks.period,
            time_ns=started,
            duration_ns=ended - started,
        )
        known = {
            number: profile.location(frame.name, frame.library or "", frame.line)
            for number, frame in stacks.frames.items()
        }
        missing = profile.location("[frame missing]")
        for row in stacks.sums():
            leaf_first = [known.get(number, missing) for number in reversed(row.frames)]
            if row.leaf is not None:
                leaf_first.insert(0, profile.location(row.leaf))
            leaf_first.extend(profile.location(group) for group in reversed(row.groups))
            labels = {
                key: str(value)
                for key, value in zip(stacks.labels, row.labels, strict=True)
                if value is not None
            }
            profile.sample(leaf_first, (row.samples, row.weight), labels)
