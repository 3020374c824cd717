"""``kills``: what is lost when something is killed under a job, and whether the job is harmed.

In the random order of a seed: the agent beside an executor, an executor, the driver, a host, and
the store that agents ship to, which goes away for a minute.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cluster.hosts import Host

from benchmarks.cluster import figures, results
from benchmarks.cluster.beds import Beds, Cluster, Job, Submission
from pyrometer.core.errors import CapabilityError
from pyrometer.store import Run

KINDS = ("agent", "executor", "driver", "host", "store")
AWAY = "store-away"
AGENT = r"pyro-agent ship"
EXECUTOR = r"CoarseGrainedExecutorBackend"
EXECUTORS = ("retries.executor-lost", "retries.fetch-failed", "retries.failed-tasks")
SILENCE_NS = 2 * 10**9
"""The recorder reads each thread every second: a longer pause is time without samples."""
BEFORE_NS = 15 * 10**9
"""What was recorded so long before a kill may be lost by it: chunks are shipped every 5 s."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--spark", default="4")
    parser.add_argument("--seconds", type=float, default=15.0, help="that a job computes")
    parser.add_argument("--away", type=float, default=60.0, help="seconds without the store")


def cases(asked: argparse.Namespace) -> Iterator[results.Case]:
    """Give the cases: each kind as often as the others, in random order."""
    draw = random.Random(asked.seed)
    kinds = asked.kinds.split(",")
    drawn = [kinds[number % len(kinds)] for number in range(asked.count)]
    draw.shuffle(drawn)
    for number, kind in enumerate(drawn):
        worker, after_s = draw.randrange(2), round(draw.uniform(1.0, 5.0), 1)
        yield {
            "kill": kind, "seed": asked.seed, "number": number, "worker": worker,
            "after_s": after_s, "spark": asked.spark,
        }  # fmt: skip


def measure(asked: argparse.Namespace, beds: Beds) -> list[results.Row]:
    """Kill, wait for the end of the job, and read the run."""

    def one(case: results.Case) -> results.Row:
        cluster = beds.get("standalone", case["spark"])
        try:
            return killed(cluster, case, asked)
        finally:
            if case["kill"] == "host":
                beds.discard()

    return results.measure(asked.output, cases(asked), one, asked.again)


def killed(cluster: Cluster, case: results.Case, asked: argparse.Namespace) -> dict[str, Any]:
    """Run a job and kill something under it."""
    run, store = cluster.folder / "run", cluster.folder / "store"
    store.mkdir()
    kind, host = case["kill"], cluster.workers[case["worker"]]
    seconds = asked.seconds + (asked.away if kind == "store" else 0.0)
    words = ["burn", str(seconds), "8", "200000"]
    env = {"PYROMETER_SHIP_TO": str(store)}
    job = Job(cluster, Submission(words, run, env=env, memory=asked.memory))
    try:
        job.until("BEGUN", asked.patience)
        time.sleep(case["after_s"])
        at_ns = time.monotonic_ns()
        strike(kind, job, host, store, asked.away)
        code = job.wait(asked.patience)
        told = {
            "exit_code": code,
            "result": result(job.said),
            "killed_host": host.name,
            "job_s": (time.monotonic_ns() - at_ns) / 1e9,
        }
        return {**told, **read(run, kind, host.name, at_ns)}
    finally:
        job.end(asked.keep and asked.keep / f"kill-{case['number']}-{kind}")
        for folder in (store, store.with_name(AWAY)):
            shutil.rmtree(folder, ignore_errors=True)


def strike(kind: str, job: Job, host: Host, store: Path, away_s: float) -> None:
    """Kill what is to be killed.

    Raises
    ------
    CapabilityError
        If it is not there.
    """
    if kind == "driver":
        os.kill(job.driver(), signal.SIGKILL)
    elif kind == "host":
        host.kill_all()
    elif kind == "store":
        hidden = store.with_name(AWAY)
        store.rename(hidden)
        time.sleep(away_s)
        hidden.rename(store)
    elif not host.kill({"agent": AGENT, "executor": EXECUTOR}[kind]):
        raise CapabilityError(f"there is no {kind} on {host.name}")


def result(said: str) -> list[Any] | None:
    """Find what the job computed; ``None`` where it did not come to it.

    Examples
    --------
    >>> result('x' + chr(10) + 'DONE [3, 17]' + chr(10)), result("x")
    ([3, 17], None)
    """
    line = next((one for one in said.splitlines() if one.startswith("DONE ")), None)
    return None if line is None else list(json.loads(line.removeprefix("DONE ")))


