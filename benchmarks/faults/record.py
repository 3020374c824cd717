"""Run applications with their causes and without, measured, and keep the runs."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.cases import Case, Set
from benchmarks.harness import replace

ROOT = Path(__file__).parents[2]
RECORDED = "recorded.json"
"""In the folder of a pair of runs: what is known of them without explaining them."""


def command(of: Set, case: Case, shape: str, mode: str, data: Path) -> list[str]:
    """Give the application's command line, with the settings of the case.

    Data is generated with the settings without the cause.
    """
    here = case.of(shape)
    settings = {**of.both, **(here.on if mode == "on" else here.off)}
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return [
        "spark-submit", "--master", here.master, *conf, str(of.app), case.name, shape, mode,
        str(data),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Give the environment of an application: workers find its modules and this Python."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}


def checksum(output: str) -> str | None:
    r"""Give the last checksum that an application printed.

    Examples
    --------
    >>> checksum("reading\nchecksum: 3 rows, 17\n")
    '3 rows, 17'
    """
    found = re.findall(r"^checksum: (.+)$", output, re.MULTILINE)
    return found[-1] if found else None


def failure(row: dict[str, Any]) -> str | None:
    """Say why a pair of runs cannot be judged: one failed, or their results differ.

    Examples
    --------
    >>> failure({"on": {"checksum": "1 rows, 5"}, "off": {"checksum": "1 rows, 6"}})
    'results differ: 1 rows, 5 with the cause, 1 rows, 6 without'
    """
    for mode in ("on", "off"):
        if "failed" in row[mode]:
            return str(row[mode]["failed"])
    on, off = (row[mode].get("checksum") for mode in ("on", "off"))
    return None if on == off else f"results differ: {on} with the cause, {off} without"


def treatment(case: Case, shape: str, mode: str) -> Mapping[str, str]:
    """Give the factors that a run of the case is given.

    Examples
    --------
    >>> little = Case("little-memory", treatment_on={"cgroup.memory": "1g"})
    >>> treatment(little, "host", "on"), treatment(little, "host", "off")
    ({'cgroup.memory': '1g'}, {})
    """
    here = case.of(shape)
    return here.treatment_on if mode == "on" else here.treatment_off


def once(words: Sequence[str], run: Path, treatment: Mapping[str, str]) -> dict[str, Any]:
    """Run an application once, measured; what the machine cannot do fails with the reason."""
    given = [word for name, value in treatment.items() for word in ("--set", f"{name}={value}")]
    shutil.rmtree(run, ignore_errors=True)
    run.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", "run", "--no-report", "-o", str(run), *given, "--",
         *words],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    if done.returncode:
        return {"failed": why(done.stderr)}
    return {"checksum": checksum(done.stdout)}


def why(errors: str) -> str:
    r"""Give what a run said that failed: the last error of its application, else the end.

    Examples
    --------
    >>> why("a\nTraceback (most recent call last):\nOSError: no swap\nElapsed 8 s")
    'Traceback (most recent call last):\nOSError: no swap\nElapsed 8 s'
    >>> why("error: no such factor")
    'error: no such factor'
    """
    begin = errors.rfind("Traceback (most recent call last)")
    return errors[-1000:] if begin < 0 else errors[begin : begin + 3000]


def prepare(of: Set, case: Case, shape: str, data: Path) -> None:
    """Generate what a case reads, so that no measured run does."""
    subprocess.run(
        command(of, case, shape, "data", data),
        capture_output=True, check=False, timeout=900, env=environment(),
    )  # fmt: skip


def record(
    of: Set, pairs: Iterable[tuple[Case, str]], blocks: int, data: Path, kept: Path, seed: int
) -> None:
    """Run every pair of case and shape in every block, what was not yet, in random order."""
    order, pairs, prepared = random.Random(seed), list(pairs), set[tuple[str, str]]()
    for block in range(blocks):
        todo = list(pairs)
        order.shuffle(todo)
        for case, shape in todo:
            modes = ["on", "off"]
            order.shuffle(modes)
            folder = kept / f"{case.name}-{shape}-{block}"
            if (folder / RECORDED).exists():
                continue
            if (case.name, shape) not in prepared:
                prepare(of, case, shape, data)
                prepared.add((case.name, shape))
            row: dict[str, Any] = {"key": f"{case.name}/{shape}/{block}", "set": of.name}
            for mode in modes:
                row[mode] = once(
                    command(of, case, shape, mode, data), folder / mode,
                    treatment(case, shape, mode),
                )  # fmt: skip
            row["failed"] = failure(row)
            replace(folder / RECORDED, row)
            print(row["key"], row["failed"] or f"recorded: {row['on']['checksum']}", flush=True)


def recorded(of: Set, kept: Path) -> dict[Path, dict[str, Any]]:
    """Read which pairs of runs of a set were kept."""
    found = {
        path.parent: json.loads(path.read_text()) for path in sorted(kept.glob(f"*/{RECORDED}"))
    }
    return {folder: row for folder, row in found.items() if row["set"] == of.name}
