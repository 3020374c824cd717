"""Firefox Profiler's processed profile (JSON): samples in time, a track per thread, and markers.

Format: https://github.com/firefox-devtools/profiler, ``docs-developer/CHANGELOG-formats.md``. We
write version 60, the first with tables shared by all threads; profiler.firefox.com upgrades it.
Times are milliseconds from the first sample.

Markers next to the samples: tasks, GC pauses, stages, as intervals on the samples' clock.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO, NamedTuple

from pyrometer import __version__
from pyrometer.core.errors import UsageError
from pyrometer.core.process_numbers import own_number
from pyrometer.export.stacks import Names, Stacks, Timed

_NUMBER, _TEXT, _BYTES = "integer", "string", "bytes"


def _schema(name: str, label: str, **fields: str) -> dict[str, Any]:
    return {
        "name": name,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "chartLabel": label,
        "tableLabel": label,
        "tooltipLabel": label,
        "fields": [{"key": key, "label": key, "format": kind} for key, kind in fields.items()],
    }


SCHEMAS = [
    _schema(
        "Task",
        "stage {marker.data.stage}, task {marker.data.task}",
        stage=_NUMBER,
        attempt=_NUMBER,
        task=_NUMBER,
        status=_TEXT,
    ),
    _schema(
        "GC pause",
        "{marker.data.kind} ({marker.data.cause})",
        collector=_TEXT,
        kind=_TEXT,
        cause=_TEXT,
        before=_BYTES,
        after=_BYTES,
    ),
    _schema("Stage", "stage {marker.data.stage}: {marker.data.text}", stage=_NUMBER, text=_TEXT),
]
"""How the profiler shows each kind of marker."""


class Marker(NamedTuple):
    """An interval with what is known of it."""

    name: str
    start_ns: int
    end_ns: int
    data: dict[str, Any]


Thread = tuple[str | None, int | None, int | None]


def task_markers(stacks: Stacks) -> dict[Thread, list[Marker]]:
    """Return the tasks of each thread: a row per task attempt of the run (and iteration)."""
    after = stacks.after_mono_ns
    if after is None:
        return {}
    sql = f"""
        SELECT host, pid, tid, start_mono_ns + {after}, end_mono_ns + {after},
            stage_id, stage_attempt, task_attempt_id, status
        FROM spans WHERE end_mono_ns IS NOT NULL {_only(stacks)} ORDER BY start_mono_ns
    """
    found: dict[Thread, list[Marker]] = defaultdict(list)
    for host, pid, tid, start, end, stage, attempt, task, status in stacks.run.tables.query(sql):
        data = {"stage": stage, "attempt": attempt, "task": task, "status": status}
        found[host, pid, tid].append(Marker("Task", start, end, {"type": "Task", **data}))
    return found


def process_markers(stacks: Stacks) -> dict[int | None, list[Marker]]:
    """Return the GC pauses of each process, and the stages, where both clocks are known.

    Of an iteration, those that began while it went on.
    """
    tables = stacks.run.tables
    found: dict[int | None, list[Marker]] = defaultdict(list)
    after = stacks.after_mono_ns
    if after is None:
        return found
    pauses = f"""
        SELECT pid, start_mono_ns + {after}, start_mono_ns + duration_ns + {after},
            collector, kind, cause, heap_before_bytes, heap_after_bytes
        FROM gc_pauses g WHERE start_mono_ns IS NOT NULL {_began_in(stacks)}
        ORDER BY start_mono_ns
    """
    for pid, start, end, collector, kind, cause, *heap in tables.query(pauses):
        data = {"collector": collector, "kind": kind, "cause": cause or "no cause logged"}
        sizes = dict(zip(("before", "after"), heap, strict=True))
        found[pid].append(Marker("GC pause", start, end, {"type": "GC pause", **data, **sizes}))
    stages = list(_stages(stacks, after))
    for (pid,) in tables.query("SELECT DISTINCT pid FROM samples"):
        found[pid] += stages
    return found


def _stages(stacks: Stacks, after: int) -> Iterator[Marker]:
    offset = stacks.offset_ns
    if offset is None:
        return
    sql = f"""
        SELECT submit_wall_ns, complete_wall_ns, stage_id, name FROM stages
        WHERE submit_wall_ns IS NOT NULL AND complete_wall_ns IS NOT NULL {_only(stacks)}
        ORDER BY submit_wall_ns
    """
    for start, end, stage, text in stacks.run.tables.query(sql):
        data = {"type": "Stage", "stage": stage, "text": text or ""}
        yield Marker("Stage", start - offset + after, end - offset + after, data)


def _only(stacks: Stacks) -> str:
    return "" if stacks.iteration is None else f" AND iteration = {int(stacks.iteration)}"


def _began_in(stacks: Stacks) -> str:
    """Condition on pauses `g`, which have no number of an iteration."""
    if stacks.iteration is None:
        return ""
    return f"""AND EXISTS (SELECT 1 FROM iterations i WHERE i.iteration = {int(stacks.iteration)}
        AND g.start_mono_ns >= i.start_mono_ns AND g.start_mono_ns < i.end_mono_ns)"""


VERSION = 60
MAX_NODES = 4_000_000
"""Nodes of the tree of stacks beyond which no browser opens the profile."""

_CATEGORIES = (("Other", "grey"), ("Java", "green"), ("Native", "blue"), ("Kernel", "orange"))
_CATEGORY = {"native": 2, "cpp": 2, "kernel": 3} | dict.fromkeys(
    ("interpreted", "c1", "c2", "inlined"), 1
)
_NS = 1e6  # nanoseconds in a millisecond


@dataclass
class _Tree:
    """Stacks as a prefix tree: per node its frame and its caller."""

    frame: array[int] = field(default_factory=lambda: array("i"))
    prefix: array[int] = field(default_factory=lambda: array("i"))
    known: dict[tuple[int, int], int] = field(default_factory=dict)
    leaves: dict[tuple[object, ...], int] = field(default_factory=dict)

    def of(self, path: list[int]) -> int:
        """Return the node of a path of frames, root first; -1 for none."""
        at = -1
        for frame in path:
            node = self.known.get((at, frame))
            if node is None:
                node = self.known[at, frame] = len(self.frame)
                self.frame.append(frame)
                self.prefix.append(at)
            at = node
        if len(self.frame) > MAX_NODES:
            raise UsageError(
                f"the tree of stacks has more than {MAX_NODES:,} nodes: no browser opens that",
                "choose less with --iteration or another --event, or --format pprof",
            )
        return at


def write_firefox(stacks: Stacks, out: BinaryIO) -> None:
    """Write single samples and markers: tasks on their threads, GC pauses and stages on their own.

    Raises
    ------
    UsageError
        If the samples have no times, or groups are asked for: threads are the tracks here.
    """
    if stacks.by:
        raise UsageError(
            "--by does not go with Firefox Profiler: its tracks are threads, tasks are markers",
            "use --format speedscope, pprof or svg with --by",
        )
    if stacks.clock is None:
        raise UsageError(
            f"{stacks.run.paths.address}: these samples have no times",
            "use --format speedscope, pprof, folded or svg, which need none",
        )
    writer = _Writer(stacks)
    out.write(b'{"meta":' + _json(writer.meta()) + b',"libs":[],"threads":[')
    comma = b""
    for thread in writer.threads():
        out.write(comma + _json(thread))
        comma = b","
    out.write(b'],"shared":' + _json(writer.shared()) + b"}\n")


class _Writer:
    def __init__(self, stacks: Stacks) -> None:
        self.stacks = stacks
        self.start_ns = stacks.first_ns
        self.strings = Names()
        self.tree = _Tree()
        self.frames = list(stacks.frames.values())
        self.place = {number: at for at, number in enumerate(stacks.frames)}
        self.names = [self.strings.of(frame.name) for frame in self.frames]
        self.more: dict[str, int] = {}  # classes, and the name of a missing stack

    def meta(self) -> dict[str, Any]:
        after, offset = self.stacks.after_mono_ns, self.stacks.offset_ns
        known = self.stacks.clock == "wall" or (after is not None and offset is not None)
        wall = self.start_ns + (offset or 0) - (after or 0)
        return {
            "interval": (self.stacks.period or _NS) / _NS,
            "startTime": wall / _NS if known else 0,
            "processType": 0,
            "product": "Pyrometer",
            "importedFrom": f"Pyrometer {__version__}",
            "fileName": self.stacks.run.paths.root.name,
            "stackwalk": 1,
            "version": 31,
            "preprocessedProfileVersion": VERSION,
            "symbolicationNotSupported": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "categories": [
                {"name": name, "color": color, "subcategories": ["Other"]}
                for name, color in _CATEGORIES
            ],
            "markerSchema": SCHEMAS,
        }

    def threads(self) -> Iterator[dict[str, Any]]:
        """Return one thread after another; those of a process follow a track of its pauses."""
        tasks = task_markers(self.stacks)
        markers = process_markers(self.stacks)
        process = None
        for (host, pid, tid), rows in groupby(self.stacks.timed(), key=lambda row: row[:3]):
            if (host, pid) != process:
                process = (host, pid)
                yield self._track(host, pid, markers.get(pid, ()))
            yield self._thread(host, pid, tid, rows, tasks.get((host, pid, tid), ()))

    def _track(self, host: str | None, pid: int | None, markers: Any) -> dict[str, Any]:
        track = self._empty(host, pid, f"{own_number(pid)}-jvm", "GC pauses and stages")
        return track | {"isMainThread": True, "markers": self._markers(markers)}

    def _thread(
        self, host: str | None, pid: int | None, tid: int | None, rows: Iterator[Timed], tasks: Any
    ) -> dict[str, Any]:
        stack, time, weight, name = array("i"), array("d"), array("d"), None
        scale = _NS if self.stacks.unit == "ns" else 1
        for row in rows:
            name = row.thread or name
            key = (row.stack, row.leaf)
            if key not in self.tree.leaves:
                path = [self._frame(i) for i in row.frames]
                if row.leaf is not None:
                    path.append(self._added(row.leaf))
                self.tree.leaves[key] = self.tree.of(path)
            stack.append(self.tree.leaves[key])
            time.append((row.t_ns - self.start_ns) / _NS)
            weight.append(row.weight / scale)
        shown = own_number(tid) if tid is not None else "unknown"
        track = self._empty(host, pid, shown, name or "unnamed")
        kinds = {"ns": "tracing-ms", "bytes": "bytes"}
        track["samples"] = {
            "stack": stack.tolist(),
            "time": time.tolist(),
            "weight": weight.tolist(),
            "weightType": kinds.get(self.stacks.unit, "samples"),
            "length": len(stack),
        }
        return track | {"markers": self._markers(tasks)}

    def _empty(self, host: str | None, pid: int | None, tid: Any, name: str) -> dict[str, Any]:
        samples: dict[str, Any] = {
            "stack": [],
            "time": [],
            "weight": None,
            "weightType": "samples",
            "length": 0,
        }
        return {
            "processType": "default",
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": True,
            "processName": f"JVM {own_number(pid)}" + (f" on {host}" if host else ""),
            "name": name,
            "isMainThread": False,
            # The viewer takes threads of one number for those of one process.
            "pid": f"{own_number(pid)} on {host}" if pid != own_number(pid) else str(pid),
            "tid": tid,
            "samples": samples,
        }

    def _markers(self, markers: Any) -> dict[str, Any]:
        rows: list[Marker] = list(markers)
        return {
            "data": [row.data for row in rows],
            "name": [self.strings.of(row.name) for row in rows],
            "startTime": [(row.start_ns - self.start_ns) / _NS for row in rows],
            "endTime": [(row.end_ns - self.start_ns) / _NS for row in rows],
            "phase": [1] * len(rows),
            "category": [0] * len(rows),
            "length": len(rows),
        }

    def _frame(self, number: int) -> int:
        place = self.place.get(number)
        return self._added("[frame missing]") if place is None else place

    def _added(self, name: str) -> int:
        return self.more.setdefault(name, len(self.frames) + len(self.more))

    def shared(self) -> dict[str, Any]:
        """Return the tables that all threads use: a function per name, a frame per frame."""
        names = [*self.names, *map(self.strings.of, self.more)]
        functions = {name: at for at, name in enumerate(dict.fromkeys(names))}
        kinds = [*(f.kind for f in self.frames), *("unknown" for _ in self.more)]
        lines = [*(f.line for f in self.frames), *(None for _ in self.more)]
        size, count = len(names), len(functions)
        no_resources: dict[str, Any] = {n: [] for n in ("lib", "name", "host", "type")}
        no_symbols: dict[str, Any] = {
            n: [] for n in ("libIndex", "address", "name", "functionSize")
        }
        return {
            "stackTable": {
                "frame": self.tree.frame.tolist(),
                "prefix": [None if at < 0 else at for at in self.tree.prefix],
                "length": len(self.tree.frame),
            },
            "frameTable": {
                "address": [-1] * size,
                "inlineDepth": [0] * size,
                "category": [_CATEGORY.get(kind, 0) for kind in kinds],
                "subcategory": [0] * size,
                "func": [functions[name] for name in names],
                "nativeSymbol": [None] * size,
                "innerWindowID": [None] * size,
                "line": lines,
                "column": [None] * size,
                "length": size,
            },
            "funcTable": {
                "name": list(functions),
                "isJS": [False] * count,
                "relevantForJS": [False] * count,
                "resource": [-1] * count,
                "source": [None] * count,
                "lineNumber": [None] * count,
                "columnNumber": [None] * count,
                "length": count,
            },
            "resourceTable": no_resources | {"length": 0},
            "nativeSymbols": no_symbols | {"length": 0},
            "sources": {"length": 0, "uuid": [], "filename": []},
            "stringArray": list(self.strings),
        }


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
