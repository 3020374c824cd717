"""Reads protobuf messages and pprof profiles: an account of the format besides the writer's."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field

Fields = dict[int, list[int | bytes]]


def number(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint; gives it and the offset behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Fields:
    """Read a message: values by field number, in order."""
    found: Fields = {}
    at = 0
    while at < len(data):
        key, at = number(data, at)
        kind = key & 7
        assert kind in (0, 1, 2), f"wire type {kind} at byte {at}"
        if kind == 1:  # eight bytes, little-endian
            found.setdefault(key >> 3, []).append(int.from_bytes(data[at : at + 8], "little"))
            at += 8
            continue
        value, at = number(data, at)
        if kind == 2:
            assert at + value <= len(data), f"field {key >> 3} is cut at byte {at}"
            found.setdefault(key >> 3, []).append(data[at : at + value])
            at += value
        else:
            found.setdefault(key >> 3, []).append(value)
    return found


def texts(message: Fields, key: int) -> list[str]:
    """Texts of a repeated field."""
    return [raw.decode("utf-8") for raw in message.get(key, []) if isinstance(raw, bytes)]


def messages(message: Fields, key: int) -> list[Fields]:
    """Messages of a repeated field."""
    return [fields(raw) for raw in message.get(key, []) if isinstance(raw, bytes)]


def whole(message: Fields, key: int) -> int:
    """Give a number; 0 where it is not there."""
    value = message.get(key, [0])[-1]
    assert isinstance(value, int)
    return value


def packed(message: Fields, key: int) -> list[int]:
    """Numbers of a packed repeated field, signed."""
    found: list[int] = []
    for raw in message.get(key, []):
        assert isinstance(raw, bytes)
        at = 0
        while at < len(raw):
            value, at = number(raw, at)
            found.append(value - (1 << 64) if value >> 63 else value)
    return found


@dataclass
class Profile:
    """A pprof profile with its tables resolved."""

    sample_types: list[tuple[str, str]]
    period_type: tuple[str, str] | None
    period: int
    time_ns: int
    duration_ns: int
    # Leaf first: (function, file, line); values; labels.
    samples: list[tuple[list[tuple[str, str, int]], list[int], dict[str, str]]] = field(
        default_factory=list
    )

    def total(self, of: int = 0) -> int:
        """Sum of one value over all samples."""
        return sum(values[of] for _, values, _ in self.samples)


def read_profile(data: bytes) -> Profile:
    """Read a profile, gzipped or not, and hold it to what the format demands."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    root = fields(data)
    strings = texts(root, 6)
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)

    def typed(message: Fields) -> tuple[str, str]:
        return strings[whole(message, 1)], strings[whole(message, 2)]

    functions = {whole(f, 1): f for f in messages(root, 5)}
    locations = {whole(entry, 1): entry for entry in messages(root, 4)}
    mappings = {whole(m, 1) for m in messages(root, 3)}
    assert 0 not in functions
    assert 0 not in locations

    def frame(key: int) -> tuple[str, str, int]:
        location = locations[key]
        assert whole(location, 2) in mappings
        (line,) = messages(location, 4)
        function = functions[whole(line, 1)]
        return strings[whole(function, 2)], strings[whole(function, 4)], whole(line, 2)

    period_types = messages(root, 11)
    profile = Profile(
        sample_types=[typed(m) for m in messages(root, 1)],
        period_type=typed(period_types[0]) if period_types else None,
        period=whole(root, 12),
        time_ns=whole(root, 9),
        duration_ns=whole(root, 10),
    )
    for sample in messages(root, 2):
        labels = {strings[whole(m, 1)]: strings[whole(m, 2)] for m in messages(sample, 3)}
        values = packed(sample, 2)
        assert len(values) == len(profile.sample_types)
        profile.samples.append(([frame(key) for key in packed(sample, 1)], values, labels))
    return profile
