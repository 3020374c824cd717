"""Run the advisors on an event log, each as its own documentation says, and read what they wrote.

`spark-advisor analyze LOG --mode static --format json` reads a file. Where it is given a rolling
log, which it cannot open, it gets one file with the parts' events in their order.

NVIDIA's tools look at a log twice: the profiling tool for its health check, and AutoTuner for what
it would set. Of logs of CPU clusters the profiling tool's AutoTuner recommends nothing; that of
the qualification tool does, for the cluster with GPUs that it would move the job to. So what is
said of the measured job is read, and settings that a GPU needs are counted, not compared.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from benchmarks.advisors.causes import NVIDIA, SPARK_ADVISOR, Fired

LIMIT_S = 600
_COMMENTS = {
    "JVM GC time": "Average JVM GC time is very high",
    "spill in shuffle": "since spilling occurred in shuffle stages",
    "shuffle skew": "Shuffle skew exists",
    "file cache": "Enable file cache",
    "adaptive execution": "'spark.sql.adaptive.enabled' should be enabled",
}
_TABLES = {
    "failed_tasks.csv": "failed tasks",
    "failed_stages.csv": "failed stages",
    "failed_jobs.csv": "failed jobs",
    "removed_executors.csv": "removed executors",
    "removed_blockmanagers.csv": "removed block managers",
}


@dataclass
class Said:
    """What an advisor said of a log.

    Attributes
    ----------
    fired : list of Fired
        Rules about the measured job.
    settings_count : int
        Settings recommended for the cluster to move to.
    failed : str
        Why the advisor could not look; empty where it did.
    """

    fired: list[Fired]
    settings_count: int = 0
    failed: str = ""


def one_file(log: Path, folder: Path) -> Path:
    """Give a log as one plain file without an extension, as all advisors can read it."""
    parts = sorted(log.glob("events_*"), key=_part) if log.is_dir() else [log]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / re.sub(r"\.(txt|zstd|gz)$", "", log.name)
    with target.open("wb") as out:
        for part in parts:
            with _plain(part) as text:
                shutil.copyfileobj(text, out)
    return target


def _part(path: Path) -> int:
    found = re.match(r"events_(\d+)_", path.name)
    return int(found[1]) if found else 0


def _plain(path: Path):  # type: ignore[no-untyped-def] # streams of three libraries
    if path.suffix == ".zstd":
        return zstandard.open(path, "rb")
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def spark_advisor(command: Sequence[str], log: Path, kept: Path) -> Said:
    """Run pstysz' spark-advisor, its rules only; what it wrote is kept."""
    if not kept.exists():
        done = _run([*command, "analyze", str(log), "--mode", "static", "--format", "json"])
        if done.returncode:
            return Said([], failed=_last(done.stderr or done.stdout))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(done.stdout)
    return Said(spark_advisor_rules(json.loads(kept.read_text())["rule_results"]))


def spark_advisor_rules(results: Iterable[dict[str, object]]) -> list[Fired]:
    """Read its results: one for each rule, with all stages that it names.

    Examples
    --------
    >>> spark_advisor_rules([{"rule_id": "data_skew", "severity": "WARNING", "stage_id": 3}])
    [Fired(advisor='spark-advisor', rule='data_skew', stages=(3,), hint=False)]
    """
    stages: dict[str, set[int]] = defaultdict(set)
    hints: dict[str, bool] = {}
    for one in results:
        rule = str(one["rule_id"])
        stage = one.get("stage_id")
        stages[rule] |= {stage} if isinstance(stage, int) else set()
        hints[rule] = hints.get(rule, True) and one["severity"] == "INFO"
    return [Fired(SPARK_ADVISOR, rule, tuple(sorted(stages[rule])), hints[rule]) for rule in hints]


def nvidia(jar: Path, spark_home: Path, log: Path, folder: Path, platform: str) -> Said:
    """Run NVIDIA's profiling and qualification tools with AutoTuner; their folders are kept."""
    java = ["java", "-Xmx3g", "-cp", f"{jar}:{spark_home}/jars/*"]
    common = ["--auto-tuner", "--platform", platform, "--num-threads", "1"]
    tool = "com.nvidia.spark.rapids.tool"
    for main, name, more in (
        (f"{tool}.profiling.ProfileMain", "profile", ["--csv"]),
        (f"{tool}.qualification.QualificationMain", "qualify", []),
    ):
        whole = folder / f"{name}.done"
        if whole.exists():
            continue
        shutil.rmtree(folder / name, ignore_errors=True)
        done = _run([*java, main, *common, *more, "-o", str(folder / name), str(log)])
        if done.returncode:
            return Said([], failed=_last(done.stderr))
        whole.touch()
    return nvidia_rules(folder)


def nvidia_rules(folder: Path) -> Said:
    """Read what the two tools wrote: comments, tables of the health check, and settings."""
    logs = [*folder.rglob("profile.log"), *folder.glob("qualify/*/tuning/*.log")]
    profiled = list(folder.glob("profile/*/*/profile.log"))
    if not profiled:
        status = " ".join(path.read_text() for path in folder.rglob("*status.csv"))
        found = re.search(r"\w+Exception: [^,:\"]{0,80}", status)
        return Said([], failed=found[0].strip() if found else "no output")
    text = "\n".join(path.read_text() for path in logs)
    fired = {Fired(NVIDIA, rule) for rule, words in _COMMENTS.items() if _comment(words, text)}
    settings = set(re.findall(r"^--conf (\S+?)=", text, re.M))
    if "spark.sql.files.maxPartitionBytes" in settings:
        fired.add(Fired(NVIDIA, "maxPartitionBytes"))
    for name, rule in _TABLES.items():
        for path in folder.glob(f"profile/*/*/{name}"):
            with path.open() as rows:
                stages = {int(row["stageId"]) for row in csv.DictReader(rows) if "stageId" in row}
            fired.add(Fired(NVIDIA, rule, tuple(sorted(stages))))
    return Said(sorted(fired), len(settings - {"spark.sql.files.maxPartitionBytes"}))


def _comment(words: str, text: str) -> bool:
    return any(words in line for line in text.splitlines() if line.startswith(("- ", "  ")))


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
