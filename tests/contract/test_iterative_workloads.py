"""The workloads of MLlib and GraphX keep the contract, and wrong numbers are noticed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import ClassVar

import pytest
from tests.support import needs

from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads.catalogue.classifiers import LogisticRegression, Svm
from pyrometer.workloads.catalogue.kmeans import KMeans
from pyrometer.workloads.catalogue.learning import STORAGE, storage_level
from pyrometer.workloads.catalogue.pagerank import PageRank
from pyrometer.workloads.catalogue.svdpp import SvdPlusPlus


class IterativeContract(WorkloadContract):
    """What the five have in common besides: an answer of numbers, and storage that is given back.

    Attributes
    ----------
    change : float
        Factor by which a number is certainly wrong.
    places : set of str
        Some of the places at which wrong numbers are said to be.
    """

    places: ClassVar[set[str]]

    change = 1 + 1e-4

    @classmethod
    def specifications(cls):
        """Two iterations of the algorithm: how input is stored does not depend on more.

        Stored or not is what counts at this scale: forms of storage are Spark's own.
        """
        few = {"workload.iterations": "2"}
        return [
            replace(spec, levels={**spec.levels, **few})
            for spec in super().specifications()
            if spec.levels.get("workload.storage", "none") in ("memory", "none")
        ]

    @pytest.mark.spark
    def test_every_wrong_number_is_noticed_and_nothing_stays_stored(self, spark, cache):
        default = self.workload.variants["workload.iterations"].default
        spec = self.specifications()[0]
        spec = replace(spec, levels={**spec.levels, "workload.iterations": default})
        result, prepared = self.run_once(spark, cache, spec)
        assert list(spark.sparkContext._jsc.getPersistentRDDs().values()) == []
        assert self.workload().verify(result, prepared, spec) is None
        said = [
            self.workload().verify(replace(result, answer=wrong), prepared, spec)
            for wrong in self.wrong_answers(result.answer)
        ]
        assert None not in said
        assert self.places <= {mismatch.what for mismatch in said}

    def wrong_answers(self, answer):
        """Yield answers with one wrong number each."""
        for row, values in enumerate(answer):
            for column, value in enumerate(values):
                if isinstance(value, float):
                    wrong = [list(one) for one in answer]
                    wrong[row][column] = value * self.change
                    yield wrong


class TestKMeans(IterativeContract):
    workload = KMeans
    places: ClassVar = {"centre 10, column 20", "cost, column 1"}

    @pytest.mark.spark
    def test_levels_of_storage_are_those_they_name(self, spark):
        said = {}
        for level in STORAGE.levels:
            spec = self.specifications()[0]
            spec = replace(spec, levels={**spec.levels, "workload.storage": level})
            found = storage_level(spark, spec)
            said[level] = (found.useMemory(), found.useDisk(), found.deserialized())
        assert said == {
            "none": (False, False, False),
            "memory": (True, False, True),
            "memory_and_disk": (True, True, True),
            "memory_ser": (True, False, False),
        }


@pytest.mark.slow
class TestLogisticRegression(IterativeContract):
    workload = LogisticRegression
    places: ClassVar = {"coefficients and intercept, column 21"}
    change = 1.02


@pytest.mark.slow  # its library is that of logistic regression
class TestSvm(IterativeContract):
    workload = Svm
    places: ClassVar = {"cosine with the likeliest plane"}

    @classmethod
    def specifications(cls):
        """The defaults: input is stored by the code that logistic regression runs."""
        return super().specifications()[:1]

    def wrong_answers(self, answer):
        """Planes that are turned: one coefficient more or less would turn them little."""
        (plane,) = answer
        yield [[-x if n % 3 == 2 else x for n, x in enumerate(plane)]]
        yield [plane[::-1]]
        yield [[math.nan, *plane[1:]]]

    @pytest.mark.spark
    def test_points_of_the_wrong_class_are_noticed(self, first):
        spec = self.specifications()[0]
        result, prepared = first
        few = {"correct_count": result.counters["correct_count"] * 9 // 10}
        said = self.workload().verify(replace(result, counters=few), prepared, spec)
        assert "rightly" in str(said)


@pytest.mark.slow
class TestPageRank(IterativeContract):
    workload = PageRank
    places: ClassVar = {"sum of ranks, column 1", "place 10, column 2"}


@pytest.mark.slow
class TestSvdPlusPlus(IterativeContract):
    workload = SvdPlusPlus
    places: ClassVar = {"mean rating, column 1", "squares of the factors of items, column 1"}

    @pytest.mark.spark
    def test_an_error_leaves_nothing_stored(self, spark, cache):
        spec = self.specifications()[0]
        prepared = self.workload().prepare(spec, cache)
        (cache.root / "bad").mkdir()
        (cache.root / "bad" / "part-0.txt").write_text("1 2 3\n1 3 no rating\n")
        torn = replace(prepared, paths={"ratings": str(cache.root / "bad")})
        with pytest.raises(Exception, match="NumberFormatException"):
            self.workload().run(spark, torn, spec)
        assert list(spark.sparkContext._jsc.getPersistentRDDs().values()) == []


@pytest.mark.spark
@pytest.mark.slow
def test_they_run_on_the_older_spark(tmp_path):
    """One jar is for both, though Scala and Spark's own classes differ between them."""
    (packages,) = needs.spark35().glob("lib/python3*/site-packages")
    for name in ("pyspark", "py4j"):
        (tmp_path / name).symlink_to(packages / name)
    run = [sys.executable, "-c", "import pyspark; print(pyspark.__version__)"]
    test = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__]
    for command, said in (
        (run, "3.5."),
        ([*test, "-k", "wrong_result_is_noticed"], "5 passed"),
    ):
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert said in done.stdout, done.stdout
