"""Plant faults, explain the runs, and judge what was found: ``python -m benchmarks.faults``.

Every case runs on every shape of data, ``--blocks`` times with the cause and without it, in random
order within a block; the runs with the cause are explained (one of them for each block), and so
are the healthy ones. What the cause costs is the difference of the elapsed times. Rules must not
be changed after looking at the result: those that are, are measured again on cases written later.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.faults.calibration import calibration
from benchmarks.faults.cases import BOTH, CASES, SHAPES, Case
from benchmarks.faults.judge import Found, Outcome, Verdict, judge
from benchmarks.harness import replace
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.store import Run

APP = Path(__file__).with_name("app.py")
SCHEMA = "pyrometer/faults/1"
ALONE = 0.075
"""Standard deviation of the logarithm of a run's time: that of pairs of identical work here, 0.106,
over the root of two."""


def command(case: Case, shape: str, mode: str, data: Path) -> list[str]:
    """Give the application's command line, with the settings of the case."""
    settings = {**BOTH, **(case.off if mode == "off" else case.on)}
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return [
        "spark-submit", "--master", "local[2]", *conf, str(APP), case.name, shape, mode, str(data),
    ]  # fmt: skip


def once(case: Case, shape: str, mode: str, data: Path, run: Path) -> dict[str, Any]:
    """Run the application once, measured, and explain it."""
    shutil.rmtree(run, ignore_errors=True)
    words = command(case, shape, mode, data)
    pyrometer = [sys.executable, "-m", "pyrometer"]
    done = subprocess.run(
        [*pyrometer, "run", "--no-report", "-o", str(run), "--", *words],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    if done.returncode:
        return {"failed": done.stderr[-1000:]}
    told = subprocess.run(
        [*pyrometer, "explain", str(run), "--json"], capture_output=True, text=True, check=False
    )
    if told.returncode:
        return {"failed": told.stderr[-1000:]}
    found = json.loads(told.stdout)
    return {
        "elapsed_ns": found["baseline"]["elapsed_ns"],
        "main_stage": main_stage(run),
        "noise_ratio": found["noise_ratio"],
        "findings": [
            {
                "code": one["code"], "place": one["place"], "mechanism": one["mechanism"],
                **{k: one["saving_ratio"][k] for k in ("value", "low", "high")},
                "symptoms": [each["code"] for each in one["symptoms"]],
            }
            for one in found["findings"]
            if one["shown"]
        ],
        "broken": [one for one in found["unjudged"] if one["missing"].startswith("the rule broke")],
    }  # fmt: skip


def main() -> None:
    """Run what is missing, and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="cases, with commas")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache/pyrometer/faults")
    parser.add_argument("-o", "--output", type=Path, default=Path("faults.json"))
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    parser.add_argument("--plot", type=Path, help="write predicted against measured, SVG")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    names = set(asked.only.split(",")) if asked.only else {case.name for case in CASES}
    kept = asked.keep or asked.data / "runs"
    rows = read(asked.output)
    order = random.Random(asked.seed)
    for block in range(asked.blocks):
        todo = [
            (case, shape) for case in CASES if case.name in names
            for shape in asked.shapes.split(",")
        ]  # fmt: skip
        order.shuffle(todo)
        for case, shape in todo:
            key = f"{case.name}/{shape}/{block}"
            if key in rows:
                continue
            if block == 0:
                prepare(case, shape, asked.data)
            modes = ["on", "off"]
            order.shuffle(modes)
            rows[key] = {
                mode: once(case, shape, mode, asked.data, kept / key.replace("/", "-") / mode)
                for mode in modes
            }
            replace(asked.output, {"schema": SCHEMA, "rows": rows})
            print(key, line(case, rows[key]), flush=True)
    verdict = judge(outcomes(rows, CASES))
    print(table(verdict))
    if asked.plot:
        asked.plot.write_text(calibration(verdict.points))


def prepare(case: Case, shape: str, data: Path) -> None:
    """Generate what a case reads, so that no measured run does."""
    subprocess.run(
        [*command(case, shape, "data", data)], capture_output=True, check=False, timeout=900
    )


def read(path: Path) -> dict[str, Any]:
    """Read the rows of an interrupted benchmark."""
    return dict(json.loads(path.read_text())["rows"]) if path.exists() else {}


def line(case: Case, row: dict[str, Any]) -> str:
    """Say what one pair of runs showed."""
    if any("failed" in one for one in row.values()):
        return "failed: " + " ".join(one.get("failed", "") for one in row.values())[-300:]
    on, off = row["on"]["elapsed_ns"], row["off"]["elapsed_ns"]
    found = ", ".join(f"{f['code']} {f['value']:.0%}" for f in row["on"]["findings"]) or "nothing"
    healthy = ", ".join(f"{f['code']} {f['value']:.0%}" for f in row["off"]["findings"])
    return (
        f"{units.duration(on)} with, {units.duration(off)} without ({1 - off / on:.0%}):"
        f" {found}; healthy: {healthy or 'nothing'}"
    )


def main_stage(run: Path) -> int | None:
    """Give the stage with the most task time: counted here, not by a rule."""
    with Run.open(run) as opened:
        rows = opened.tables.records(
            "SELECT stage_id FROM tasks GROUP BY stage_id"
            " ORDER BY sum(finish_wall_ns - launch_wall_ns) DESC LIMIT 1"
        )
    return int(rows[0]["stage_id"]) if rows else None


def outcomes(rows: dict[str, Any], cases: Sequence[Case]) -> list[Outcome]:
    """Give the judged runs: what the cause cost is the mean over blocks, with its 90 % interval."""
    whole = {
        key: row for key, row in rows.items() if not any("failed" in one for one in row.values())
    }
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for key, row in whole.items():
        by_pair.setdefault(key.rsplit("/", 1)[0], []).append(row)
    saved = {pair: saving(found) for pair, found in by_pair.items()}
    known = {case.name: case for case in cases}
    found = []
    for key, row in whole.items():
        pair = key.rsplit("/", 1)[0]
        case, (ratio, spread) = known[pair.split("/")[0]], saved[pair]
        found.append(
            Outcome(key, case.codes, _found(row["on"]), ratio, spread, case.places,
                    row["on"]["main_stage"])
        )  # fmt: skip
        found.append(Outcome(key, (), _found(row["off"])))
    return found


def saving(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Give what removing the cause saved, of the elapsed time with it, and half its 90 % interval.

    Of the difference of the mean logarithms, with the spread of all runs of the pair; with one
    block, `ALONE` for each run.
    """
    on = np.log([row["on"]["elapsed_ns"] for row in rows])
    off = np.log([row["off"]["elapsed_ns"] for row in rows])
    blocks = len(rows)
    difference = float(on.mean() - off.mean())
    if blocks > 1:
        sd = float(np.sqrt((on.var(ddof=1) + off.var(ddof=1)) / 2))
        half = float(stdtrit(2 * blocks - 2, 0.95)) * sd * np.sqrt(2 / blocks)
    else:
        half = 1.645 * ALONE * np.sqrt(2)
    ratio = 1 - np.exp(-difference)
    return float(ratio), float((np.exp(-difference + half) - np.exp(-difference - half)) / 2)


def _found(run: dict[str, Any]) -> list[Found]:
    return [
        Found(one["code"], one["value"], one["low"], one["high"], one["place"])
        for one in run["findings"]
    ]


def table(found: Verdict) -> str:
    """Print the verdict on the rules."""

    def words(name: str, one: Estimate) -> str:
        if one.value is None:
            return f"{name:36} –"
        return f"{name:36} {one.value:6.1%}  [{one.low:.1%}, {one.high:.1%}]  n = {one.n}"

    error = "–" if found.median_error is None else f"{found.median_error:6.1%}"
    lines = [
        words("recall", found.recall),
        words("precision", found.precision),
        words("right place", found.places),
        words("healthy runs with a finding", found.healthy_with_findings),
        words("90 % interval holds the saving", found.coverage),
        f"{'median error of the saving':36} {error}  n = {len(found.points)}",
        "found of planted: "
        + ", ".join(f"{case} {k}/{n}" for case, (k, n) in sorted(found.by_case.items())),
    ]
    lines += [f"not planted: {name} {code} {ratio:.1%}" for name, code, ratio in found.wrong]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
