"""``table``: one workload under each manager and Spark, and what the account of it is worth."""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.__main__ import ENVIRONMENTS

from benchmarks.cluster import figures, results
from benchmarks.cluster.beds import LOCAL, Beds, Cluster, Job, Submission, shown_command
from benchmarks.cluster.figures import percent, ratio
from pyrometer.core.errors import CapabilityError, PyrometerError
from pyrometer.workloads.data import queries, tpch

MODES = {"yarn": ("client", "cluster"), "kubernetes": ("client", "cluster")}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--scale", type=float, default=0.01, help="scale factor of TPC-H")
    parser.add_argument("--queries", default="", help="names such as q01,q06; else all 22")
    parser.add_argument("--managers", default=f"{LOCAL},standalone,yarn,kubernetes")
    parser.add_argument("--sparks", default=",".join(ENVIRONMENTS))
    parser.add_argument("--modes", default="client,cluster")


def cases(asked: argparse.Namespace) -> Iterator[results.Case]:
    """Give the cases, those of one bed together."""
    wanted = itertools.product(asked.managers.split(","), asked.sparks.split(","))
    for manager, spark in wanted:
        for mode in MODES.get(manager, ("client",)):
            if mode in asked.modes.split(","):
                more = {"queries": asked.queries} if asked.queries else {}
                yield {
                    "manager": manager, "mode": mode, "spark": spark, "scale": asked.scale, **more,
                }  # fmt: skip


def data(scale: float, cache: Path) -> Path:
    """Make the tables once, with the queries beside them."""
    folder = cache / f"tpch-{scale:g}"
    if (folder / "queries.json").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tpch.write_tables(folder, lambda *_: None, round(scale * 1000), "snappy")
    texts = {name: queries.to_spark(text) for name, text in queries.texts("tpch").items()}
    (folder / "queries.json").write_text(json.dumps(texts), "utf-8")
    return folder


def measure(asked: argparse.Namespace, beds: Beds) -> list[results.Row]:
    """Run each case and account for it."""
    source = data(asked.scale, asked.output.parent)

    def one(case: results.Case) -> results.Row:
        cluster = beds.get(case["manager"], case["spark"])
        place = cluster.folder / "tpch"
        if not place.exists():
            shutil.copytree(source, place)
        words = ["tpch", str(place), *([asked.queries] if asked.queries else [])]
        return account(cluster, words, case["mode"], asked)

    return results.measure(asked.output, cases(asked), one, asked.again)


def account(
    cluster: Cluster, words: list[str], mode: str, asked: argparse.Namespace
) -> dict[str, Any]:
    """Run a job to its end and account for it.

    Raises
    ------
    CapabilityError
        If it fails.
    """
    run = cluster.folder / f"run-{mode}"
    job = Job(cluster, Submission(words, run, mode, memory=asked.memory))
    try:
        code = job.wait(asked.patience)
        if code:
            raise CapabilityError(f"exit code {code}: {job.said[-1500:]}")
        try:
            found = figures.of_run(run)
        except PyrometerError as error:
            raise CapabilityError(f"cannot be read: {error.message}") from error
        return {"command": shown_command(job.command), "exit_code": code, **found}
    finally:
        job.end(asked.keep and asked.keep / f"table-{cluster.manager}-{mode}")


def closures(found: dict[str, Any], view: str) -> str:
    """Write the closure of all hosts, and the widest of one."""
    short = view.removesuffix("_view")
    of_hosts = [one[short] for one in found["hosts"] if one[short] is not None]
    widest = max(of_hosts, key=abs, default=None)
    return f"{percent(found['closure'][view])}, {percent(widest)}"


def tiers(found: dict[str, Any]) -> str:
    """Write the tier of each host."""
    of_hosts = [str(one["tier"]) for one in found["hosts"]]
    return ", ".join(of_hosts or found["tiers"])


def agents(found: dict[str, Any]) -> str:
    """Write what the agents used at most."""
    if not found["agents"]:
        return "none"
    cores = [one["core_ratio"] for one in found["agents"] if one["core_ratio"] is not None]
    peak = max(one["peak_bytes"] for one in found["agents"])
    return f"{percent(max(cores, default=None))}, {peak / 2**20:.1f} MiB"


COLUMNS = {
    "executors recorded, probed, of": lambda f: "{recorded}, {probed} of {ran}".format(
        **f["executors"]
    ),
    "tasks recorded of succeeded": lambda f: f"{f['spans']['count']} of {f['tasks']['succeeded']}",
    "spans' CPU of Spark's": lambda f: percent(ratio(f["spans"]["cpu_ns"], f["spark_task_ns"])),
    "ledger's task CPU of Spark's": lambda f: percent(
        ratio(f["ledger_task_ns"], f["spark_task_ns"])
    ),
    "closure of CPUs: all, widest host": lambda f: closures(f, "core_view"),
    "of slots": lambda f: closures(f, "slot_view"),
    "orphan samples of": lambda f: "{orphans} of {samples}".format(**f["samples"]),
    "tiers": tiers,
    "agent at most": agents,
}
