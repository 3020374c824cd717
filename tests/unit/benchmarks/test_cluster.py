"""The harness of clusters: what is kept of cases, and how figures are judged."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cluster import clocks, kills, planted, results, table
from benchmarks.cluster.beds import Cluster, Submission, command

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.spark import SparkInstall

CASES = [{"number": number} for number in range(3)]


def asked(verb: Any, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    verb.arguments(parser)
    return parser.parse_args(words)


def test_a_case_that_is_there_is_not_measured_again(tmp_path: Path) -> None:
    path, measured = tmp_path / "new" / "results.jsonl", []

    def one(case: results.Case) -> results.Row:
        measured.append(case["number"])
        if case["number"] == 1 and len(measured) < 3:
            raise CapabilityError("no such host")
        return {"value": case["number"]}

    rows = results.measure(path, CASES[:2], one)
    assert [row["failed"] for row in rows] == [None, "CapabilityError: no such host"]
    results.measure(path, CASES, one)
    assert measured == [0, 1, 2]
    rows = results.measure(path, CASES, one, again=True)
    assert measured == [0, 1, 2, 1]
    assert {row["case"]["number"]: row["found"] for row in rows} == {
        number: {"value": number} for number in range(3)
    }


def test_a_line_that_was_cut_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results.measure(path, CASES[:1], lambda case: {})
    path.write_text(path.read_text() + path.read_text()[:20])
    results.measure(path, CASES[:2], lambda case: {})
    assert len(results.read(path)) == 2


def test_a_failed_case_has_its_reason_in_the_table(tmp_path: Path) -> None:
    def one(case: results.Case) -> results.Row:
        raise CapabilityError("no control plane\nbuild it")

    rows = results.measure(tmp_path / "results.jsonl", CASES[:1], one)
    assert "| number=0 |  | failed: CapabilityError: no control plane |" in results.table(
        rows, {"a": str, "b": str}
    )


def test_modes_are_those_that_a_manager_has() -> None:
    found = [(one["manager"], one["mode"]) for one in table.cases(asked(table, "--sparks", "4"))]
    assert found == [
        ("local", "client"), ("standalone", "client"), ("yarn", "client"), ("yarn", "cluster"),
        ("kubernetes", "client"), ("kubernetes", "cluster"),
    ]  # fmt: skip


def test_kills_of_a_seed_are_the_same_and_each_kind_is_as_frequent() -> None:
    drawn = list(kills.cases(asked(kills, "--count", "100", "--seed", "7")))
    assert drawn == list(kills.cases(asked(kills, "--count", "100", "--seed", "7")))
    kinds = [one["kill"] for one in drawn]
    assert {kinds.count(kind) for kind in kills.KINDS} == {20}
    assert kinds[:20] != sorted(kinds[:20])
    # The file knows them by name: none is taken for another.
    assert len({results.name(one) for one in drawn}) == 100


def test_a_drifting_clock_is_held_against_a_drifting_truth() -> None:
    base, ppm = 5 * 10**9, -200.0
    drift = clocks.Drift(base, ppm)
    for true in (base, base + 10**9, base + 60 * 10**9):
        shown = base + round((true - base) * (1 + ppm / 1e6))
        assert shown + drift.offset_ns(shown) == pytest.approx(true, abs=2)
    lines = [clocks.Line(base, base + 10**10, 0.0, ppm / -1e6, 1000)]
    assert clocks.errors(lines, drift.offset_ns)[1] == 0
    assert clocks.errors(lines, clocks.Drift(base, 200.0).offset_ns)[1] == 1


def test_a_pause_after_a_kill_counts_and_one_long_before_does_not() -> None:
    second = 10**9
    times = [0, *(n * second for n in range(40, 50)), 52 * second]
    assert kills.unseen_ns(times, 40 * second, 53 * second) == 3 * second


def shown(code: str, host: str | None, is_shown: bool = True) -> dict[str, Any]:
    return {"code": code, "host": host, "shown": is_shown, "ratio": None}


@pytest.mark.parametrize(
    ("findings", "slow", "expected"),
    [
        ([shown("disk.slow", "b-2")], True, "right"),
        ([shown("disk.slow", "192.0.2.12")], True, "right"),
        ([shown("disk.slow", "b-3")], True, "wrong"),
        ([shown("disk.slow", "b-2"), shown("disk.slow", "b-3")], True, "wrong"),
        ([shown("disk.slow", "b-2", False)], True, "silent"),
        # Another cause is no answer.
        ([shown("network.slow", "b-2")], True, "silent"),
        ([shown("disk.slow", "b-2")], False, "wrong"),
        ([], False, "silent"),
    ],
)
def test_only_the_planted_host_and_cause_are_right(
    findings: list[dict[str, Any]], slow: bool, expected: str
) -> None:
    found = {"host": "b-2", "address": "192.0.2.12", "findings": findings, "slots": {}}
    judged = planted.verdict(found, {"job": "disk", "slow": slow})
    assert judged == {"explain": expected, "ledger": "silent"}


def test_a_row_names_a_host_only_where_it_stands_out() -> None:
    def judged(one: float, other: float) -> set[str]:
        slots = {"b-2": {"task/run_queue": one}, "b-3": {"task/run_queue": other}}
        return planted.by_ledger({"slots": slots}, "cpu")

    assert judged(0.4, 0.1) == {"b-2"}
    assert judged(0.1, 0.4) == {"b-3"}
    assert judged(0.4, 0.3) == set()
    assert judged(0.05, 0.0) == set()


@pytest.mark.parametrize(
    ("mode", "app"), [("client", "/f/app.py"), ("cluster", "local:///f/app.py")]
)
def test_a_job_is_submitted_as_its_manager_wants_it(mode: str, app: str) -> None:
    spark = SparkInstall(Path("/spark"), "python")
    cluster = Cluster("kubernetes", spark, Path("/f"), {}, ["--master", "k8s://m"], None)
    words = command(cluster, Submission(["burn"], Path("/f/run"), mode))
    assert words[words.index("--deploy-mode") + 1] == mode
    assert words[-2:] == [app, "burn"]
    assert "spark.executor.instances=2" in words
    assert json.dumps(words).count("--master") == 1
