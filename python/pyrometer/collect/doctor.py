"""What this machine can measure, found out by trying it."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pyrometer import __version__, _artifacts
from pyrometer.collect.probes import os as os_probe
from pyrometer.collect.probes.logs import GcProbe
from pyrometer.collect.probes.python_workers import PythonProbe
from pyrometer.collect.probes.stacks import StacksProbe, perf_event_paranoid
from pyrometer.core.errors import PyrometerError
from pyrometer.core.installation import reinstall
from pyrometer.store.paths import RunPaths

ROOM_BYTES = 2 << 30
LIGHT = "pyrometer run --profile light …, which samples no stacks"
INSTALL_JAVA = "as root: apt-get install openjdk-17-jdk-headless; or set JAVA_HOME to such a JDK"
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
PROFILED = {
    "stacks.cpu": {"cpu": "1ms"},
    "stacks.wall": {"wall": "5ms"},
    "stacks.alloc": {"alloc": "512k"},
    "stacks.lock": {"lock": "10ms"},
}


@dataclass(frozen=True)
class Finding:
    """Something that was tried.

    Parameters
    ----------
    name : str
        What: ``java``, ``spark``, ``stacks.cpu``, ``os``, ...
    tier : str or None
        At which tier or by which means, where there are several.
    available : bool
        Whether it works here.
    reason : str
        What came of the try.
    remedy : str or None
        The command that gives the missing; ``None`` if nothing is missing.
    """

    name: str
    tier: str | None
    available: bool
    reason: str
    remedy: str | None = None


def examine(folder: Path, env: Mapping[str, str]) -> list[Finding]:
    """Try everything.

    Parameters
    ----------
    folder : Path
        Where runs would be written.
    env : mapping
        Environment, for JAVA_HOME, SPARK_HOME and PATH.
    """
    java, java_found = find_java(env)
    spark_found, room = spark(), disk(folder)
    return [
        *parts(),
        java_found,
        spark_found,
        room,
        event_log(java_found, spark_found, room),
        *jvm_probes(java),
        python_workers(),
        *kernel(),
        page_cache(),
        *operating_system(),
    ]


def parts() -> Iterator[Finding]:
    """Compare the versions of what the package carries."""

    def native() -> str:
        core = import_module("pyrometer._core")
        _artifacts.check_version("the native module", core.version())
        return f"version {core.version()}"

    def plugin() -> str:
        return f"version {_artifacts.jar_version(_artifacts.plugin_jar())}"

    for name, attempt in (("package.native", native), ("package.plugin", plugin)):
        try:
            yield Finding(name, None, True, attempt())
        except PyrometerError as error:
            yield Finding(name, None, False, error.message, error.remedy)
        except ImportError as error:
            remedy = reinstall()
            yield Finding(name, None, False, str(error), remedy)


def find_java(env: Mapping[str, str]) -> tuple[str | None, Finding]:
    """Find the Java that Spark's scripts would use, and start it."""
    home = env.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=env.get("PATH"))
    if java is None:
        return None, Finding("java", None, False, "PATH holds no java", INSTALL_JAVA)
    try:
        text = _run([java, "-version"]).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return None, Finding("java", None, False, f"{java}: {error}", INSTALL_JAVA)
    version = java_version(text)
    if version is None or version < 17:
        what = f"{java} is version {version}" if version else f"{java}: {text[:200]}"
        return java, Finding("java", None, False, what + "; Spark 4 needs 17", INSTALL_JAVA)
    return java, Finding("java", str(version), True, f"{java}: {text.splitlines()[0]}")


