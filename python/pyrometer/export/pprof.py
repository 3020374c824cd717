"""Writes pprof profiles (``profile.proto``): used wherever a profile leaves in that format.

Fields and their numbers: https://github.com/google/pprof/blob/main/proto/profile.proto.
Messages are written as they come, in any order as protobuf allows: what is kept in memory is the
string table and the frames, never the samples.

pprof: gzipped ``profile.proto``, as `pyrometer.export.pprof` writes it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from pyrometer.export.stacks import Stacks

# Fields of message Profile.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME_NS, _DURATION_NS, _PERIOD_TYPE, _PERIOD, _COMMENT = 9, 10, 11, 12, 13
# All frames have names already: no tool need look for symbols.
_MAPPING_ID = 1
_MAX_U64 = (1 << 64) - 1
_SHORT = [bytes((value,)) for value in range(0x80)]


class Sink(Protocol):
    """Takes bytes: a file, a `gzip.GzipFile`, an `io.BytesIO`."""

    def write(self, data: bytes, /) -> object:
        """Take bytes."""


class ValueType(NamedTuple):
    """What a value is and its unit, as ``("cpu", "nanoseconds")``."""

    type: str
    unit: str


def varint(value: int) -> bytes:
    """Encode an integer as protobuf does; a negative one takes ten bytes.

    Examples
    --------
    >>> varint(1).hex(), varint(300).hex(), len(varint(-1))
    ('01', 'ac02', 10)
    """
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= _MAX_U64
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def delimited(field: int, content: bytes) -> bytes:
    """Encode a field of bytes, text or a message; its number is below 16.

    Examples
    --------
    >>> delimited(6, b"ab").hex()
    '32026162'
    """
    return _SHORT[field << 3 | 2] + varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    """Encode a field that holds a number; 0 is what a missing one means."""
    return _SHORT[field << 3] + varint(value) if value else b""


class PprofWriter:
    """One profile, written to a sink while it is made.

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
        Free text that tools show beside the profile.

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
        self._ids: list[bytes] = [b""]
        self._string("")
        for value_type in sample_types:
            self._put(_SAMPLE_TYPE, self._value_type(value_type))
        if period_type is not None:
            self._put(_PERIOD_TYPE, self._value_type(period_type))
        for comment in comments:
            self._write(_number(_COMMENT, self._string(comment)))
        self._write(
            _number(_TIME_NS, time_ns)
            + _number(_DURATION_NS, duration_ns)
            + _number(_PERIOD, period)
        )
        # has_functions, has_filenames, has_line_numbers
        flags = b"".join(_number(field, 1) for field in (7, 8, 9))
        self._put(_MAPPING, _number(1, _MAPPING_ID) + flags)

    def location(self, function: str, file: str = "", line: int | None = None) -> int:
        """Give the id of a frame; the same frame has the same.

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
        entry = _number(1, self._function(function, file)) + _number(2, max(0, line or 0))
        made = self._locations[key] = len(self._ids)
        self._ids.append(varint(made))
        self._put(_LOCATION, _number(1, made) + _number(2, _MAPPING_ID) + delimited(4, entry))
        return made

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
        ids = b"".join(map(self._ids.__getitem__, locations))
        parts = [delimited(1, ids), delimited(2, b"".join(map(varint, values)))]
        for key, value in (labels or {}).items():
            pair = _number(1, self._string(key)) + _number(2, self._string(value))
            parts.append(delimited(3, pair))
        self._put(_SAMPLE, b"".join(parts))

    def _function(self, name: str, file: str) -> int:
        known = self._functions.get((name, file))
        if known is not None:
            return known
        made = self._functions[name, file] = len(self._functions) + 1
        text = self._string(name)
        fields = (_number(1, made), _number(2, text), _number(3, text))
        self._put(_FUNCTION, b"".join(fields) + _number(4, self._string(file)))
        return made

    def _value_type(self, value_type: ValueType) -> bytes:
        return _number(1, self._string(value_type.type)) + _number(2, self._string(value_type.unit))

    def _string(self, text: str) -> int:
        known = self._strings.get(text)
        if known is None:
            known = self._strings[text] = len(self._strings)
            self._put(_STRING, text.encode("utf-8", "replace"))
        return known

    def _put(self, field: int, content: bytes) -> None:
        self._write(delimited(field, content))

    def _write(self, data: bytes) -> None:
        self.bytes_count += len(data)
        self._out.write(data)


UNITS = {"ns": "nanoseconds"}
"""Units of samples in the words of pprof and OpenTelemetry, where these differ from ours."""


def write_pprof(stacks: Stacks, out: BinaryIO) -> None:
    """Write the stacks, with the number of samples before their weight, and labels.

    Stage, operator, task, thread and iteration are labels. All are strings: pprof drops a numeric
    label that is 0, and there is a stage 0. A native frame's library stands as its file.
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
