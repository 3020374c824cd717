"""Explain kept runs, and judge what was found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.faults.cases import Case
from benchmarks.faults.judge import Found, Outcome, Verdict
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.store import Run

ALONE = 0.075
"""Standard deviation of the logarithm of a run's time: that of pairs of identical work here, 0.106,
over the root of two."""


def explain(run: Path) -> dict[str, Any]:
    """Explain a run with the rules of now."""
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", "explain", str(run), "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return {"failed": done.stderr[-1000:]}
    found = json.loads(done.stdout)
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
        "notes": [one["code"] for one in found["notes"]],
        "broken": [one for one in found["unjudged"] if one["missing"].startswith("the rule broke")],
    }  # fmt: skip


def main_stage(run: Path) -> int | None:
    """Give the stage with the most task time: counted here, not by a rule."""
    with Run.open(run) as opened:
        rows = opened.tables.records(
            "SELECT stage_id FROM tasks GROUP BY stage_id"
            " ORDER BY sum(finish_wall_ns - launch_wall_ns) DESC LIMIT 1"
        )
    return int(rows[0]["stage_id"]) if rows else None


def explained(recorded: dict[Path, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Explain all runs that were recorded, on all CPUs at once."""
    runs = [
        (row["key"], mode, folder / mode)
        for folder, row in recorded.items() if not row["failed"] for mode in ("on", "off")
    ]  # fmt: skip
    rows: dict[str, dict[str, Any]] = {
        row["key"]: {"failed": row["failed"]} for row in recorded.values() if row["failed"]
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (key, mode, _), found in zip(
            runs, pool.map(explain, [run for *_, run in runs]), strict=True
        ):
            rows.setdefault(key, {})[mode] = found
            if "failed" in found:
                rows[key]["failed"] = found["failed"]
    return rows


def line(row: dict[str, Any]) -> str:
    """Say what one pair of runs showed."""
    if row.get("failed"):
        return f"failed: {row['failed'][-300:]}"
    on, off = row["on"]["elapsed_ns"], row["off"]["elapsed_ns"]
    return (
        f"{units.duration(on)} with, {units.duration(off)} without ({1 - off / on:.0%}):"
        f" {_said(row['on'])}; healthy: {_said(row['off'])}"
    )


def _said(run: dict[str, Any]) -> str:
    findings = [f"{one['code']} {one['value']:.0%}" for one in run["findings"]]
    return ", ".join([*findings, *(f"{code} (note)" for code in run.get("notes", ()))]) or "nothing"


def outcomes(rows: dict[str, Any], cases: Sequence[Case]) -> list[Outcome]:
    """Give the judged runs: what the cause cost is the mean over blocks, with its 90 % interval."""
    whole = {key: row for key, row in rows.items() if not row.get("failed")}
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for key, row in whole.items():
        by_pair.setdefault(key.rsplit("/", 1)[0], []).append(row)
    saved = {pair: saving(found) for pair, found in by_pair.items()}
    known = {case.name: case for case in cases}
    found = []
    for key, row in whole.items():
        pair = key.rsplit("/", 1)[0]
        name, shape = pair.split("/")
        case, (ratio, spread) = known[name].of(shape), saved[pair]
        found.append(
            Outcome(key, case.codes, _found(row["on"]), ratio, spread, case.places,
                    row["on"]["main_stage"], case.also)
        )  # fmt: skip
        found.append(Outcome(key, (), _found(row["off"]), also=case.also))
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
