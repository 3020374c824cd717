"""Java, and what starts inside a JVM: agent, garbage collector log, profiler."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyrometer import _artifacts
from pyrometer.collect.doctor.finding import (
    Finding,
    attempted,
    first_line,
    run_briefly,
    said_lines,
)
from pyrometer.collect.doctor.kernel import perf_remedy
from pyrometer.collect.launch.environment import properties_text
from pyrometer.collect.launch.java import INSTALL_JAVA, OLDEST_JAVA, unfit
from pyrometer.collect.probes.base import merge_needs
from pyrometer.collect.probes.logs import GcProbe
from pyrometer.collect.probes.plugin import PluginProbe, records
from pyrometer.collect.probes.stacks import StacksProbe, perf_event_paranoid
from pyrometer.core.errors import PyrometerError
from pyrometer.core.installation import reinstall
from pyrometer.store.paths import RunPaths

LIGHT = "pyrometer run --profile light …, which samples no stacks"
PROFILED = {
    "stacks.cpu": {"cpu": "1ms"},
    "stacks.wall": {"wall": "5ms"},
    "stacks.alloc": {"alloc": "512k"},
    "stacks.lock": {"lock": "10ms"},
}
JVM_PROBES = ("plugin", "gc", *PROFILED)
"""What is tried inside a JVM."""
SPARK_4_JAVA = 17


def find_java(env: Mapping[str, str]) -> tuple[str | None, Finding]:
    """Find the Java that Spark's scripts would use, and start it.

    Returns
    -------
    tuple
        The Java, ``None`` if there is none that probes can be tried with; and the finding.
    """
    home = env.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=env.get("PATH"))
    if java is None:
        return None, Finding("java", None, False, "PATH holds no java", INSTALL_JAVA)
    try:
        text = run_briefly([java, "-version"]).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return None, Finding("java", None, False, f"{java}: {error}", INSTALL_JAVA)
    line = next((one for one in said_lines(text) if java_version(one) is not None), "")
    version = java_version(line)
    if version is None:
        return java, Finding("java", None, False, f"{java}: {first_line(text)}", INSTALL_JAVA)
    what = f"{java}: {line}"
    if version < OLDEST_JAVA:
        what += f"; Pyrometer needs {OLDEST_JAVA} or newer"
        return None, Finding("java", str(version), False, what, INSTALL_JAVA)
    if version < SPARK_4_JAVA:
        what += f"; Spark 4 needs {SPARK_4_JAVA}"
    return java, Finding("java", str(version), True, what)


def java_version(text: str) -> int | None:
    """Feature number in what ``java -version`` prints.

    Examples
    --------
    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_1"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def jvm_probes(java: str | None) -> Iterator[Finding]:
    """Start a JVM with our options and see what it writes: GC log, each event kind."""
    none = f"no Java {OLDEST_JAVA} or newer to try it with"
    why = none if java is None else unfit(java, ())
    if why is not None:
        for name in JVM_PROBES:
            yield Finding(name, None, False, why, INSTALL_JAVA)
        return
    assert java is not None
    with tempfile.TemporaryDirectory(prefix="pyrometer-doctor-") as folder:
        paths = RunPaths(Path(folder))
        paths.raw.mkdir()
        yield from attempted(("plugin", "gc"), _agent, java, paths)
        library = _profiler_library(paths)
        for name, events in PROFILED.items():
            if isinstance(library, Finding):
                yield Finding(name, None, False, library.reason, library.remedy)
            else:
                probe = StacksProbe(events)
                yield from attempted((name,), _profile, java, library, name, probe, paths)


def _agent(java: str, paths: RunPaths) -> Iterator[Finding]:
    try:
        needs = merge_needs((PluginProbe(), GcProbe()), paths)
        paths.agent_properties.write_text(properties_text(needs.agent), encoding="utf-8")
        done = run_briefly([java, *needs.jvm_options, "-version"])
    except PyrometerError as error:
        yield from _without_agent(Finding("plugin", None, False, error.message, error.remedy))
        return
    if done.returncode or not paths.plugin_files():
        what = first_line(done.stderr)
        yield from _without_agent(Finding("plugin", None, False, what, reinstall()))
        return
    yield Finding("plugin", None, True, "a JVM starts with the agent")
    if paths.gc_logs():
        yield Finding("gc", None, True, "a JVM writes its GC and safepoint log")
    else:
        said = [str(r.get("message")) for f in paths.plugin_files() for r in records(f, "error")]
        yield Finding("gc", None, False, "; ".join(said) or "it wrote no log", INSTALL_JAVA)


def _without_agent(finding: Finding) -> tuple[Finding, Finding]:
    return finding, Finding("gc", None, False, "no agent to switch it on", finding.remedy)


def _profiler_library(paths: RunPaths) -> Path | Finding:
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    entry = f"linux-{machine}/libasyncProfiler.so"
    try:
        with zipfile.ZipFile(_artifacts.plugin_jar()) as jar:
            return Path(jar.extract(entry, paths.root))
    except KeyError:
        return Finding("stacks", None, False, f"no async-profiler for {machine}", LIGHT)
    except PyrometerError as error:
        return Finding("stacks", None, False, error.message, error.remedy)


def _profile(java: str, library: Path, name: str, probe: StacksProbe, paths: RunPaths) -> Finding:
    file = paths.raw / f"{name}.jfr"
    command = probe.command().replace(",chunktime=10s", "")
    done = run_briefly(
        [java, f"-agentpath:{library}={command},jfr,loglevel=warn,file={file}", "-version"]
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if "[ERROR]" in line]
    if said or not file.is_file():
        return Finding(name, None, False, said[0] if said else first_line(done.stderr), LIGHT)
    engine = None
    if name == "stacks.cpu":
        found = re.search(rb"perf_events|ctimer|itimer", file.read_bytes())
        engine = found[0].decode() if found else None
    if engine in ("ctimer", "itimer"):
        remedy = perf_remedy(perf_event_paranoid(), os.geteuid())
        return Finding(
            name, engine, True, "CPU is sampled by timers, without kernel frames", remedy
        )
    return Finding(name, engine, True, "a JVM recorded with it")
