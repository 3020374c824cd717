r"""Our findings beside two public advisors' rules: ``python -m benchmarks.advisors``.

Both advisors are run, not imitated. spark-advisor needs Python 3.12 and an environment of its own;
the jar of NVIDIA's tools lies in the wheel of ``spark-rapids-user-tools``, and needs the jars of
Spark 3.5::

    python3.12 -m venv advisors && advisors/bin/pip install spark-advisor-cli==0.1.21
    pip download --no-deps spark-rapids-user-tools==26.8.4
    unzip -j spark_rapids_user_tools-*.whl '*/rapids-4-spark-tools_2.12-*.jar'
    python -m benchmarks.advisors --spark-advisor advisors/bin/spark-advisor \
        --rapids-jar rapids-4-spark-tools_2.12-26.08.4.jar --spark-home SPARK_3_5_HOME

Logs are those of ``$PYROMETER_CORPUS/eventlogs``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.advisors.causes import NVIDIA, OURS, SPARK_ADVISOR
from benchmarks.advisors.compare import Row, findings_of, totals
from benchmarks.advisors.limits import limit
from benchmarks.advisors.run import Said, nvidia, one_file, spark_advisor
from benchmarks.advisors.table import by_cause, by_log
from pyrometer.accounts.window import open_scope
from pyrometer.explain.facts import Facts
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

SCHEMA = "pyrometer/advisors/1"


def explained(log: Path, folder: Path) -> dict[str, Any]:
    """Import a log, and explain it."""
    pyrometer = [sys.executable, "-m", "pyrometer"]
    if not folder.exists():
        subprocess.run([*pyrometer, "ingest", str(log), "-o", str(folder)], check=True,
                       capture_output=True)  # fmt: skip
    done = subprocess.run(
        [*pyrometer, "explain", str(folder), "--json", "--all"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row_of(log: Path, folder: Path, said: dict[str, Said]) -> Row:
    """Give one log's row."""
    report = explained(log, folder)
    with Run.open(folder) as run:
        tasks = run.tables.records("SELECT count(*) AS n FROM tasks")[0]["n"]
        row = Row(log.name, int(tasks), float(report["baseline"]["elapsed_ns"] or 0))
        row.noise_ratio = float(report["noise_ratio"])
        row.findings = findings_of(report)
        row.notes = [one["code"] for one in report["notes"]]
        if report["baseline"]["simulated_ns"] is None:
            row.failed[OURS] = "no stage with its tasks: nothing can be said"
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope), None)
        for advisor, one in said.items():
            row.fired += one.fired
            if one.failed:
                row.failed[advisor] = one.failed
        row.settings_count = said[NVIDIA].settings_count
        row.limits = {one: limit(facts, one) for one in row.fired}
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spark-advisor", default="spark-advisor", help="its command")
    parser.add_argument("--rapids-jar", type=Path, required=True)
    parser.add_argument("--spark-home", type=Path, required=True, help="of Spark 3.5")
    parser.add_argument("--scratch", type=Path, default=Path("build/advisors"))
    parser.add_argument("--only", help="part of the logs' names")
    parser.add_argument("-o", "--output", type=Path, help="write all as JSON")
    asked = parser.parse_args(arguments)
    corpus = Path(os.environ["PYROMETER_CORPUS"]) / "eventlogs"
    logs = [one for one in sorted(corpus.glob("*/*")) if (asked.only or "") in one.name]
    rows = []
    for log in logs:
        name = f"{log.parent.name}-{log.name}"
        plain = one_file(log, asked.scratch / "logs" / name)
        platform = "databricks-aws" if "photon" in log.name else "onprem"
        said = {
            SPARK_ADVISOR: spark_advisor([asked.spark_advisor], plain,
                                         asked.scratch / "spark-advisor" / f"{name}.json"),
            NVIDIA: nvidia(asked.rapids_jar, asked.spark_home, plain,
                           asked.scratch / "nvidia" / name, platform),
        }  # fmt: skip
        rows.append(row_of(log, asked.scratch / "tables" / name, said))
        print(name, file=sys.stderr, flush=True)
    print(by_log(rows), "", by_cause(totals(rows)), sep="\n")
    print(f"\nlogs: {len(rows)}; settings for GPUs: {[one.settings_count for one in rows]}")
    if asked.output:
        harness.replace(asked.output, {"schema": SCHEMA, "rows": [_json(one) for one in rows]})
    return 0


def _json(row: Row) -> dict[str, Any]:
    fired = [{**asdict(one), "cause": one.cause, "ns": row.limits[one]} for one in row.fired]
    return {**asdict(replace(row, limits={})), "fired": fired}


if __name__ == "__main__":
    sys.exit(main())
