"""``python -m benchmarks.tune.compare``: engines on all tables of a folder, as one table.

The share of the best-known gain that the incumbent has in truth once the cost of some full runs is
spent; and what our engine has after a few runs: as it starts, where it knows trials of the same job
at a smaller scale, and where it knows an earlier tuning of each other job.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.tune.made import Header, read_header
from benchmarks.tune.race import CHECKPOINTS, Course, replay, summary
from benchmarks.tune.search import at_least_one
from benchmarks.tune.table import Replay, read_table
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.engines import ENGINES
from pyrometer.tune.trials.budget import RESERVED

OURS = "own"
SMALLER = "scale"
"""The stand-in that is the same job on fewer data."""
WARM = 8.0
"""Full runs after which a warm start is compared with a cold one."""
EARLIER = (1 - RESERVED) * CHECKPOINTS[-1]
"""Full runs that an earlier tuning of another job searched for."""
MOST = 40
"""Trials of a smaller scale that are told."""
COLD, BY_SCALE = "own, cold", "own, knows a smaller scale"
BY_OTHERS = "own, knows other jobs"
EVERY = "all tables"

Say = Callable[[str], None]
Asked = tuple[str, str, int, tuple[float, ...], Sequence[Observation]]
"""A replay: table, engine, seed, costs to look at, and what is told before."""


class Replays:
    """Replays of tables, in as many processes as is said; what they give is the same.

    Parameters
    ----------
    processes : int
        1: in this one.
    """

    def __init__(self, tables: Mapping[str, Replay], processes: int = 1) -> None:
        self._tables, self._processes = tables, processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Replays:
        """Start processes, which know the tables."""
        if self._processes > 1:
            self._pool = ProcessPoolExecutor(
                self._processes, initializer=_TABLES.update, initargs=(self._tables,)
            )
        return self

    def __exit__(self, *raised: object) -> None:
        """End them."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def of(self, asked: Sequence[Asked]) -> list[tuple[Course, list[Observation]]]:
        """Replay, and give what was seen, too."""
        if self._pool is not None:
            return list(self._pool.map(_in_process, asked))
        return [_replayed(self._tables[one[0]], one) for one in asked]


_TABLES: dict[str, Replay] = {}


def _in_process(asked: Asked) -> tuple[Course, list[Observation]]:
    return _replayed(_TABLES[asked[0]], asked)


def _replayed(table: Replay, asked: Asked) -> tuple[Course, list[Observation]]:
    _, engine, seed, costs, earlier = asked
    kept: list[Observation] = []
    return replay(table, engine, seed, costs, earlier, kept), kept


@dataclass(frozen=True)
class Row:
    """What an engine has on a table, or in the mean over all.

    Attributes
    ----------
    shares : mapping of float to list
        By cost in full runs: the share of each seed.
    trials, failures : float
        In the mean over seeds.
    """

    table: str
    engine: str
    shares: Mapping[float, list[float]]
    trials: float
    failures: float

    def estimate(self, runs: float) -> Estimate | None:
        """Give the mean over seeds with its interval; ``None`` where it was not looked at."""
        return summary(self.shares[runs]) if runs in self.shares else None


