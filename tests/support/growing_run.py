"""A run directory that grows under the hands of a test: recordings, tasks, a manifest."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest
from pyrometer.store.paths import RunPaths

RECORDING = Path(__file__).parents[1] / "fixtures" / "jfr" / "profile-burn-20632.jfr"
CHUNK = RECORDING.read_bytes()
# What tests/fixtures/jfr/README.md describes, as table `samples` has it.
START_NS = 4_845_838_395_440
LENGTH_NS = 2_062_127_000


def chunk(number: int) -> bytes:
    """The recorded chunk, with another start in its header: a recording repeats it."""
    header = bytearray(CHUNK)
    (wall,) = struct.unpack_from(">q", CHUNK, 32)
    struct.pack_into(">q", header, 32, wall + number * LENGTH_NS)
    return bytes(header)


def open_chunk() -> bytes:
    """The beginning of a chunk as async-profiler leaves it while it writes: 1 GiB, no pool."""
    header = bytearray(CHUNK)
    struct.pack_into(">qq", header, 8, 1 << 30, 0)
    return bytes(header[:20_000])


@dataclass
class GrowingRun:
    """A run of some executors; each JVM has a recording and records of tasks."""

    root: Path
    run_id: str = "run-1"

    @property
    def paths(self) -> RunPaths:
        """Its files."""
        return RunPaths(self.root)

    def recording(self, pid: int) -> Path:
        """The recording of an executor."""
        return self.paths.raw / f"profile-executor-{pid}.jfr"

    def grow(self, pid: int, data: bytes) -> None:
        """Append to a recording."""
        with self.recording(pid).open("ab") as out:
            out.write(data)

    def records(self, pid: int, *records: dict[str, object]) -> None:
        """Append to the plugin's file."""
        with (self.paths.raw / f"plugin-executor-{pid}-{pid}.ndjson").open("a") as out:
            out.writelines(json.dumps(r, separators=(",", ":")) + "\n" for r in records)

    def executor(self, pid: int, app: str | None = "app-1") -> None:
        """Begin the records of an executor."""
        self.records(
            pid,
            {
                "k": "process", "role": "executor", "executor_id": str(pid), "pid": pid,
                "host": "box", "app_id": app, "app_name": app and f"name of {app}",
                "mono_ns": START_NS - 10, "wall_ns": 2, "jvm_start_wall_ms": 0, "gc_names": [],
            },
            {"k": "profiler", "started": True, "options": "start,alloc=512k,lock=10ms"},
        )  # fmt: skip

    def task(
        self, pid: int, tid: int, task: int, stage: int, start: int, end: int | None = None
    ) -> None:
        """A task's start or, with an end, both."""
        shared: dict[str, object] = {
            "tid": tid, "start_ns": start, "stage": stage, "stage_attempt": 0, "task": task,
            "partition": 0, "attempt": 0, "sql": 6, "iteration": 0,
        }  # fmt: skip
        self.records(pid, {"k": "task_start", **shared})
        if end is not None:
            self.records(pid, {"k": "task", **shared, "end_ns": end, "ok": True, "cpu_ns": 1})

    def clock(self, pid: int, mono_ns: int) -> None:
        """A reading of the clocks: what was written before is older."""
        self.records(pid, {"k": "clock", "mono_ns": mono_ns, "wall_ns": mono_ns})


def growing_run(root: Path) -> GrowingRun:
    """Begin a run directory that nobody keeps."""
    made = GrowingRun(root)
    made.paths.raw.mkdir(parents=True)
    manifest = Manifest(
        run_id=made.run_id, created_wall_ns=1, pyrometer_version="0", workload=Workload(name="w"),
        profile="full", host=Host(hostname="box"), state="finished",
    )  # fmt: skip
    write_manifest(root, manifest)
    return made
