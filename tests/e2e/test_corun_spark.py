"""Real workloads at once: under each other's load, on their CPUs, and told."""

from __future__ import annotations

import json
import os

import pytest
from tests.support import cli, needs

from pyrometer.experiments.folder import ExperimentPaths, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.store import Run
from pyrometer.store.manifest import read_manifest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=f"{needs.LACKS}two CPUs"),
]
TWO = ("parquet-scan", "pagerank")


def spans(run):
    """Measured iterations and jobs of a run, on the wall clock."""
    lines = (run / "raw" / "iterations.ndjson").read_text().splitlines()
    marks = [one for one in map(json.loads, lines) if not one["warmup"]]
    starts = [one["wall_ns"] for one in marks if one["k"] == "start"]
    ends = [one["wall_ns"] for one in marks if one["k"] == "end"]
    with Run.open(run) as opened:
        jobs = opened.tables.query("SELECT submit_wall_ns, end_wall_ns, iteration FROM jobs")
    return list(zip(starts, ends, strict=True)), jobs


def ran(tmp_path, *arguments):
    """Run the verb once, in one block: its folder, and what it told."""
    root = tmp_path / "out"
    done = cli.pyrometer(
        "corun", *arguments, "--scale", "test", "--blocks", "1", "--iterations", "2",
        "--guard", "flag", "--json", "-o", root, cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    assert done.json["done_count"] == done.json["trials_count"]
    return root, done.json


def test_a_workload_beside_a_neighbour_spends_its_slots_without_a_rest(tmp_path):
    root, report = ran(tmp_path, "parquet-scan", "--neighbour", "cpu")
    (one,) = report["encounters"]
    assert (one["member"], one["neighbour"], one["beside"]) == ("parquet-scan", "cpu", [])
    assert (report["parties"], report["advice"]) == ([], [])
    slots = len(os.sched_getaffinity(0))
    alone = sum(growth["alone_s"] for growth in one["contention"]["grown"])
    more = sum(growth["more_s"]["value"] for growth in one["contention"]["grown"])
    assert alone == pytest.approx(slots * one["alone_s"]["value"], rel=0.05)
    assert alone + more == pytest.approx(slots * one["beside_s"]["value"], rel=0.05)
    again = cli.pyrometer("corun", root, "--json", cwd=tmp_path)
    assert again.json == report
    resumed = cli.pyrometer("experiment", "resume", root, "--json", cwd=tmp_path)
    assert (resumed.code, resumed.json) == (0, report)


def test_two_workloads_at_once_are_under_load_of_each_other(tmp_path):
    root, report = ran(tmp_path, *TWO)
    assert {(one["member"], *one["beside"], one["own_cpus"]) for one in report["encounters"]} == {
        (mine, other, own) for mine, other in (TWO, TWO[::-1]) for own in (False, True)
    }
    assert all(one["slowdown"]["value"] > 0 for one in report["encounters"])
    ways = [one["way"] for one in report["advice"][0]["ways"]]
    assert ways == ["in turn", "together", "own CPUs"]
    plan, ended = read_plan(root), read_journal(root).ended
    launches = {}
    for one in plan.trials:
        run = ExperimentPaths(root).trials / ended[one.number].folder
        manifest = read_manifest(run)
        assert len([r for r in manifest.results if not r.warmup]) == 2
        if one.launch is not None:
            launches.setdefault(one.launch, []).append(run)
            assert manifest.treatment["co.run"] in TWO
            assert manifest.treatment.get("host.cpus") == one.cpus
    assert len(launches) == 2
    for pair in launches.values():
        (mine, my_jobs), (its, its_jobs) = map(spans, pair)
        # None begins to count before the other does: less than a piece of its work apart.
        assert min(mine[0][1], its[0][1]) > max(mine[0][0], its[0][0])
        # Who is done first has jobs of no iteration, up to where the other is done.
        shorter, jobs = min((mine, my_jobs), (its, its_jobs), key=lambda one: one[0][-1][1])
        end = max(mine[-1][1], its[-1][1])
        load = [job for job in jobs if job[2] is None and job[0] >= shorter[-1][1]]
        longest = max(stop - start for start, stop in shorter)
        if end - shorter[-1][1] > longest:
            assert max(stop for _, stop, _ in load) > end - 2 * longest
