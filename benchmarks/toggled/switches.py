"""Switches: each turns one instrument of an observed application on and off while it runs.

They reach into the driver's JVM through py4j, which only a benchmark may do. Off means that Spark
runs as if the instrument had never been there: the task hook is gone, the listener removed, the
profiler stopped, the log closed, generated code compiled without comments.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyrometer import _artifacts
from pyrometer.collect.probes.logs import DECORATORS, GC_WHAT, JIT_WHAT
from pyrometer.collect.probes.os import HZ
from pyrometer.trial.trial import probe_budget

_READY_S = 5.0


@dataclass(frozen=True)
class Switch:
    """One instrument; both calls return when the new state holds."""

    on: Callable[[], None]
    off: Callable[[], None]
    processes: Callable[[], list[int]] = list
    """Processes of its own while it is on."""


def task_hooks(spark: SparkSession) -> Switch:
    """Hooks at start and end of every task: Spark's list of plugins, given and taken away."""
    jvm: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    # By its field: to look for a method of SparkEnv loads classes that PySpark does not bring.
    of_env = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv").getDeclaredField("rpcEnv")
    of_env.setAccessible(True)
    endpoints = _field(_field(of_env.get(_field(context, "_env")), "dispatcher"), "endpointRefs")
    local = next(e for e in endpoints.keySet().toArray() if "LocalEndpoint" in e.toString())
    executor = _field(local, "executor")
    place = _place(executor, "plugins")
    installed = place.get(executor)
    none = jvm.scala.Option.empty()
    return Switch(lambda: place.set(executor, installed), lambda: place.set(executor, none))


def event_log(spark: SparkSession) -> Switch:
    """Spark's event log: its listener, added and removed."""
    context = spark.sparkContext._jsc.sc()
    listener = context.eventLogger().get()
    bus = context.listenerBus()
    return Switch(lambda: bus.addToEventLogQueue(listener), lambda: bus.removeListener(listener))


def vm_logs(spark: SparkSession, folder: Path) -> Switch:
    """Collector and compiler log: the files are closed, and opened again in `folder`."""
    gateway: Any = spark.sparkContext._gateway
    jvm: Any = spark.sparkContext._jvm
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    # Its class is hidden in its module: only the interface's method may be called.
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    name = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")

    def array(kind: str, *values: Any) -> Any:
        filled = gateway.new_array(getattr(jvm.java.lang, kind), len(values))
        for place, value in enumerate(values):
            filled[place] = value
        return filled

    def ask(*words: str) -> None:
        arguments = array("Object", array("String", *words))
        signature = array("String", "[Ljava.lang.String;")
        answer = invoke.invoke(server, array("Object", name, "vmLog", arguments, signature))
        if answer and answer.strip():
            raise RuntimeError(f"VM.log {' '.join(words)}: {answer}")

    def on() -> None:
        for log, what in (("gc", GC_WHAT), ("jit", JIT_WHAT)):
            file = f"output={folder}/{log}.log"
            ask(file, "output_options=filecount=0", f"what={what}", f"decorators={DECORATORS}")

    return Switch(on, lambda: ask("disable"))


def profiler(spark: SparkSession, raw: Path, folder: Path) -> Switch:
    """async-profiler with the options that the plugin gave it, each time into a file of its own."""
    started = next(r for r in _records(raw) if r.get("k") == "profiler" and r.get("started"))
    options = started["options"].rpartition(",file=")[0]
    jvm: Any = spark.sparkContext._jvm
    instance = jvm.one.profiler.AsyncProfiler.getInstance()
    count = 0

    def on() -> None:
        nonlocal count
        count += 1
        (folder / f"{count - 1}.jfr").unlink(missing_ok=True)
        instance.execute(f"{options},file={folder}/{count}.jfr")
        if ",filter" in options:
            for thread in jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
                if thread.getName().startswith("Executor task launch"):
                    instance.addThread(thread)

    return Switch(on, instance.stop)


def code_comments(spark: SparkSession) -> Switch:
    """Comments in generated code. Plans are compiled once with and once without them."""
    conf = spark._jsparkSession.sessionState().conf()
    key = "spark.sql.codegen.comments"
    return Switch(lambda: conf.setConfString(key, "true"), lambda: conf.setConfString(key, "false"))


@dataclass
class ProbeSwitch:
    """The OS probe at a tier, as a profile starts it; context slots are those of the run.

    The pace that its budget leaves it takes seconds to find, so that `settle` finds it once, and it
    is the rate from then on. At T0, whose programs stay in the kernel for as long as it lives, it
    is a new process each time it is switched on; at T1 a process that is stopped does nothing.
    """

    raw: Path
    scratch: Path
    tier: str
    budget: float
    hz: float = HZ

    def __post_init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        # One that is stopped does not see the end of what it observes.
        atexit.register(self.end)
        self.switch = Switch(self._on, self._off, self._pids)

    def settle(self, work: Callable[[], None], seconds: float = 12.0) -> float:
        """Let it find its pace under the work that it will observe; gives it, in Hz."""
        self.switch.on()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            work()
        self.end()
        report = json.loads(next(self.scratch.glob("*report*")).read_text())
        self.hz = float(report["pace"]["hz"])
        return self.hz

    def end(self) -> None:
        """End its process, stopped or not."""
        while self._running:
            process = self._running.pop()
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(10)

    def _on(self) -> None:
        if self._running:
            self._running[0].send_signal(signal.SIGCONT)
            return
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        for slots in self.raw.glob("context-*"):
            (self.scratch / slots.name).symlink_to(slots.resolve())
        command = [
            str(_artifacts.probe_binary()), "record", "--root-pid", str(os.getpid()),
            "--raw-dir", str(self.scratch), "--host", "bench", "--hz", f"{self.hz:g}",
            "--tier", self.tier, "--budget", f"{100 * self.budget:g}%",
            "--thread-counters", "hardware" if self.tier == "T0" else "none",
        ]  # fmt: skip
        self._running.append(subprocess.Popen(command, start_new_session=True))
        until = time.monotonic() + _READY_S
        while not any(self.scratch.glob("*report*")) and time.monotonic() < until:
            time.sleep(0.002)

    def _off(self) -> None:
        if self.tier == "T0":
            self.end()
        elif self._running:
            self._running[0].send_signal(signal.SIGSTOP)

    def _pids(self) -> list[int]:
        return [process.pid for process in self._running]


def os_probe(raw: Path, folder: Path, tier: str) -> ProbeSwitch:
    """Probe of threads, processes and host at a tier: T0 is profile ``full``'s, T1 ``light``'s."""
    budget = probe_budget("auto", with_stacks=tier == "T0")
    assert budget is not None
    return ProbeSwitch(raw, folder / f"probe-{tier}", tier, budget)


def end_own_probe(raw: Path) -> None:
    """End the probe that the launcher started for this run: its place is taken by the switch."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"pyro-probe") and os.fsencode(raw.resolve()) in words:
            os.kill(int(folder.name), signal.SIGTERM)


def _records(raw: Path) -> list[dict[str, Any]]:
    """Read the plugin's records of the driver so far."""
    found = []
    for file in raw.glob("plugin-*.ndjson"):
        for line in file.read_bytes().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def _place(value: Any, name: str) -> Any:
    """Find a private field of an object, also where Scala has given it a longer name."""
    for field in value.getClass().getDeclaredFields():
        if field.getName() == name or field.getName().endswith("$" + name):
            field.setAccessible(True)
            return field
    raise LookupError(f"{value.getClass().getName()} has no field {name}")


def _field(value: Any, name: str) -> Any:
    return _place(value, name).get(value)
