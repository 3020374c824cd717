"""A run, a store, and hosts whose agents ship there: what the agent itself makes of raw folders."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.hosts.probes import Counter, ProbeOf

from pyrometer.store.manifest import Host, Manifest, Shipped, Workload, write_manifest
from pyrometer.store.paths import RunPaths

S, TICK = 10**9, 10**7
BEGIN = 5_000 * S
"""On the clock of the hosts; there the processes of all probes began."""
APP, OTHER = "app-20261126101112-0001", "app-20261126101112-0002"


class Place:
    """A run that has just ended, a store, and hosts that ship there."""

    def __init__(self, folder: Path, agent: Path) -> None:
        self.folder, self.agent = folder, agent
        self.paths = RunPaths(folder / "run")
        self.store = folder / "store"
        for made in (self.paths.raw, self.store):
            made.mkdir(parents=True)
        self.now_ns = time.time_ns()
        self.raws = 0
        self.begin = BEGIN

    @property
    def began_ms(self) -> int:
        """Unix time of BEGIN."""
        return (self.now_ns - self.begin + BEGIN - 2 * S) // 10**6

    def describe(self, shipped: bool = True, agents: Sequence[str] = ()) -> None:
        manifest = Manifest(
            run_id="r", created_wall_ns=self.now_ns - 2 * S, pyrometer_version="0",
            state="finished", started_wall_ns=self.now_ns - 2 * S, ended_wall_ns=self.now_ns,
            workload=Workload(), profile="light", host=Host(hostname="launch"),
            shipped=[Shipped(app_id=APP, to=self.store.as_uri())] if shipped else [],
            agents=list(agents),
        )  # fmt: skip
        write_manifest(self.paths.root, manifest)

    def unshipped(self, folder: Path) -> Place:
        """Describe the run again: it names no store, and an event log its application."""
        place = Place(folder, self.agent)
        place.now_ns = self.now_ns
        place.describe(shipped=False)
        place.paths.eventlog.mkdir()
        (place.paths.eventlog / APP).write_text(
            '{"Event":"SparkListenerApplicationStart","App ID":"' + APP + '","Timestamp":1}\n'
        )
        return place

    def raw(self, name: str, **files: str) -> Path:
        self.raws += 1
        folder = self.folder / f"raw{self.raws}"
        folder.mkdir()
        report = {"host": name, "state": "running", "passes_count": 3, "hz": 20,
                  "clock_pairs": [{"mono_ns": self.begin + 2 * S,
                                   "wall_ns": self.now_ns}]}  # fmt: skip
        tier = "T0" if "tier" not in files else files.pop("tier")
        text = json.dumps({**report, "tier": tier})
        (folder / f"probe-{name}.report.json").write_text(text)
        for file, content in files.items():
            (folder / file).write_text(content)
        return folder

    def ship(self, folder: Path, app: str, executor: str, host: str) -> None:
        ended = subprocess.Popen(["true"])
        ended.wait()
        options = {"to": self.store, "raw-dir": folder, "app": app, "executor": executor,
                   "host": host, "until-pid": ended.pid, "every": 0.1}  # fmt: skip
        words = [f"--{name}={value}" for name, value in options.items()]
        subprocess.run([str(self.agent), "ship", *words], check=True)

    def executor(
        self, name: str, executor: str, pid: int, probe: ProbeOf | None, after_s: float = 0
    ) -> None:
        """Ship what an executor and the agent beside it wrote; it began so long after BEGIN."""
        line = {"k": "process", "role": "executor", "executor_id": executor, "pid": pid,
                "host": name, "app_id": APP, "mono_ns": BEGIN, "wall_ns": self.now_ns,
                "jvm_start_wall_ms": self.began_ms + int(after_s * 1000)}  # fmt: skip
        bye = {"k": "bye", "mono_ns": BEGIN + 2 * S, "wall_ns": self.now_ns, "own_cpu_ns": 1}
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (line, bye))
        folder = self.raw(name, tier="T2", **{f"plugin-executor-{executor}-{pid}.ndjson": text})
        if probe is None:
            (folder / f"probe-{name}.report.json").unlink()
        else:
            probe.write(folder, name)
        self.ship(folder, APP, executor, name)

    def log(self, *events: Mapping[str, Any]) -> None:
        """Write the event log of an application that began with the hosts' processes."""
        begin = {"Event": "SparkListenerApplicationStart", "App Name": "a", "App ID": APP,
                 "Timestamp": self.began_ms, "User": "u"}  # fmt: skip
        self.paths.eventlog.mkdir()
        lines = [json.dumps(one, separators=(",", ":")) + "\n" for one in (begin, *events)]
        (self.paths.eventlog / APP).write_text("".join(lines))

    def driver(self, host: str) -> None:
        """Write what a driver on the host of the launch recorded, whose clock is the axis."""
        said: list[dict[str, Any]] = [
            {"k": "process", "role": "driver", "executor_id": "driver", "pid": 9, "host": host,
             "app_id": APP, "mono_ns": BEGIN, "wall_ns": self.now_ns - 2 * S},
            *({"k": "clock", "mono_ns": BEGIN + n * S, "wall_ns": self.now_ns - (2 - n) * S}
              for n in range(3)),
            {"k": "bye", "mono_ns": BEGIN + 2 * S, "wall_ns": self.now_ns, "own_cpu_ns": 1},
        ]  # fmt: skip
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in said)
        (self.paths.raw / "plugin-driver-driver-9.ndjson").write_text(text)

    def service(
        self, node: str, probe: ProbeOf, found: Sequence[Mapping[str, Any]], **files: str
    ) -> None:
        """Ship what an agent recorded that runs as a service."""
        said = {"schema": "pyrometer/executor/1", "wall_ns": self.now_ns - S, "host": node}
        records = {
            f"executor-{one['start_ticks']}-{one['pid']}.json": json.dumps({**said, "found": one})
            for one in found
        }
        folder = self.raw(node, **records, **files)
        probe.write(folder, node)
        self.ship(folder, "host", "host", node)


def found(app: str, executor: str, pid: int, inside: int | None = None, **more: Any) -> Any:
    return {"role": "executor", "app": app, "executor": executor, "pid": pid,
            "pid_inside": inside or pid, "start_ticks": BEGIN // TICK, "pod": None,
            **more}  # fmt: skip


def times(since_ms: int, until_ms: int) -> range:
    return range(BEGIN + since_ms * 10**6, BEGIN + until_ms * 10**6, 10 * 10**6)


def probe(at: range, *pids: int, children: Mapping[int, int] | None = None) -> ProbeOf:
    """A probe that reads a host of which half is idle, and processes that use a tenth of a CPU."""
    of_host: dict[tuple[str, str], Counter] = {("host", "cpu_idle_ns"): lambda t: t // 2}
    for pid, parent in (children or {}).items():
        of_host[f"process/{pid}", "parent_pid"] = lambda _, parent=parent: parent  # type: ignore[misc]
    return ProbeOf(at, of_host, processes={pid: lambda t: (t - BEGIN) // 10 for pid in pids})