def read(run: Path, kind: str, host: str, at_ns: int) -> dict[str, Any]:
    """Say what a run lost by a kill, and what it says of that."""
    shown = figures.said(run, "show")
    explained = figures.said(run, "explain")
    with Run.open(run) as opened:
        tasks = opened.tables.record(
            "SELECT count(*) AS succeeded, count(*) FILTER (NOT EXISTS (SELECT 1 FROM spans s WHERE"
            " s.task_attempt_id = t.task_attempt_id)) AS lost FROM tasks t WHERE status = 'success'"
        )
        lives = lost(opened, kind, host, at_ns)
        unrecorded = opened.tables.query(
            "SELECT DISTINCT executor_id FROM tasks WHERE executor_id NOT IN"
            " (SELECT executor_id FROM processes WHERE executor_id IS NOT NULL)"
        )
    doubts = {one["code"]: one["message"][:600] for one in shown["doubts"]}
    findings = sorted({one["code"] for one in explained["findings"]} & set(EXECUTORS))
    return {
        "tasks": tasks,
        "executors": lives,
        "unrecorded": [executor for (executor,) in unrecorded],
        "doubts": doubts,
        "findings": findings,
        "removed": sum(
            one["removed_count"] or 0 for app in shown["apps"] for one in app["executors"]
        ),
        "failure": shown["failure"],
        "state": shown["run"]["state"],
        "not_observed": [
            row["path"]
            for one in shown["ledger"]["hosts"]
            for row in one["core_view"]["rows"]
            if row["path"] in ("no_probe", "not_observed")
        ],
    }


def lost(opened: Run, kind: str, host: str, at_ns: int) -> list[dict[str, Any]]:
    """Say for how long each executor lived on without samples of it, by the driver's clock."""
    lives = opened.tables.query(
        "SELECT host, pid, executor_id, start_mono_ns, end_mono_ns FROM processes"
        " WHERE role = 'executor'"
    )
    over = opened.tables.scalar("SELECT max(end_mono_ns) FROM processes WHERE role = 'driver'")
    last = opened.tables.scalar("SELECT max(t_mono_ns) FROM thread_counters")
    found = []
    for name, pid, executor, start, end in lives:
        times = [
            int(time_ns)
            for (time_ns,) in opened.tables.query(
                "SELECT DISTINCT t_mono_ns FROM thread_counters"
                f" WHERE host = '{name}' AND pid = {pid} ORDER BY 1"
            )
        ]
        struck = name == host and kind in ("executor", "host") and start < at_ns
        until = at_ns if struck else end or over or last or at_ns
        found.append(
            {
                "executor": executor,
                "host": name,
                "struck": name == host and kind in ("agent", "executor", "host"),
                "ended_told": end is not None,
                "lost_s": unseen_ns(times, max(start, at_ns - BEFORE_NS), until) / 1e9,
            }
        )
    return found


def unseen_ns(times: list[int], since: int, until: int) -> int:
    """Add up pauses longer than a silence is allowed to be.

    Examples
    --------
    >>> second = 10**9
    >>> unseen_ns([0, second, 5 * second], 0, 6 * second) // second
    4
    >>> unseen_ns([], 0, 6 * second) // second
    6
    """
    inside = [since, *(one for one in times if since < one < until), until]
    pauses = (after - before for before, after in itertools.pairwise(inside))
    return sum(pause for pause in pauses if pause > SILENCE_NS)


def named(found: Mapping[str, Any], kind: str) -> list[str]:
    """Give what of a report says what was killed: codes of doubts that name the host, and the rest.

    Examples
    --------
    >>> named({"doubts": {"chunks_open": "streams of b-2", "other": "b-3"}, "findings": [],
    ...     "removed": 0, "failure": None, "killed_host": "b-2"}, "agent")
    ['chunks_open']
    """
    host = found["killed_host"]
    codes = [code for code, text in found["doubts"].items() if host in text]
    if kind in ("executor", "host"):
        codes += found["findings"]
    if kind == "driver" and (found["failure"] or found["doubts"].get("run_failed")):
        codes.append("failure")
    return codes


def _harm(found: dict[str, Any]) -> str:
    return f"exit code {found['exit_code']}, {'result' if found['result'] else 'no result'}"


COLUMNS = {
    "job": _harm,
    "tasks lost of succeeded": lambda f: f"{f['tasks']['lost']} of {f['tasks']['succeeded']}",
    "seconds without samples, by executor": lambda f: ", ".join(
        [
            *(
                f"{one['executor']}{'†' if one['struck'] else ''}: {one['lost_s']:.1f}"
                for one in f["executors"]
            ),
            *(f"{executor}: nothing recorded" for executor in f["unrecorded"]),
        ]
    ),
    "names it by": lambda f: ", ".join(named(f, f["case"]["kill"])) or "nothing",
    "says": lambda f: ", ".join([*f["findings"], *sorted(f["doubts"])]),
}
