"""How an application that runs one of the jobs is started, bare or measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.overhead import data_folder

SIZED = {"scan", "shuffle", "python udf"}
"""Workloads of which there can be more rows."""
ROOT = Path(__file__).resolve().parents[2]


def title(workload: str, size: int) -> str:
    """Name a workload of so many times its rows.

    Examples
    --------
    >>> title("scan", 8), title("scan", 1), title("small plans", 8)
    ('scan x8', 'scan', 'small plans')
    """
    return f"{workload} x{size}" if size > 1 and workload in SIZED else workload


def data(workload: str, size: int) -> str | None:
    """Folder of a workload's data, generated if need be; ``None`` for one that reads none."""
    if workload == "scan":
        return data_folder("parquet-scan", str(1_000_000 * size))
    return data_folder("tpch", "test") if workload == "small plans" else None


def environment(cores: int) -> dict[str, str]:
    """Environment of an application with so many task slots."""
    options = f"--master local[{cores}] --driver-memory 1g --conf spark.ui.enabled=false"
    options += " --conf spark.ui.showConsoleProgress=false"
    return {
        **os.environ,
        # Workers are those of this environment, whatever `python3` is.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    }


def measured(profile: str, run: Path, program: Sequence[str]) -> list[str]:
    """Give the command that measures a program with a profile into a run directory."""
    return [
        sys.executable, "-m", "pyrometer", "run", "--profile", profile, "--no-report",
        "-o", str(run), "--", *program,
    ]  # fmt: skip
