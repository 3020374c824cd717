"""``python -m benchmarks.tune``: engines on a table of trials, or on an invented surface."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.tune.race import CHECKPOINTS, confirmation, replay, summary
from benchmarks.tune.response import Response
from benchmarks.tune.surfaces import surfaces
from benchmarks.tune.table import read_table
from pyrometer.core.errors import PyrometerError
from pyrometer.core.estimate import Estimate
from pyrometer.tune.advise.adviser import Observation
from pyrometer.tune.advise.engines import ENGINES

CONFIRMING = 5
"""Blocks of a confirmation."""


def main(arguments: list[str] | None = None) -> int:
    """Print shares of the best-known gain, or false victories."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", type=Path, help="trials as CSV or Parquet")
    what.add_argument("--surface", choices=sorted(surfaces()), help="an invented job")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--victories", action="store_true", help="how often the confirmation confirms a gain"
    )
    parser.add_argument(
        "--runs", type=_runs, default=CHECKPOINTS, help="costs to look at, in full runs: 5,10,25"
    )
    parser.add_argument(
        "--earlier", type=Path, help="trials of a similar job, told before the first is asked for"
    )
    parser.add_argument("-o", dest="out", type=Path, help="write every replay as JSON")
    given = parser.parse_args(arguments)
    try:
        response: Response = read_table(given.table) if given.table else surfaces()[given.surface]
        known = read_table(given.earlier, response.space).seen if given.earlier else ()
        return _run(response, given, known)
    except PyrometerError as error:
        print(error.message, file=sys.stderr)
        return 2


def _runs(text: str) -> tuple[float, ...]:
    """Read costs, growing."""
    found = tuple(sorted(float(one) for one in text.split(",")))
    if not found or found[0] <= 0:
        raise ValueError("costs are above 0")
    return found


def _run(response: Response, given: argparse.Namespace, earlier: Sequence[Observation]) -> int:
    budgets = "".join(f"{f'{one:g} runs':>24}" for one in given.runs)
    print(f"{response.name}: share of the best-known gain, at equal core-seconds")
    print(f"{'engine':<12}{budgets}{'trials':>8}{'failed':>8}")
    kept = []
    for name in given.engine or ENGINES:
        courses = []
        try:
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                courses.append(replay(response, name, seed, given.runs, earlier))
        except PyrometerError as error:
            print(f"{name:<12}left out: {error.message}")
            continue
        kept += courses
        cells = "".join(
            f"{_shown(summary([one.shares[at] for one in courses])):>24}"
            for at in range(len(given.runs))
        )
        trials = sum(one.trials for one in courses) / len(courses)
        failures = sum(one.failures for one in courses) / len(courses)
        print(f"{name:<12}{cells}{trials:>8.1f}{failures:>8.1f}", flush=True)
        if given.victories:
            verdicts = [
                confirmation(
                    response, one.best, CONFIRMING, np.random.default_rng([one.seed, 77])
                ).outcome
                for one in courses
                if one.best
            ]
            counts = {one: verdicts.count(one) for one in sorted(set(verdicts))}
            print(f"{'':<12}{counts}, {len(courses) - len(verdicts)} kept the baseline")
    if given.out:
        given.out.write_text(json.dumps([one.__dict__ for one in kept], indent=1))
    return 0


def _shown(one: Estimate) -> str:
    if one.value is None:
        return "–"
    ends = "" if one.low is None else f" [{100 * one.low:.0f}, {100 * (one.high or 0):.0f}]"
    return f"{100 * one.value:.0f} %{ends}"


if __name__ == "__main__":
    sys.exit(main())