@dataclass(frozen=True)
class Comparison:
    """Rows of all tables, and why some are missing."""

    tables: Mapping[str, Replay]
    headers: Mapping[str, Header | None]
    rows: Sequence[Row]
    missing: Sequence[str]


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.compare", description=__doc__)
    parser.add_argument("folder", type=Path, help="of tables (CSV or Parquet)")
    parser.add_argument("--seeds", type=at_least_one, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all")
    every = len(os.sched_getaffinity(0))
    parser.add_argument("--processes", type=at_least_one, default=every, help="default: all CPUs")
    parser.add_argument("-o", dest="out", type=Path, help="write it as JSON, with every seed")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    try:
        tables, headers = read(given.folder)
        with Replays(tables, given.processes) as replays:
            engines = given.engine or ENGINES
            found = compare(tables, headers, engines, seeds, replays, _progress)
        if given.out:
            given.out.write_text(json.dumps(as_json(found, seeds), indent=1) + "\n")
    except (PyrometerError, OSError) as error:
        print(error.message if isinstance(error, PyrometerError) else error, file=sys.stderr)
        return 2
    print("\n".join(lines(found, len(seeds))))
    return 0


def read(folder: Path) -> tuple[dict[str, Replay], dict[str, Header | None]]:
    """Read all tables of a folder, each with the space that its header has.

    Raises
    ------
    UsageError
        If there is none, or one cannot be read.
    """
    paths = sorted(one for one in folder.glob("*") if one.suffix in (".csv", ".parquet"))
    if not paths:
        raise UsageError(f"{folder} has no table; make one: python -m benchmarks.tune.search")
    headers = {one.stem: read_header(one) for one in paths}
    return {
        one.stem: read_table(one, head.space.read() if (head := headers[one.stem]) else None)
        for one in paths
    }, headers


def compare(
    tables: Mapping[str, Replay],
    headers: Mapping[str, Header | None],
    engines: Sequence[str],
    seeds: Sequence[int],
    replays: Replays,
    say: Say = lambda text: None,
) -> Comparison:
    """Replay every engine on every table with every seed.

    Parameters
    ----------
    say : callable
        Told what comes next.

    Raises
    ------
    UsageError
        If a table says too little: no trial of the baseline has a value.
    """
    rows: list[Row] = []
    missing: list[str] = []
    for name, table in tables.items():
        for engine in engines:
            say(f"{name}: {engine}")
            try:
                courses = [
                    course
                    for course, _ in replays.of(
                        [(name, engine, seed, CHECKPOINTS, ()) for seed in seeds]
                    )
                ]
            except PyrometerError as error:
                # Whether a table answers at all is not a matter of the engine.
                table.best_known()
                missing.append(f"{name}, {engine}: {error.message}")
                continue
            rows.append(_row(name, engine, courses, CHECKPOINTS))
    if OURS in engines:
        rows += _warm(tables, seeds, replays, say)
    return Comparison(tables, headers, [*rows, *_means(rows)], missing)


def lines(found: Comparison, seeds: int) -> Iterator[str]:
    """Write a comparison for people."""
    yield f"share of the best-known gain at equal core-seconds, mean of {seeds} seeds [95 %]"
    for name, table in found.tables.items():
        yield f"{name}: {_about(table, found.headers.get(name))}"
    yield ""
    costs = sorted({cost for one in found.rows for cost in one.shares})
    width = max(len(one.engine) for one in found.rows) if found.rows else 0
    first = max([len(one.table) for one in found.rows], default=0)
    titles = "".join(f"{f'{one:g} runs':>20}" for one in costs)
    yield f"{'table':<{first}}  {'engine':<{width}}{titles}{'trials':>8}{'failed':>8}"
    for one in found.rows:
        cells = "".join(f"{_cell(one.estimate(cost)):>20}" for cost in costs)
        yield (
            f"{one.table:<{first}}  {one.engine:<{width}}{cells}"
            f"{one.trials:>8.1f}{one.failures:>8.1f}"
        )
    yield from (f"left out: {one}" for one in found.missing)


def as_json(found: Comparison, seeds: Sequence[int]) -> dict[str, Any]:
    """Give a comparison as JSON, with the share of every seed."""
    return {
        "schema": "pyrometer/tune-comparison/1",
        "seeds": list(seeds),
        "tables": [
            {
                "name": name,
                "trials": len(table.seen),
                "best_known_change": _gain(table),
                "noise": table.noise,
                "block_noise": table.block_noise,
                "header": None if head is None else head.model_dump(mode="json", by_alias=True),
            }
            for name, table in found.tables.items()
            for head in [found.headers.get(name)]
        ],
        "rows": [
            {
                "table": one.table,
                "engine": one.engine,
                "trials": one.trials,
                "failed": one.failures,
                "shares": [
                    {"runs": cost, "share": summary(each).model_dump(), "by_seed": each}
                    for cost, each in one.shares.items()
                ],
            }
            for one in found.rows
        ],
        "left_out": list(found.missing),
    }


def _warm(
    tables: Mapping[str, Replay], seeds: Sequence[int], replays: Replays, say: Say
) -> Iterator[Row]:
    """Compare our engine after a few runs, told nothing, and told of what resembles the job."""
    works: dict[str, list[list[Observation]]] = {}
    for name in tables if len(tables) > 1 else ():
        say(f"{name}: an earlier tuning")
        kept = replays.of([(name, OURS, seed, (EARLIER,), ()) for seed in seeds])
        works[name] = [
            [one for one in seen if one.fidelity == FULL and _counts(one)] for _, seen in kept
        ]
    for name, table in tables.items():
        say(f"{name}: cold and warm starts")
        smaller = [one for one in table.seen if one.fidelity == SMALLER and _counts(one)][:MOST]
        starts: dict[str, Sequence[Sequence[Observation]]] = {COLD: [()] * len(seeds)}
        if smaller:
            starts[BY_SCALE] = [_work(smaller, SMALLER, 0)] * len(seeds)
        if works:
            starts[BY_OTHERS] = [
                [
                    one
                    for number, other in enumerate(works)
                    if other != name
                    for one in _work(works[other][at], other, number)
                ]
                for at in range(len(seeds))
            ]
        for start, earlier in starts.items():
            asked: list[Asked] = [
                (name, OURS, seed, (WARM,), told) for seed, told in zip(seeds, earlier, strict=True)
            ]
            yield _row(name, start, [course for course, _ in replays.of(asked)], (WARM,))


def _work(trials: Sequence[Observation], name: str, number: int) -> list[Observation]:
    """Make trials one work: a fidelity and a block of their own."""
    return [replace(one, fidelity=name, block=number) for one in trials]


def _counts(one: Observation) -> bool:
    return one.value is not None and one.failed is None and not one.censored


def _row(table: str, engine: str, courses: Sequence[Course], costs: Sequence[float]) -> Row:
    return Row(
        table, engine,
        {cost: [one.shares[at] for one in courses] for at, cost in enumerate(costs)},
        statistics.fmean(one.trials for one in courses),
        statistics.fmean(one.failures for one in courses),
    )  # fmt: skip


def _means(rows: Sequence[Row]) -> Iterator[Row]:
    """Give the mean over tables of each engine: of each seed, so that seeds make the interval."""
    if len({one.table for one in rows}) < 2:
        return
    for engine in dict.fromkeys(one.engine for one in rows):
        mine = [one for one in rows if one.engine == engine]
        shares = {
            cost: [statistics.fmean(each) for each in zip(*(one.shares[cost] for one in mine),
                                                          strict=True)]
            for cost in mine[0].shares
        }  # fmt: skip
        count = len(mine)
        tables = EVERY if count == len({one.table for one in rows}) else f"{count} tables"
        yield Row(
            tables, engine, shares,
            statistics.fmean(one.trials for one in mine),
            statistics.fmean(one.failures for one in mine),
        )  # fmt: skip


def _gain(table: Replay) -> float | None:
    base = table.truth({})
    return None if base is None else table.best_known() / base - 1


def _about(table: Replay, header: Header | None) -> str:
    gain = _gain(table)
    parts = [units.counted(len(table.seen), "trial")]
    parts.append(
        "the baseline fails" if gain is None else f"best known {units.percent(gain, True)}"
    )
    parts.append(f"noise {units.percent(table.noise)}, blocks {units.percent(table.block_noise)}")
    if header is not None:
        where = header.machine.get("cpu_model") or "a machine"
        parts.append(f"{header.machine.get('cpus_count')} CPUs of {where}, {header.began}")
    return "; ".join(parts)


def _cell(one: Estimate | None) -> str:
    if one is None or one.value is None:
        return "–"
    ends = "" if one.low is None else f" [{100 * one.low:.0f}, {100 * (one.high or 0):.0f}]"
    return f"{100 * one.value:.0f} %{ends}"


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
