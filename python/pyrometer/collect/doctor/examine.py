"""What this machine can measure, found out by trying it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from pyrometer import __version__, _artifacts
from pyrometer.collect.doctor.finding import Finding, attempted, first_line, run_briefly
from pyrometer.collect.doctor.java import JVM_PROBES, find_java, jvm_probes
from pyrometer.collect.doctor.kernel import kernel, operating_system, page_cache
from pyrometer.collect.doctor.machines import machines
from pyrometer.collect.probes.python_workers import PythonProbe
from pyrometer.core.errors import PyrometerError
from pyrometer.core.installation import reinstall
from pyrometer.store.paths import RunPaths

ROOM_BYTES = 2 << 30


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
        *attempted(JVM_PROBES, jvm_probes, java),
        *attempted(("python",), python_workers),
        *kernel(),
        page_cache(),
        *operating_system(),
        *attempted(("machines",), machines),
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


def spark() -> Finding:
    """Find the Spark that built-in workloads would run on."""
    from pyrometer.workloads.spark import find_spark, spark_version

    try:
        install = find_spark()
    except PyrometerError as error:
        return Finding("spark", None, False, error.message, error.remedy)
    version = spark_version(install.home)
    known = version or "unknown"
    return Finding("spark", version, True, f"Spark {known} in {install.home}")


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


def can_run(findings: Sequence[Finding]) -> bool:
    """Whether a run with profile ``light`` is possible."""
    return not _lacking(findings)


_NEEDED = ("package.native", "package.plugin", "java", "run_directory", "plugin", "gc", "os")
_STACKS = "stacks."
_LEFT = {"cgroup_leftovers": "control groups", "setting_left": "kernel settings"}
_WORDS = {
    "pmu": "hardware counters",
    "counters hardware": "hardware counters",
    "bandwidth": "memory bandwidth",
    "os_other_users": "processes of other users",
    "page_cache": "emptying the page cache",
    "cpu_frequency": "CPU frequency",
    "spark": "Spark for workloads by name",
    "eventlog": "event log",
    "machines": "virtual machines for trials",
    "python": "stacks of Python",
}


def _lacking(findings: Sequence[Finding]) -> list[str]:
    works = {finding.name for finding in findings if finding.available}
    broken = {finding.name for finding in findings if not finding.available}
    # The probe looks by one of several means; of everything else, nothing may be broken.
    return [name for name in _NEEDED if (name not in works if name == "os" else name in broken)]


def verdict(findings: Sequence[Finding]) -> str:
    """Say in a sentence which profile works here, and what is missing.

    Examples
    --------
    >>> verdict([Finding("os", "T0", True, ""), Finding("pmu", None, False, "no such file")])
    'full profile works; missing: hardware counters'
    >>> verdict([Finding("os", "T0", True, ""), Finding("java", None, False, "not found")])
    'no run is possible: java is missing'
    """
    lacking = _lacking(findings)
    if lacking:
        return f"no run is possible: {'; '.join(_impossible(findings, lacking))}"
    stacks = [f.name for f in findings if f.name.startswith(_STACKS) and not f.available]
    left = [_LEFT[f.name] for f in findings if f.name in _LEFT]
    missing = dict.fromkeys(
        _worded(f) for f in findings
        if not f.available and f.name not in _LEFT and f.name != "os" and f.name not in stacks
    )  # fmt: skip
    text = (
        "light profile works, full without " + ", ".join(stacks) if stacks else "full profile works"
    )
    if missing:
        text += f"; missing: {', '.join(missing)}"
    if left:
        text += f"; left by dead runs: {', '.join(dict.fromkeys(left))}"
    return text


def _impossible(findings: Sequence[Finding], lacking: list[str]) -> Iterator[str]:
    """Say what is too old, with what depends on it, and what is missing."""
    versions = [f.tier for f in findings if f.name == "java" and not f.available and f.tier]
    if versions:
        yield f"Java {versions[0]} is too old"
        lacking = [name for name in lacking if name not in ("java", *JVM_PROBES)]
    if lacking:
        yield f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing"


def _worded(finding: Finding) -> str:
    whole = f"{finding.name} {finding.tier}" if finding.tier else finding.name
    words = _WORDS.get(whole) or _WORDS.get(finding.name)
    return words or finding.name.replace("_", " ").replace(".", " ")


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
        done = run_briefly([sys.executable, "-c", burn], environment)
        entry = PythonProbe().report(paths)
    if entry.tier and not entry.reason:
        return Finding("python", entry.tier, True, "a Python sampled itself; it needs no rights")
    reason = entry.reason or first_line(done.stderr)
    return Finding("python", None, False, reason, reinstall())


def as_data(findings: list[Finding]) -> dict[str, Any]:
    """Give what ``doctor --json`` prints (``pyrometer/doctor/1``)."""
    return {
        "schema": "pyrometer/doctor/1",
        "pyrometer_version": __version__,
        "verdict": verdict(findings),
        "probes": [asdict(finding) for finding in findings],
    }
