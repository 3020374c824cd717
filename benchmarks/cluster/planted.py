"""``planted``: a host whose CPU, network or disk is slow, and whether that is named.

Where the job is healthy, nothing may be named. Which host is drawn by a seed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.hosts import Host

from benchmarks.cluster import figures, results
from benchmarks.cluster.beds import Beds, Cluster, Job, Submission
from pyrometer.core.errors import CapabilityError

CAUSES = ("cpu", "network", "disk")
CODES = {
    "cpu": {"straggler.host", "throttled.quota"},
    "network": {"network.saturated", "network.slow", "shuffle.fetch-wait"},
    "disk": {"disk.slow"},
}
"""Findings that are right answers, where their place is the planted host."""
ROWS = {
    "cpu": ("task/run_queue",),
    "network": ("task/waiting/shuffle_fetch", "task/waiting/network"),
    "disk": ("task/waiting/block_io",),
}
"""Rows of the slot view that hold what the cause costs."""
TIMES, LEAST = 2.0, 0.1
"""A row names a host where its share there is so many times the other's, and at least so much."""
CPUS, BITS_PER_S, BYTES_PER_S = 0.25, 8_000_000, 4 << 20
FILES, FILE_BYTES = 8, 4 << 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--count", type=int, default=20, help="planted causes")
    parser.add_argument("--healthy", type=int, default=6, help="jobs without one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", default="4")
    parser.add_argument("--seconds", type=float, default=25.0, help="that a job computes")


def cases(asked: argparse.Namespace) -> Iterator[results.Case]:
    """Give the cases in random order."""
    draw = random.Random(asked.seed)
    drawn = [(CAUSES[number % 3], True) for number in range(asked.count)]
    drawn += [(CAUSES[number % 3], False) for number in range(asked.healthy)]
    draw.shuffle(drawn)
    for number, (cause, slow) in enumerate(drawn):
        yield {
            "job": cause, "slow": slow, "seed": asked.seed, "number": number,
            "worker": draw.randrange(2), "spark": asked.spark,
        }  # fmt: skip


def measure(asked: argparse.Namespace, beds: Beds) -> list[results.Row]:
    """Plant, run the job, and ask."""

    def one(case: results.Case) -> results.Row:
        cluster = beds.get("standalone", case["spark"])
        return planted(cluster, case, asked)

    return results.measure(asked.output, cases(asked), one, asked.again)


def planted(cluster: Cluster, case: results.Case, asked: argparse.Namespace) -> dict[str, Any]:
    """Run a job with a cause, and read what is said of it."""
    run, host = cluster.folder / "run", cluster.workers[case["worker"]]
    words = {
        "cpu": ["burn", str(asked.seconds), "8", "200000"],
        "network": ["shuffle", str(asked.seconds), "300000"],
        "disk": ["read", str(asked.seconds), str(files(cluster.folder / "read"))],
    }[case["job"]]
    with slowed(case["job"] if case["slow"] else None, host):
        job = Job(cluster, Submission(words, run, memory=asked.memory))
        try:
            if code := job.wait(asked.patience):
                raise CapabilityError(f"exit code {code}: {job.said[-1500:]}")
            return {"host": host.name, "address": host.address, **read(run)}
        finally:
            job.end(asked.keep and asked.keep / f"planted-{case['number']}-{case['job']}")