def java_version(text: str) -> int | None:
    """Feature number in what ``java -version`` prints.

    Examples
    --------
    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_1"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def spark() -> Finding:
    """Find the Spark that built-in workloads would run on."""
    from pyrometer.workloads.spark import find_spark

    try:
        install = find_spark()
    except PyrometerError as error:
        return Finding("spark", None, False, error.message, error.remedy)
    version = spark_version(install.home)
    known = version or "unknown"
    return Finding("spark", version, True, f"Spark {known} in {install.home}")


def spark_version(home: Path) -> str | None:
    """Version of a Spark installation, by the name of its core jar."""
    for jar in sorted((home / "jars").glob("spark-core_*.jar")):
        match = re.fullmatch(r"spark-core_[0-9.]+-(.+)\.jar", jar.name)
        if match:
            return match[1]
    return None


def disk(folder: Path) -> Finding:
    """Write where runs would go, and look how much room there is."""
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(b"\0" * 65536)
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(
            "run_directory",
            None,
            False,
            f"{folder}: {error.strerror}",
            "pyrometer run -o DIR …, with a DIR that can be written",
        )
    text = f"{folder} can be written, {free / (1 << 30):.1f} GiB free"
    if free < ROOM_BYTES:
        return Finding(
            "run_directory",
            None,
            False,
            text,
            "free some space, or pyrometer run -o DIR …, with a DIR on another disk",
        )
    return Finding("run_directory", None, True, text)


def event_log(*needed: Finding) -> Finding:
    """Conclude whether Spark can write its event log where runs go."""
    missing = [finding for finding in needed if not finding.available]
    if missing:
        names = ", ".join(finding.name for finding in missing)
        return Finding("eventlog", None, False, f"needs {names}", missing[0].remedy)
    return Finding("eventlog", None, True, "Spark writes it into the run directory")


def can_run(findings: list[Finding]) -> bool:
    """Whether a run with profile ``light`` is possible."""
    needed = {"package.native", "package.plugin", "java", "run_directory", "plugin", "gc"}
    missing = [f for f in findings if f.name in needed and not f.available]
    return not missing and any(f.name == "os" and f.available for f in findings)


def jvm_probes(java: str | None) -> Iterator[Finding]:
    """Start a JVM with our options and see what it writes: GC log, each event kind."""
    names = ("plugin", "gc", *PROFILED)
    if java is None:
        for name in names:
            yield Finding(name, None, False, "no Java to try it with", INSTALL_JAVA)
        return
    with tempfile.TemporaryDirectory(prefix="pyrometer-doctor-") as folder:
        paths = RunPaths(Path(folder))
        paths.raw.mkdir()
        yield _agent(java, paths)
        yield _gc(java, paths)
        library = _profiler_library(paths)
        for name, events in PROFILED.items():
            if isinstance(library, Finding):
                yield Finding(name, None, False, library.reason, library.remedy)
            else:
                yield _profile(java, library, name, StacksProbe(events), paths)


def _agent(java: str, paths: RunPaths) -> Finding:
    paths.agent_properties.write_text(f"raw.dir={paths.raw}\n")
    try:
        jar = _artifacts.plugin_jar()
        done = _run([java, f"-javaagent:{jar}={paths.agent_properties}", "-version"])
    except PyrometerError as error:
        return Finding("plugin", None, False, error.message, error.remedy)
    if done.returncode:
        remedy = INSTALL_JAVA if "UnsupportedClassVersionError" in done.stderr else reinstall()
        return Finding("plugin", None, False, _first(done.stderr), remedy)
    return Finding("plugin", None, True, "a JVM starts with the agent")


def _gc(java: str, paths: RunPaths) -> Finding:
    (option,) = GcProbe().needs(paths).jvm_options
    done = _run([java, option, "-version"])
    if done.returncode or not paths.gc_logs():
        return Finding("gc", None, False, _first(done.stderr + done.stdout), INSTALL_JAVA)
    return Finding("gc", None, True, "a JVM writes its GC and safepoint log")


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
    done = _run([java, f"-agentpath:{library}={command},jfr,loglevel=warn,file={file}", "-version"])
    said = [line for line in (done.stdout + done.stderr).splitlines() if "[ERROR]" in line]
    if said or not file.is_file():
        return Finding(name, None, False, said[0] if said else _first(done.stderr), LIGHT)
    engine = None
    if name == "stacks.cpu":
        found = re.search(rb"perf_events|ctimer|itimer", file.read_bytes())
        engine = found[0].decode() if found else None
    if engine in ("ctimer", "itimer"):
        return Finding(
            name, engine, True, "CPU is sampled by timers, without kernel frames", _perf_remedy()
        )
    return Finding(name, engine, True, "a JVM recorded with it")


def python_workers() -> Finding:
    """Start a Python with the sampler in it; a package of that name stands for pyspark."""
    burn = "import pyspark, time\nwhile time.process_time() < 0.4: pass\ntime.sleep(0.1)"
    with tempfile.TemporaryDirectory(prefix="pyrometer-doctor-") as folder:
        paths = RunPaths(Path(folder))
        paths.raw.mkdir()
        (paths.root / "pyspark.py").touch()
        needs = PythonProbe().needs(paths)
        path = os.pathsep.join([*needs.python_path, folder])
        environment = {**os.environ, **needs.environment, "PYTHONPATH": path}
        done = _run([sys.executable, "-c", burn], environment)
        entry = PythonProbe().report(paths)
    if entry.tier and not entry.reason:
        return Finding("python", entry.tier, True, "a Python sampled itself; it needs no rights")
    reason = entry.reason or _first(done.stderr)
    return Finding("python", None, False, reason, reinstall())


def kernel() -> Iterator[Finding]:
    """Open a software event with and without the kernel, and see if kernel symbols are shown."""
    allowed, why = perf_open(exclude_kernel=False)
    level = perf_event_paranoid()
    text = f"kernel.perf_event_paranoid is {level}"
    if allowed:
        yield Finding("kernel_frames", "perf_events", True, f"perf_event_open works; {text}")
    else:
        yield Finding(
            "kernel_frames", None, False, f"perf_event_open: {why}; {text}", _perf_remedy()
        )
    shown = _kernel_symbols_shown()
    yield Finding(
        "kernel_symbols",
        None,
        shown,
        "/proc/kallsyms shows addresses" if shown else "/proc/kallsyms hides addresses",
        None if shown else "as root: sysctl -w kernel.kptr_restrict=0",
    )


def page_cache(root: Path = Path("/sys")) -> Finding:
    """See whether the kernel drops pages on its own that nobody used for a while.

    By schemes of DAMON (Documentation/admin-guide/mm/damon/usage.rst), or by its module for
    reclaim: what was brought into memory does not stay there, however much is free.

    Parameters
    ----------
    root : Path
        Where sysfs is.
    """
    for state in sorted(root.glob("kernel/mm/damon/admin/kdamonds/*/state")):
        actions = state.parent.glob("contexts/*/schemes/*/action")
        if _word(state) == "on" and any(_word(action) == "pageout" for action in actions):
            return _pages_out(f"a scheme of DAMON ({state.parent.name})", f"echo off > {state}")
    module = root / "module/damon_reclaim/parameters/enabled"
    if _word(module) == "Y":
        return _pages_out("damon_reclaim", f"echo N > {module}")
    return Finding("page_cache", None, True, "no scheme of DAMON pages out memory")


def _pages_out(who: str, remedy: str) -> Finding:
    reason = (
        f"{who} pages out memory that has not been used for a while: warm files do not stay in"
        " memory"
    )
    return Finding("page_cache", None, False, reason, f"as root: {remedy}")


def _word(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def perf_open(exclude_kernel: bool) -> tuple[bool, str]:
    """Open the event ``cpu-clock`` on this thread; whether it worked and the error."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return False, f"unknown on {platform.machine()}"
    attributes = bytearray(112)
    attributes[0:4] = (1).to_bytes(4, sys.byteorder)  # PERF_TYPE_SOFTWARE
    attributes[4:8] = len(attributes).to_bytes(4, sys.byteorder)
    # disabled, exclude_kernel, exclude_hv are bits 0, 5 and 6 of the flag word.
    flags = 1 | (exclude_kernel << 5) | (1 << 6)
    attributes[40:48] = flags.to_bytes(8, sys.byteorder)
    buffer = (ctypes.c_char * len(attributes)).from_buffer(attributes)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, buffer, 0, -1, -1, 0)
    if descriptor < 0:
        return False, errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
    os.close(descriptor)
    return True, ""


def operating_system() -> Iterator[Finding]:
    """Ask the probe binary what it can read."""
    try:
        for row in os_probe.capabilities():
            yield Finding(**asdict(row))
    except PyrometerError as error:
        yield Finding("os", None, False, error.message, error.remedy)


def as_data(findings: list[Finding]) -> dict[str, Any]:
    """Give what ``doctor --json`` prints (``pyrometer/doctor/1``)."""
    return {
        "schema": "pyrometer/doctor/1",
        "pyrometer_version": __version__,
        "probes": [asdict(finding) for finding in findings],
    }


def _perf_remedy() -> str:
    return "as root: sysctl -w kernel.perf_event_paranoid=1 kernel.kptr_restrict=0"


def _kernel_symbols_shown() -> bool:
    try:
        with Path("/proc/kallsyms").open() as lines:
            return any(int(line.split()[0], 16) for _, line in zip(range(50), lines, strict=False))
    except (OSError, ValueError, IndexError):
        return False


def _run(
    command: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def _first(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else "it wrote nothing"
