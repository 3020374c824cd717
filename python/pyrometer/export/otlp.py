"""OpenTelemetry profiles: message ``ProfilesData`` of signal version ``v1development``.

The messages are those of the package ``opentelemetry-proto`` (fields as in version 1.11.0 of
https://github.com/open-telemetry/opentelemetry-proto). The signal is in development there: a later
version may read this otherwise.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from typing import IO, BinaryIO

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.profiles.v1development.profiles_pb2 import (
    Profile,
    ProfilesDictionary,
    ValueType,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from pyrometer import __version__
from pyrometer.export.pprof import UNITS
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
        self._samples()
        profile = self._profile().SerializeToString()
        scope = _field(1, InstrumentationScope(name="pyrometer", version=__version__))
        resource = _field(1, self._resource())
        profile_head = _head(2, len(profile) + self.samples.tell())
        scope_size = len(scope) + len(profile_head) + len(profile) + self.samples.tell()
        scope_head = _head(2, scope_size)
        out.write(_head(1, len(resource) + len(scope_head) + scope_size) + resource)
        out.write(scope_head + scope + profile_head + profile)
        _copy(self.samples, out)
        dictionary = self._dictionary().SerializeToString()
        out.write(_head(2, len(dictionary) + self.stack_table.tell()) + dictionary)
        _copy(self.stack_table, out)

    def _samples(self) -> None:
        """Write samples, and each stack once: rows of one stack and groups follow one another."""
        samples, stacks = Profile(), ProfilesDictionary()
        stacks.stack_table.add()
        last: tuple[object, ...] = ()
        count = 0
        for row in self.stacks.sums():
            stack = (row.frames, row.groups, row.leaf)
            if stack != last:
                last, count = stack, count + 1
                stacks.stack_table.add(location_indices=self._locations(row))
                _move(stacks, self.stack_table)
            attributes = [
                self._attribute(key, str(value))
                for key, value in zip(self.stacks.labels, row.labels, strict=True)
                if value is not None
            ]
            samples.samples.add(
                stack_index=count, attribute_indices=attributes, values=[row.weight]
            )
            _move(samples, self.samples)

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

    def _profile(self) -> Profile:
        """Return the profile without its samples."""
        event = self.stacks.event or ""
        kind = ValueType(
            type_strindex=self.strings.of(event),
            unit_strindex=self.strings.of(UNITS.get(self.stacks.unit, self.stacks.unit)),
        )
        started, ended = self.stacks.times_wall_ns
        name = f"{self.stacks.run.paths.root.resolve()} {event} {self.stacks.iteration}"
        return Profile(
            sample_type=kind,
            time_unix_nano=started,
            duration_nano=ended - started,
            period_type=kind if self.stacks.period else None,
            period=self.stacks.period,
            profile_id=hashlib.sha256(name.encode()).digest()[:16],
        )

    def _resource(self) -> Resource:
        manifest = self.stacks.run.manifest
        service = (manifest.workload.name if manifest else None) or "spark"
        found = {"service.name": service, "pyrometer.run": self.stacks.run.paths.root.name}
        resource = Resource()
        for key, value in found.items():
            resource.attributes.add(key=key).value.string_value = value
        return resource

    def _dictionary(self) -> ProfilesDictionary:
        """Return every table but that of stacks; entry 0 of each is the empty one."""
        tables = ProfilesDictionary()
        for table in (tables.location_table, tables.function_table, tables.link_table):
            table.add()
        mappings = Names("")
        functions: dict[tuple[str, int], int] = {}
        for frame in self.frames:
            mapping = mappings.of(frame.library or "")
            function = functions.setdefault((frame.name, mapping), len(functions) + 1)
            location = tables.location_table.add(mapping_index=mapping)
            location.lines.add(function_index=function, line=frame.line or 0)
        for name, _ in functions:
            text = self.strings.of(name)
            tables.function_table.add(name_strindex=text, system_name_strindex=text)
        for library in mappings:
            tables.mapping_table.add(filename_strindex=self.strings.of(library))
        tables.attribute_table.add()
        for key, value in self.attributes:
            named = tables.attribute_table.add(key_strindex=self.strings.of(f"pyrometer.{key}"))
            named.value.string_value = value
        tables.string_table.extend(self.strings)
        return tables


def _move(message: Profile | ProfilesDictionary, target: IO[bytes]) -> None:
    """Write what a message holds; parts of one message that follow one another are joined."""
    target.write(message.SerializeToString())
    message.Clear()


def _field(number: int, message: InstrumentationScope | Resource) -> bytes:
    content: bytes = message.SerializeToString()
    return _head(number, len(content)) + content


def _head(field: int, length: int) -> bytes:
    """Encode what precedes a message that is a field of another, where its bytes are in files."""
    head = bytearray((field << 3 | 2,))
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head)


def _copy(source: IO[bytes], out: BinaryIO) -> None:
    source.seek(0)
    shutil.copyfileobj(source, out)