def files(folder: Path) -> Path:
    """Make files of text, if they are not there."""
    if not folder.exists():
        folder.mkdir()
        line = b"0123456789abcdef" * 64 + b"\n"
        for number in range(FILES):
            (folder / f"{number}.txt").write_bytes(line * (FILE_BYTES // len(line)))
    return folder


@contextmanager
def slowed(cause: str | None, host: Host) -> Iterator[None]:
    """Have a host slow while the block lasts."""
    whole = host.bed.hosts[host.number - 1].cpus
    if cause == "cpu":
        host.limit_cpus(CPUS)
    elif cause == "network":
        host.limit_network(BITS_PER_S)
    elif cause == "disk":
        host.limit_disk(BYTES_PER_S)
    try:
        yield
    finally:
        if cause == "cpu":
            host.limit_cpus(whole)
        elif cause == "network":
            host.free_network()
        elif cause == "disk":
            host.limit_disk(1 << 40)


def read(run: Path) -> dict[str, Any]:
    """Give the findings that are shown, and the rows of each host."""
    explained, ledger = figures.said(run, "explain"), figures.said(run, "ledger")
    return {
        "findings": [
            {
                "code": one["code"], "host": one["place"]["host"], "shown": one["shown"],
                "ratio": one["saving_ratio"],
            }
            for one in explained["findings"]
        ],
        "slots": {
            one["host"]: {row["path"]: row["share"] for row in one["slot_view"]["rows"]}
            for one in ledger["hosts"]
            if one["slot_view"]["total_ns"]
        },
    }  # fmt: skip


def by_explain(found: Mapping[str, Any], cause: str) -> set[str]:
    """Give the hosts that shown findings of a cause name.

    Examples
    --------
    >>> by_explain({"findings": [{"code": "disk.slow", "host": "b-2", "shown": True}]}, "disk")
    {'b-2'}
    """
    return {
        one["host"]
        for one in found["findings"]
        if one["shown"] and one["host"] and one["code"] in CODES[cause]
    }


def by_ledger(found: Mapping[str, Any], cause: str) -> set[str]:
    """Give the hosts on which the rows of a cause hold much more than on all others.

    Examples
    --------
    >>> slots = {"b-2": {"task/run_queue": 0.5}, "b-3": {"task/run_queue": 0.1}}
    >>> by_ledger({"slots": slots}, "cpu")
    {'b-2'}
    """
    shares = {
        host: sum(rows.get(path) or 0.0 for path in ROWS[cause])
        for host, rows in found["slots"].items()
    }
    return {
        host
        for host, share in shares.items()
        if share >= LEAST
        and all(share >= TIMES * other for one, other in shares.items() if one != host)
    }


def verdict(found: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, str]:
    """Judge both: ``right``, ``wrong`` or ``silent``, which is right of a healthy job."""
    own = {found["host"], found["address"]}
    judged = {}
    for name, said in (("explain", by_explain), ("ledger", by_ledger)):
        hosts = said(found, case["job"])
        judged[name] = (
            "silent" if not hosts else "right" if case["slow"] and hosts <= own else "wrong"
        )
    return judged


def summary(rows: list[results.Row]) -> str:
    """Count verdicts."""
    lines = []
    for slow in (True, False):
        judged = [
            verdict(row["found"], row["case"])
            for row in rows
            if row["found"] and row["case"]["slow"] == slow
        ]
        for name in ("explain", "ledger"):
            counts = Counter(one[name] for one in judged)
            told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
            lines.append(f"{'slow' if slow else 'healthy'}, {name}: {told} of {len(judged)}")
        either = sum("right" in one.values() and "wrong" not in one.values() for one in judged)
        if slow:
            lines.append(f"slow, named by one and by none wrongly: {either} of {len(judged)}")
    return "\n".join(lines)


COLUMNS = {
    "planted on": lambda f: f["host"] if f["case"]["slow"] else "none",
    "verdict": lambda f: "explain {explain}, ledger {ledger}".format(**verdict(f, f["case"])),
    "explain": lambda f: ", ".join(
        f"{one['code']} ({one['host']})" for one in f["findings"] if one["shown"]
    ),
    "ledger": lambda f: "; ".join(
        f"{host}: "
        + ", ".join(
            f"{path.removeprefix('task/')} {share * 100:.0f} %"
            for path in sorted({path for rows in ROWS.values() for path in rows})
            if (share := rows_of.get(path)) and share >= 0.01
        )
        for host, rows_of in f["slots"].items()
    ),
}
