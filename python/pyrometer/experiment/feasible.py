"""What this host can honour of a treatment; found out before the first trial."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pyrometer.errors import PyrometerError
from pyrometer.plan import Level
from pyrometer.plan.treatments import LeftOut, Treatment, Treatments
from pyrometer.run.host import parse_meminfo
from pyrometer.run.host_plan import plan_host
from pyrometer.run.java import require_java
from pyrometer.run.launch import without_spark
from pyrometer.run.treatment import apply_treatment
from pyrometer.workload import registry


def host_facts() -> dict[str, float | None]:
    """Give what constraints may speak of beside factors; ``None`` where it cannot be read."""
    try:
        memory = parse_meminfo(Path("/proc/meminfo").read_text())
    except OSError:
        memory = {}
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    return {
        "mem_total": memory.get("MemTotal"),
        "swap_total": memory.get("SwapTotal"),
        "cpus": len(os.sched_getaffinity(0)),
        "numa_nodes": nodes or 1,
    }


def honoured(made: Treatments, workload: str, folder: Path) -> Treatments:
    """Leave out treatments that this host cannot bring about, each with the reason.

    Parameters
    ----------
    made : Treatments
        Those of the matrix.
    workload : str
        What runs.
    folder : Path
        Where runs are written: it decides which disk a limit is about.
    """
    kept, out = {}, list(made.left_out)
    for name, treatment in made.run.items():
        reason = _why_not(treatment, workload, folder)
        if reason is None:
            kept[name] = treatment
        else:
            out.append(LeftOut(name, reason, treatment.varied))
    return Treatments(kept, out)


def _why_not(treatment: Treatment, workload: str, folder: Path) -> str | None:
    levels = treatment.parsed
    try:
        found = registry.get(workload)
        if found.engine == "process":
            without_spark(workload, levels)
        own = {name: str(level) for name, level in levels.items() if name in found.variants}
        spec = registry.resolve(workload, own)
        plan_host({**found.limits(spec), **levels}, _existing(folder))
        applied = apply_treatment(levels, None)
    except PyrometerError as error:
        return f"{error.message} ({error.remedy})" if error.remedy else error.message
    if any(name.startswith("jvm.") for name in levels):
        return _jvm_refuses(levels, applied.jvm_options)
    return None


def _existing(folder: Path) -> Path:
    return next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())


def _jvm_refuses(levels: Mapping[str, Level], options: tuple[str, ...]) -> str | None:
    """Ask the JVM itself: which collectors and options it has depends on its build."""
    heap = (f"-Xmx{levels['jvm.heap']}",) if "jvm.heap" in levels else ()
    home = str(levels["jvm.home"]) if "jvm.home" in levels else os.environ.get("JAVA_HOME", "")
    return _asked(home, (*heap, *options))


@cache
def _asked(home: str, options: tuple[str, ...]) -> str | None:
    try:
        java = require_java({**os.environ, **({"JAVA_HOME": home} if home else {})})
        assert java is not None
        done = subprocess.run(
            [java, *options, "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except PyrometerError as error:
        return error.message
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"java -version: {error}"
    if done.returncode == 0:
        return None
    lines = [one for one in (done.stderr + done.stdout).splitlines() if one.strip()]
    # The first line says that the VM does not start, or what it objects to.
    telling = [one for one in lines if not one.startswith("Error: Could not create")]
    return f"java {' '.join(options)}: {(telling or lines or ['refused'])[0].strip()}"
