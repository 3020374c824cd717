"""The suites of queries keep the contract, each tried with one query of several tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads.answers import QUERIES_FILE
from pyrometer.workloads.catalogue.tpc import Tpcds, Tpch


class SuiteContract(WorkloadContract):
    """One query, in each of the combinations of levels."""

    one = ""
    combinations: ClassVar = [{}]

    @classmethod
    def specifications(cls):
        first = super().specifications()[0]
        return [
            replace(first, levels={**first.levels, "workload.query": cls.one, **levels})
            for levels in cls.combinations
        ]

    def test_row_counts_and_answers_are_of_the_same_tables(self, cache):
        prepared = self.workload().prepare(self.specifications()[0], cache)
        assert set(prepared.facts["rows"]) == set(self.workload.tables)
        answers = json.loads((Path(prepared.root) / QUERIES_FILE).read_text())
        assert len(answers) == len(self.workload.variants["workload.query"].levels) - 1
        assert all(a["count"] >= len(a["rows"]) for a in answers.values())
        assert all(a["count"] == len(a["rows"]) for a in answers.values() if not a["tied"])


@pytest.mark.slow
class TestTpch(SuiteContract):
    workload = Tpch
    one = "q03"
    combinations: ClassVar = [
        {},
        {"workload.mode": "throughput", "data.source": "catalog", "data.codec": "zstd"},
    ]

    def test_more_tasks_than_cores(self, cache):
        prepared = self.workload().prepare(self.specifications()[0], cache)
        for table in ("lineitem", "orders", "partsupp"):
            assert len(list(Path(prepared.paths[table]).glob("*.parquet"))) >= 4

    def test_codecs_give_the_same_answers(self, cache):
        texts = {
            (Path(self.workload().prepare(spec, cache).root) / QUERIES_FILE).read_text()
            for spec in self.specifications()
        }
        assert len(texts) == 1


@pytest.mark.slow
class TestTpcds(SuiteContract):
    workload = Tpcds
    one = "q15"

    # Preparation is the code of TestTpch, its generator that of parquet-scan, whose bytes and
    # interruptions are tested; here both would take most of a minute.
    test_interrupted_preparation_leaves_nothing = None
    test_same_specification_same_bytes = None
