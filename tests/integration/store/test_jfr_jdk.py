"""Recordings as we read them beside the same ones as the JDK's own reader does.

``PrintRecording.java`` prints every event by ``jdk.jfr.consumer``. Compared are

- the number of events of each type, those that we pass over among them;
- each row of table ``samples``: event, weight, time, thread (id and name), class, state, and its
  whole stack from root to leaf (class or library, method, line, kind of frame, whether it was cut);
- each row of table ``jit``.

What weights mean is ours (``crates/pyro-ingest/src/jfr``): they are worked out a second time here,
from what the JDK says of the event and of the settings. Times and lengths that are not in
nanoseconds in the file may differ by the JDK's rounding of them. Of class names we keep what is
the same from run to run. Without a plugin's file no batch is split between tasks.

The JDK gets each chunk as a file of its own: of several it takes a key for what it meant in the
first of them that has it, and async-profiler's key of a thread that was renamed means another name
in each.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.java.installed import NO_JAVA, javas

from pyrometer import _artifacts, _core

TESTS = Path(__file__).parents[2]
FIXTURES = TESTS / "fixtures" / "jfr"
PROGRAM = TESTS / "support" / "java" / "PrintRecording.java"
_FOUND = javas()
PROGRAMS = [["Memory.java"], pytest.param(["Burn.java", "300"], marks=pytest.mark.slow)]
JAVAS = [*_FOUND[-1:], *(pytest.param(one, marks=pytest.mark.slow) for one in _FOUND[:-1])]
"""The newest, and in the slow tests each other that is installed."""
ASYNC = "start,event=cpu,wall=20ms,alloc=128k,live,lock=1ms,nativemem=256k,clock=monotonic,jfr"
# JDK 25 and later.
BY_CPU_TIME = "jdk.CPUTimeSample"
# The profiler's words, or the JDK's, and those of table frames.
KINDS = {
    "Interpreted": "interpreted",
    "C1 compiled": "c1",
    "JIT compiled": "c2",
    "Inlined": "inlined",
    "Native": "native",
    "C++": "cpp",
    "Kernel": "kernel",
}
STATES = {"STATE_SLEEPING": "sleeping", "STATE_RUNNABLE": "running"}
ALLOCATED = {
    "jdk.ObjectAllocationInNewTLAB": "tlabSize",
    "jdk.ObjectAllocationOutsideTLAB": "allocationSize",
    "jdk.ObjectAllocationSample": "weight",
}
LOCKS = {
    "jdk.JavaMonitorEnter": ("jdk.JavaMonitorEnter", "lock"),
    "jdk.ThreadPark": ("jdk.JavaMonitorEnter", "lock"),
    "profiler.NativeLock": ("profiler.NativeLock", "nativelock"),
}
COMPILATION = ("compiler", "compileLevel", "codeSize", "succeeded", "duration_ns")
UNITS = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
ROWS = """
    SELECT event, weight, t_ns, tid, thread_name, top_class, state, k.truncated,
        list_transform(k.frame_ids, id -> id) AS ids
    FROM '{out}/samples.parquet' s LEFT JOIN '{out}/stacks.parquet' k ON k.stack_id = s.java_stack
