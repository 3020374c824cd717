"""The harness of clusters: what is kept of cases, and how figures are judged."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cluster import results, table
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
