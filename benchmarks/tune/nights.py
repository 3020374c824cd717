"""``python -m benchmarks.tune.nights``: CPU time of replaying the journal of a recurring job.

The journal is of a simulated job that drifts a little; runs take no time. CPU seconds are those of
this process, so that neighbours count for nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import Entries, opened_journal, read_journal
from pyrometer.tune.online.policy import Policy
from pyrometer.tune.online.report import online_report
from pyrometer.tune.online.run import VERB, policy_of
from pyrometer.tune.online.terms import OnlineRun, Terms
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.budget import parse_budget
from pyrometer.tune.trials.folder import OnlineTerms, SavedSpace, Tuning, begin
from pyrometer.tune.trials.records import KINDS, Asked, Told
from pyrometer.tune.trials.replay import history_of

PARTITIONS = "spark.sql.shuffle.partitions"
SPACE = Space("partitions", (Knob(PARTITIONS, "int", 1, 400, log=True, default="200"),))
TERMS = Terms()


def main(arguments: list[str] | None = None) -> int:
    """Print CPU seconds a journal of each length."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.nights", description=__doc__)
    parser.add_argument("--runs", default="750,1500,3000", help="lengths of journals")
    parser.add_argument("--repeats", type=int, default=5, help="the least of so many is printed")
    given = parser.parse_args(arguments)
    print("runs  read  replay  report, CPU seconds")
    for count in (int(one) for one in given.runs.split(",")):
        with tempfile.TemporaryDirectory() as place:
            root = Path(place) / "nightly"
            write(root, count)
            entries = read_journal(root, KINDS)
            parts: list[Callable[[], object]] = [
                partial(read_journal, root, KINDS),
                partial(_replayed, entries),
                partial(online_report, root),
            ]
            took = [min(_cpu_s(one) for _ in range(given.repeats)) for one in parts]
        print(f"{count:5} " + " ".join(f"{one:6.3f}" for one in took))
    return 0


def plan() -> Tuning:
    """Plan a recurring job that nothing launches."""
    budget = parse_budget("30")
    terms = OnlineTerms(**{name: getattr(TERMS, name) for name in OnlineTerms.model_fields})
    return Tuning(
        name="nightly", workload="parquet-scan", scale="test", profile="off", iterations=1,
        warmup=0, space=SavedSpace.of(SPACE), budget=budget, reserved=budget.reserve(), seed=7,
        margin=0.02, timeout_s=3600.0, canaries="none", guard={"policy": "flag"}, cpus=4,
        online=terms,
    )  # fmt: skip


def write(root: Path, count: int) -> None:
    """Write a journal of so many runs, each decided by the policy."""
    begin(root, plan())
    rng, policy = random.Random(count), Policy(SPACE, TERMS, seed=7)
    with opened_journal(root, KINDS, VERB) as journal:
        for number in range(1, count + 1):
            move = policy.next()
            partitions = int(move.configuration.get(PARTITIONS, "200"))
            seconds = 10 * math.exp(0.05 * math.log(partitions / 60) ** 2 + rng.gauss(0, 0.03))
            wall_ns = number * 86_400 * 10**9
            asked = Asked(
                trial=number, configuration=dict(move.configuration), fidelity="full", block=0,
                why=f"{move.role}: {move.why}", wall_ns=wall_ns,
            )  # fmt: skip
            ended = Ended(
                trial=number, attempt=1, block=0, treatment="baseline", status="finished",
                folder=f"{number:04d}", seconds=seconds, rows=10, checksum="aa", wall_ns=wall_ns,
            )  # fmt: skip
            told = Told(
                trial=number, value=seconds * 1e9, cost=seconds, seconds=seconds,
                length_s=seconds + 2, wall_ns=wall_ns,
            )  # fmt: skip
            for record in (asked, ended, told):
                journal.append(record)
            policy.tell(OnlineRun(move.configuration, told.value))


def _replayed(entries: Entries) -> object:
    return policy_of(plan(), TERMS, history_of(entries))


def _cpu_s(what: Callable[[], object]) -> float:
    before = time.process_time()
    what()
    return time.process_time() - before


if __name__ == "__main__":
    raise SystemExit(main())