"""
FRAMES = "SELECT frame_id, class_name, library, method, line, kind FROM '{out}/frames.parquet'"
Row = tuple[Any, ...]


def chunks(recording: Path, into: Path) -> list[Path]:
    """A file for each chunk of a recording."""
    rest, files = recording.read_bytes(), []
    while rest:
        size = int.from_bytes(rest[8:16], "big")
        files.append(into / f"chunk-{len(files)}.jfr")
        files[-1].write_bytes(rest[:size])
        rest = rest[size:]
    return files


def by_jdk(java: Path, files: list[Path]) -> list[dict[str, Any]]:
    """All events of recordings, by the JDK's own reader."""
    command = [str(java), str(PROGRAM), *map(str, files)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Settings:
    """What a recording says of itself."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        of = [event for event in events if event["type"] == "jdk.ActiveSetting"]
        self.values = {(one["about"], one["name"]): one.get("value") or "" for one in of}
        named = [one.get("name") for one in events if one["type"] == "jdk.ActiveRecording"]
        self.profiler = any(str(name).startswith("async-profiler") for name in named)
        self.monotonic = self.values.get(("jdk.ActiveRecording", "clock")) == "monotonic"

    def number(self, about: str, name: str, default: int = 0) -> int:
        """A setting; the default where there is none or it says 0."""
        text = self.values.get((about, name), "0")
        if " " in text:
            count, unit = text.split()
            return int(count) * UNITS[unit]
        return int(text) or default if text.isdigit() else default


def class_name(name: str | None) -> str | None:
    """What is the same from run to run of a class's name."""
    if name is None:
        return None
    return re.sub(r"\$\$Lambda\$\d+$", "$$Lambda", re.sub(r"[/.+]0x[0-9a-f]+$", "", name))


def stack(event: dict[str, Any], profiler: bool) -> Row | None:
    """Frames from root to leaf, as the tables have them."""
    if event.get("frames") is None:
        return None
    frames = []
    for place, method, line, word in reversed(event["frames"]):
        kind = KINDS[word]
        if kind == "native" and not profiler:
            # A method of a Java class, which has no bytecode; async-profiler calls it interpreted.
            kind = "interpreted"
        outside = kind in ("native", "cpp", "kernel")
        java = None if outside else class_name(place) or None
        frames.append(
            (java, place or None if outside else None, method, max(line, 0) or None, kind)
        )
    return (event["truncated"], tuple(frames))


def unfreed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls of the native allocator whose memory was not given back."""
    held: dict[int, dict[str, Any]] = {}
    known = ("profiler.Malloc", "profiler.Free")
    for event in sorted((e for e in events if e["type"] in known), key=lambda e: e["ticks"]):
        held.pop(event["address"], None)
        if event["type"] == "profiler.Malloc":
            held[event["address"]] = event
    return list(held.values())


def weighed(event: dict[str, Any], settings: Settings) -> tuple[str, int] | None:
    """What an event is about, and its weight."""
    kind = event["type"]
    number = settings.number
    if kind == "jdk.ExecutionSample":
        name = "interval" if settings.profiler else "period"
        return "cpu", number(kind, name, 10_000_000)
    if kind == "jdk.CPUTimeSample":
        return "cpu", event["samplingPeriod"]
    if kind == "jdk.NativeMethodSample":
        return "wall", number(kind, "period")
    if kind == "profiler.WallClockSample":
        return "wall", number("jdk.ExecutionSample", "wall", 50_000_000) * event["samples"]
    if kind in ALLOCATED:
        return "alloc", event[ALLOCATED[kind]]
    if kind in LOCKS:
        return "lock", max(event["duration_ns"], number(*LOCKS[kind]))
    if kind == "profiler.LiveObject":
        least = number("jdk.ObjectAllocationInNewTLAB", "alloc")
        return "live", max(event["allocationSize"], least)
    return None


def expected(events: list[dict[str, Any]]) -> list[Row]:
    """Rows of table samples by what the JDK read."""
    settings = Settings(events)
    # In a chunk samples of both samplers of the JDK are of the same time.
    by_cpu_time = {event["file"] for event in events if event["type"] == BY_CPU_TIME}
    kept = [
        one
        for one in events
        if one["type"] != "jdk.ExecutionSample" or one["file"] not in by_cpu_time
    ]
    found = [(event, weighed(event, settings)) for event in kept]
    least = settings.number("profiler.Malloc", "nativemem")
    found += [(one, ("nativemem", max(one["size"], least))) for one in unfreed(events)]
    return [
        (
            about[0],
            event.get("tid"),
            event.get("thread"),
            class_name(event.get("class")),
            STATES.get(event.get("state", "")) if about[0] == "wall" else None,
            stack(event, settings.profiler),
            event["ticks" if settings.monotonic else "wall_ns"],
            about[1],
        )
        for event, about in found
        if about is not None
    ]


def ours(out: Path) -> list[Row]:
    """The same as our tables have it."""
    frames = {row[0]: row[1:] for row in duckdb.sql(FRAMES.format(out=out)).fetchall()}
    rows = duckdb.sql(ROWS.format(out=out)).fetchall()
    return [
        (
            event, tid, thread, top_class, state,
            None if ids is None else (truncated, tuple(frames[id] for id in ids)),
            t_ns, weight,
        )
        for event, weight, t_ns, tid, thread, top_class, state, truncated, ids in rows
    ]  # fmt: skip


def compare(java: Path, recording: Path, out: Path) -> Counter[str]:
    """Hold our tables of a recording to what the JDK reads; returns the rows of each event."""
    out.mkdir()
    report = json.loads(_core.ingest_jfr([str(recording)], [], str(out), "box"))
    codes = {doubt["code"] for doubt in report["doubts"]}
    assert codes <= {
        "samples_without_tasks", "samples_wall_clock", "jfr_samples_of_same_time",
        "jfr_events_lost",
    }, report["doubts"]  # fmt: skip
    events = by_jdk(java, chunks(recording, out))
    assert report["stats"]["events"] == len(events)
    counts = Counter(event["type"] for event in events)
    ignored = report["stats"]["events_ignored"]
    assert ignored.items() <= counts.items()
    _compare_rows(ours(out), expected(events))
    _compare_compilations(out, events)
    return Counter(row[0] for row in expected(events))


def _compare_rows(found: list[Row], wanted: list[Row]) -> None:
    def order(row: Row) -> str:
        return repr((*row[:4], row[5], f"{row[6]:020}"))

    found, wanted = sorted(found, key=order), sorted(wanted, key=order)
    assert Counter(row[:4] for row in found) == Counter(row[:4] for row in wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one[:4] == other[:4]
        assert one[5] == other[5], one[:4]
        # A thread that the profiler saw running is asleep where its stack says that it waits.
        assert one[4] == other[4] or (one[4], other[4]) == ("sleeping", "running")
        assert one[6] == pytest.approx(other[6], abs=1000, rel=0)
        assert one[7] == pytest.approx(other[7], abs=2, rel=1e-9)


def _compare_compilations(out: Path, events: list[dict[str, Any]]) -> None:
    columns = "method, compiler, level, code_bytes, succeeded, duration_ns"
    found = duckdb.sql(f"SELECT {columns} FROM '{out}/jit.parquet'").fetchall()
    wanted = [
        (f"{class_name(one['class'])}.{one['method']}", *(one[name] for name in COMPILATION))
        for one in events
        if one["type"] == "jdk.Compilation"
    ]
    assert Counter(row[0] for row in found) == Counter(row[0] for row in wanted)
    for one, other in zip(sorted(found), sorted(wanted), strict=True):
        assert one[:-1] == other[:-1]
        assert one[-1] == pytest.approx(other[-1], abs=2, rel=1e-9)


def test_the_newest_java_is_the_one_of_the_highest_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, version in (("jdk-21", "21.0.5"), ("jdk-9", "9.0.4"), ("jdk-8", "1.8.0_442")):
        program = tmp_path / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.touch(0o755)
        (tmp_path / name / "release").write_text(f'JAVA_VERSION="{version}"\n')
    assert [java.parts[-3] for java in javas(tmp_path)] == ["jdk-8", "jdk-9", "jdk-21"]
    monkeypatch.setenv("PATH", str(tmp_path / "jdk-9" / "bin"))
    assert javas(tmp_path / "none") == [tmp_path.resolve() / "jdk-9" / "bin" / "java"]
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert javas(tmp_path / "none") == []


@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
def test_the_stored_recording(java: Path, tmp_path: Path) -> None:
    found = compare(java, FIXTURES / "profile-burn-20632.jfr", tmp_path / "out")
    assert found == {"cpu": 259, "wall": 204, "alloc": 137, "lock": 1}


@pytest.mark.slow
@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0])
def test_a_recording_of_async_profiler(java: Path, program: list[str], tmp_path: Path) -> None:
    library = "linux-x64/libasyncProfiler.so"
    with zipfile.ZipFile(_artifacts.plugin_jar()) as jar:
        jar.extract(library, tmp_path)
    recording = tmp_path / "profile-it-1.jfr"
    # Chunks of a second: keys mean something else in each.
    agent = f"-agentpath:{tmp_path / library}={ASYNC},chunktime=1,loglevel=none,file={recording}"
    run(java, agent, *program)
    found = compare(java, recording, tmp_path / "out")
    only_memory = {"live", "nativemem", "lock"} if program[0] == "Memory.java" else set()
    assert set(found) >= {"cpu", "wall", "alloc"} | only_memory


@pytest.mark.slow
@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0])
def test_a_recording_of_the_jdk(java: Path, program: list[str], tmp_path: Path) -> None:
    recording = tmp_path / "mine.jfr"
    options = "settings=profile,jdk.Compilation#threshold=0ms,jdk.JavaMonitorEnter#threshold=0ms"
    if BY_CPU_TIME in (java.parents[1] / "lib/jfr/profile.jfc").read_text():
        options += f",{BY_CPU_TIME}#enabled=true,{BY_CPU_TIME}#throttle=20ms"
    run(java, f"-XX:StartFlightRecording={options},filename={recording}", *program)
    found = compare(java, recording, tmp_path / "out")
    assert set(found) >= {"cpu", "alloc"}


def run(java: Path, option: str, program: str, *arguments: str) -> None:
    """Run one of the programs of the recordings."""
    command = [str(java), option, "-Xmx256m", "-Xmn16m", str(FIXTURES / program), *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
