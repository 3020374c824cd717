"""OpenTelemetry profiles: message ``ProfilesData`` of signal version ``v1development``.

Fields and their numbers: opentelemetry-proto 1.11.0, ``profiles/v1development/profiles.proto``
(https://github.com/open-telemetry/opentelemetry-proto). The signal is in development there: a
later version may read this otherwise.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from typing import IO, BinaryIO

from pyrometer import __version__
from pyrometer.export.pprof import UNITS, delimited, varint
from pyrometer.export.stacks import Frame, Names, Stacks, Sum

VERSION = "v1development (opentelemetry-proto 1.11.0)"


def write_otlp(stacks: Stacks, out: BinaryIO) -> None:
    """Write the stacks as one profile; stage, operator, task, thread and iteration are attributes.

    Samples and stacks go through temporary files: a message is preceded by its length.
    """
    with tempfile.TemporaryFile() as samples, tempfile.TemporaryFile() as stack_table:
        _Writer(stacks, samples, stack_table).write(out)


class _Writer:
    def __init__(self, stacks: Stacks, samples: IO[bytes], stack_table: IO[bytes]) -> None:
        self.stacks = stacks
        self.samples = samples
        self.stack_table = stack_table
        self.strings = Names("")
        self.attributes: dict[tuple[str, str], int] = {}
        self.frames = list(stacks.frames.values())  # location n is frame n - 1, then what is added
        self.place = {number: at for at, number in enumerate(stacks.frames, 1)}
        self.added: dict[str, int] = {}

    def write(self, out: BinaryIO) -> None:
        self.stack_table.write(delimited(7, b""))
        self._samples()
        profile = self._profile()
        inner = len(profile) + self.samples.tell()
        scope = delimited(1, self._scope())
        scopes = len(scope) + len(_head(2, inner)) + inner
        resource = delimited(1, self._resource())
        whole = len(resource) + len(_head(2, scopes)) + scopes
        out.write(_head(1, whole) + resource + _head(2, scopes) + scope + _head(2, inner) + profile)
        _copy(self.samples, out)
        dictionary = b"".join(self._dictionary())
        out.write(_head(2, len(dictionary) + self.stack_table.tell()) + dictionary)
        _copy(self.stack_table, out)

    def _samples(self) -> None:
        """Write samples, and each stack once: rows of one stack and groups follow one another."""
        last: tuple[object, ...] = ()
        count = 0
        for row in self.stacks.sums():
            stack = (row.frames, row.groups, row.leaf)
            if stack != last:
                last, count = stack, count + 1
                self.stack_table.write(delimited(7, _packed(1, self._locations(row))))
            attributes = [
                self._attribute(key, str(value))
                for key, value in zip(self.stacks.labels, row.labels, strict=True)
                if value is not None
            ]
            sample = _number(1, count) + _packed(2, attributes) + _packed(4, [row.weight])
            self.samples.write(delimited(2, sample))

    def _locations(self, row: Sum) -> list[int]:
        """Places of a stack's frames in the table of locations, leaf first."""
        places = [] if row.leaf is None else [self._added(row.leaf)]
        missing = self.place.get
        places += [missing(i) or self._added("[frame missing]") for i in reversed(row.frames)]
        return places + [self._added(group) for group in reversed(row.groups)]

    def _added(self, name: str) -> int:
        if name not in self.added:
            self.frames.append(Frame(name, None, "unknown", None))
            self.added[name] = len(self.frames)
        return self.added[name]

    def _attribute(self, key: str, value: str) -> int:
        return self.attributes.setdefault((key, value), len(self.attributes) + 1)

    def _profile(self) -> bytes:
        """Encode message Profile but for its samples."""
        event = self.stacks.event or ""
        kind = _number(1, self.strings.of(event)) + _number(
            2, self.strings.of(UNITS.get(self.stacks.unit, self.stacks.unit))
        )
        started, ended = self.stacks.times_wall_ns
        made = delimited(1, kind) + _number(4, ended - started)
        if started:
            made += varint(3 << 3 | 1) + started.to_bytes(8, "little")
        if self.stacks.period:
            made += delimited(5, kind) + _number(6, self.stacks.period)
        name = f"{self.stacks.run.paths.root.resolve()} {event} {self.stacks.iteration}"
        return made + delimited(7, hashlib.sha256(name.encode()).digest()[:16])

    def _scope(self) -> bytes:
        return delimited(1, b"pyrometer") + delimited(2, __version__.encode())

    def _resource(self) -> bytes:
        manifest = self.stacks.run.manifest
        service = (manifest.workload.name if manifest else None) or "spark"
        found = {"service.name": service, "pyrometer.run": self.stacks.run.paths.root.name}
        return b"".join(
            delimited(1, delimited(1, key.encode()) + delimited(2, delimited(1, value.encode())))
            for key, value in found.items()
        )

    def _dictionary(self) -> Iterable[bytes]:
        """Encode every table but that of stacks; entry 0 of each is the empty one."""
        mappings = Names("")
        functions: dict[tuple[str, int], int] = {}
        yield delimited(2, b"")
        for frame in self.frames:
            mapping = mappings.of(frame.library or "")
            function = functions.setdefault((frame.name, mapping), len(functions) + 1)
            line = _number(1, function) + _number(2, frame.line or 0)
            yield delimited(2, _number(1, mapping) + delimited(3, line))
        yield delimited(3, b"")
        for name, _ in functions:
            text = self.strings.of(name)
            yield delimited(3, _number(1, text) + _number(2, text))
        for library in mappings:
            yield delimited(1, _number(4, self.strings.of(library)))
        yield delimited(4, b"") + delimited(6, b"")
        for key, value in self.attributes:
            content = delimited(2, delimited(1, value.encode()))
            yield delimited(6, _number(1, self.strings.of(f"pyrometer.{key}")) + content)
        for string in self.strings:
            yield delimited(5, string.encode())


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def _packed(field: int, numbers: Iterable[int]) -> bytes:
    content = b"".join(map(varint, numbers))
    return delimited(field, content) if content else b""


def _head(field: int, length: int) -> bytes:
    return varint(field << 3 | 2) + varint(length)


def _copy(source: IO[bytes], out: BinaryIO) -> None:
    source.seek(0)
    shutil.copyfileobj(source, out)
