"""How to start a workload: the value for the launcher."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.workloads.contract import Workload, load
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.iterations import Turn
from pyrometer.workloads.registry import resolve
from pyrometer.workloads.spark import find_spark, import_folder
from pyrometer.workloads.values import Prepared, Progress, WorkloadSpec, no_progress

SPEC_FILE = "workload.json"
"""Name of the runner's input inside ``raw/``."""

DEFAULT_CONF = {
    "spark.master": "local[*]",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Spark settings where neither the workload nor the user says otherwise."""

SESSION = "spark.sql."
"""Prefix of settings that belong to a session, not to the context."""

OLDEST_PYTHON = (3, 10)
"""Oldest Python that the runner runs in."""

AUTO_WARMUP = 1
"""Iterations that ``warmup="auto"`` runs beforehand: one, for class loading and the JIT compiler.

How many more were warm-up is determined once all have ended (`pyrometer.collect.launch.warmup`)."""


@dataclass(frozen=True)
class LaunchSpec:
    """How to start the runner process of one trial.

    Parameters
    ----------
    argv : tuple of str
        Command line.
    env : Mapping[str, str]
        Variables to set on top of the inherited environment.
    spark_conf : Mapping[str, str]
        Spark settings that the runner applies; for information, they are in the file that it reads.
    workload : WorkloadSpec
        What runs, for ``manifest.workload``, without the levels by which turns differ.
    prepared : Prepared
        The data it reads.
    warmup : int
        Iterations before the measured ones.
    stdout, stderr : {"capture", "inherit"}
        Whether the stream goes to ``raw/stdout``/``raw/stderr`` or is the caller's.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    spark_conf: Mapping[str, str]
    workload: WorkloadSpec
    prepared: Prepared
    warmup: int
    stdout: Literal["capture", "inherit"] = "capture"
    stderr: Literal["capture", "inherit"] = "capture"


def launch_spec(
    name: str,
    levels: Mapping[str, str] | None = None,
    scale: str = "default",
    iterations: int = 3,
    warmup: int | Literal["auto"] = "auto",
    *,
    raw_dir: str | Path,
    data_cache: DataCache | None = None,
    spark_conf: Mapping[str, str] | None = None,
    spark_home: str | Path | None = None,
    cache_state: str | None = None,
    canary: Sequence[str] = (),
    turns: Sequence[tuple[Mapping[str, str], Sequence[int]]] = (),
    barrier: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> LaunchSpec:
    """Resolve a workload, build its data if missing, and return how to start it.

    Everything is checked here, before anything is started. Only data (below the cache) and
    ``workload.json`` in `raw_dir` are written.

    Parameters
    ----------
    name : str
        Registered workload.
    levels : Mapping[str, str], optional
        Levels of the workload's own variants, by factor (``workload.variant``) or its last word.
    scale : str
        ``test``, ``default``, ``seed`` or a number.
    iterations : int
        Measured iterations.
    warmup : int or "auto"
        Iterations before them; ``"auto"`` runs `AUTO_WARMUP`.
    raw_dir : path
        Existing ``raw/`` of the run directory.
    data_cache : DataCache, optional
        Where data lives; the user's cache by default.
    spark_conf : Mapping[str, str], optional
        The user's Spark settings: they win over the workload's, those over `DEFAULT_CONF`.
        Factor ``layout.tasks=4`` is ``spark.master=local[4]`` here, ``jvm.heap=4g`` is
        ``spark.driver.memory=4g``.
    spark_home : path, optional
        Another Spark: its home, or a Python environment that holds pyspark.
    cache_state : {"cold", "warm"}, optional
        State of the page cache to bring the data into before each iteration.
    canary : sequence of str
        Command that measures the machine before each iteration; empty: none.
    turns : sequence of (mapping, sequence of int)
        Treatments that take turns in one JVM: the levels of each, on top of everything else (of the
        workload's variants, ``spark.sql.`` settings, ``cache.state``), and its iterations.
    barrier : mapping, optional
        Barrier of a co-run: see `pyrometer.workloads.barrier.barrier`.
    progress : Progress
        Called while data is built.

    Raises
    ------
    UsageError
        Unknown workload, variant, level or scale; a number of iterations that makes no sense.
    CapabilityError
        No Spark, a Python that is too old, too little disk, a missing library.
    """
    spec = resolve(name, levels or {}, scale)
    if iterations < 1:
        raise UsageError(f"{iterations} iterations measure nothing", "use --iterations 1 or more")
    warmups = AUTO_WARMUP if warmup == "auto" else warmup
    if warmups < 0:
        raise UsageError(f"--warmup {warmup} is negative", "use 0 or more, or auto")
    workload = load(spec.entry)
    missing = [jar for jar in workload.needs.jars if not Path(jar).is_file()]
    if missing:
        raise CapabilityError(f"{name} needs {missing[0]}, which is not there")
    spark = find_spark(spark_home) if workload.engine == "spark" else None
    if spark:
        _check_version(name, spark.python)
        _check_packages(name, spark.python, workload.needs.spark_python)
    cache = data_cache or DataCache()
    own = workload.spark_conf(spec)
    if not turns:
        prepared = [Turn(spec, workload.prepare(spec, cache, progress), cache_state)]
    else:
        prepared = [
            _turn(workload, spec, cache_state, *one, spark_conf or {}, cache, progress)
            for one in turns
        ]
        shared = spec.levels.keys() - {name for levels, _ in turns for name in levels}
        spec = replace(spec, levels={name: spec.levels[name] for name in sorted(shared)})
        # Each session sets these for itself; they must not apply to the others.
        own = {key: one for key, one in own.items() if not key.startswith(SESSION)}
    conf = {}
    if spark:
        conf = {
            **DEFAULT_CONF,
            "spark.app.name": f"pyrometer {name}",
            **({"spark.jars": ",".join(workload.needs.jars)} if workload.needs.jars else {}),
            **own,
            **(spark_conf or {}),
        }
    path = Path(raw_dir).absolute() / SPEC_FILE
    path.write_text(
        json.dumps(
            {
                "schema": "pyrometer/workload/1",
                **prepared[0].to_json(),
                "turns": [one.to_json() for one in prepared] if turns else [],
                "meeting": barrier,
                "spark_conf": conf,
                "iterations": iterations,
                "warmup": warmups,
                "canary": list(canary),
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )
    python = spark.python if spark else sys.executable
    of_spark = {"PYSPARK_PYTHON": python, "SPARK_HOME": str(spark.home)} if spark else {}
    inherited = os.environ.get("PYTHONPATH")
    imports = import_folder(cache.root, spec.entry.partition(":")[0])
    python_path = [str(imports), *([inherited] if inherited else [])]
    if spark:
        python_path = [*spark.import_path, *python_path]
    return LaunchSpec(
        argv=(python, "-m", "pyrometer.workloads.runner", str(path)),
        env={"PYTHONPATH": os.pathsep.join(python_path), **of_spark},
        spark_conf=conf,
        workload=spec,
        prepared=prepared[0].prepared,
        warmup=warmups,
    )


def _turn(
    workload: Workload,
    base: WorkloadSpec,
    cache_state: str | None,
    levels: Mapping[str, str],
    positions: Sequence[int],
    of_user: Mapping[str, str],
    cache: DataCache,
    progress: Progress,
) -> Turn:
    """Build one of several treatments that take turns."""
    # A workload of a file has its name and variants from the specification only.
    own = {name: level for name, level in levels.items() if name in base.levels}
    spec = resolve(base.name, {**base.levels, **own}, base.scale)
    of_session = {
        **{key: one for key, one in workload.spark_conf(spec).items() if key not in of_user},
        **levels,
    }
    return Turn(
        spec=spec,
        prepared=workload.prepare(spec, cache, progress),
        cache_state=levels.get("cache.state", cache_state),
        conf={key: one for key, one in of_session.items() if key.startswith(SESSION)},
        levels=levels,
        positions=positions,
    )


def _check_version(name: str, python: str) -> None:
    """Raise `CapabilityError` if the Python of another Spark is too old for the runner."""
    if python == sys.executable:
        return
    said = _ask(python, "import sys; print(*sys.version_info[:2])")
    version = tuple(map(int, said[-2:]))
    if len(version) == 2 and version < OLDEST_PYTHON:
        found, oldest = (".".join(map(str, one)) for one in (version, OLDEST_PYTHON))
        raise CapabilityError(
            f"{name} runs in the Python of its Spark, and {python} is {found}",
            f"give an environment with Python {oldest} or newer, or the home of a Spark",
        )


def _check_packages(name: str, python: str, packages: Sequence[str]) -> None:
    """Raise `CapabilityError` if the Python of Spark's workers lacks what the program imports."""
    if not packages:
        return
    lacking = (
        "import sys, importlib.util as u; print(*(p for p in sys.argv[1:] if not u.find_spec(p)))"
    )
    if missing := _ask(python, lacking, *packages):
        raise CapabilityError(
            f"{name} needs {' and '.join(missing)} in the Python that runs Spark, {python}",
            f"{shlex.quote(python)} -m pip install {' '.join(missing)}",
        )


def _ask(python: str, program: str, *words: str) -> list[str]:
    """Run a program in a Python and give the words that it prints."""
    try:
        done = subprocess.run(
            [python, "-c", program, *words], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CapabilityError(f"{python} does not start: {error.strerror}") from error
    if done.returncode != 0:
        raise CapabilityError(f"{python} does not start: {done.stderr.strip()[-500:]}")
    return done.stdout.split()
