"""Contract tests for workloads: derive a class to test a workload of your own.

Examples
--------
In a test module of your own::

    from my_package.my_workload import MyWorkload
    from pyrometer.testing.workloads import WorkloadContract

    class TestMyWorkload(WorkloadContract):
        workload = MyWorkload

Data is built at scale ``test``. Tests marked ``spark`` start one Spark in the test process, with
two task slots, and share it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pyrometer.workloads.contract import (
    GROUPS,
    SCALE_NAMES,
    Workload,
    load,
    parse_scale,
    prepared_from_json,
    prepared_to_json,
)
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.launch import DEFAULT_CONF
from pyrometer.workloads.runner import start_session
from pyrometer.workloads.spark import workloads_jar
from pyrometer.workloads.values import IterationResult, Prepared, WorkloadSpec


class WorkloadContract:
    """Tests that every workload must pass.

    Attributes
    ----------
    workload : type
        The class under test.
    """

    workload: ClassVar[type[Workload]]

    @classmethod
    def specifications(cls) -> list[WorkloadSpec]:
        """Every level of every variant once, the other variants at their defaults."""
        defaults = {name: variant.default for name, variant in cls.workload.variants.items()}
        choices = [defaults] + [
            {**defaults, name: level}
            for name, variant in cls.workload.variants.items()
            for level in variant.levels
            if level != variant.default
        ]
        entry = f"{cls.workload.__module__}:{cls.workload.__qualname__}"
        size = cls.workload.scales["test"]
        return [WorkloadSpec(cls.workload.name, entry, c, "test", size) for c in choices]

    @pytest.fixture(scope="class")
    @classmethod
    def cache(cls, tmp_path_factory: pytest.TempPathFactory) -> DataCache:
        """Make an empty cache, shared by the tests of the class."""
        return DataCache(tmp_path_factory.mktemp("cache"))

    @pytest.fixture(scope="class")
    @classmethod
    def another(
        cls, cache: DataCache, tmp_path_factory: pytest.TempPathFactory
    ) -> tuple[DataCache, int]:
        """Prepare the first level in a separate cache; return it and how often progress came."""
        reports = 0

        def count(what: str, done: int, total: int) -> None:
            nonlocal reports
            reports += 1

        empty = DataCache(tmp_path_factory.mktemp("another"))
        cls.workload().prepare(cls.specifications()[0], empty, count)
        return empty, reports

    @pytest.fixture(scope="class")
    @classmethod
    def spark(cls) -> Iterator[Any]:
        """Start a session in the Spark of this process; its cached data is dropped at the end."""
        pytest.importorskip("pyspark", reason="Spark tests need pyspark")
        # As in a run: Python workers find the modules that this process finds.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # All tests share one JVM: the first to start it sets the jars.
        jars = {workloads_jar(), *cls.workload.needs.jars}
        needed = {
            **DEFAULT_CONF,
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.jars": ",".join(sorted(jar for jar in jars if Path(jar).is_file())),
        }
        session = start_session(needed).newSession()
        yield session
        session.catalog.clearCache()

    @pytest.fixture(scope="class")
    @classmethod
    def first(cls, spark: Any, cache: DataCache) -> tuple[IterationResult, Prepared]:
        """Run one iteration of the first specification, for all tests that only look at it."""
        return cls().run_once(spark, cache, cls.specifications()[0])

    def run_once(
        self, spark: Any, cache: DataCache, spec: WorkloadSpec
    ) -> tuple[IterationResult, Prepared]:
        """Prepare, apply the workload's settings, set up and run one iteration."""
        prepared = self.set_up(spark, cache, spec)
        return self.workload().run(spark, prepared, spec), prepared

    def set_up(self, spark: Any, cache: DataCache, spec: WorkloadSpec) -> Prepared:
        """Prepare a run up to its iterations."""
        workload = self.workload()
        prepared = workload.prepare(spec, cache)
        for key, value in workload.spark_conf(spec).items():
            if spark.conf.isModifiable(key):
                spark.conf.set(key, value)
        workload.setup(spark, prepared, spec)
        return prepared

    def test_describes_itself(self) -> None:
        """Every text is present, the summary is one line, and the description is JSON."""
        described = self.workload().describe()
        assert json.loads(json.dumps(described)) == described
        for field in ("name", "summary", "description", "source", "expectation", "scale_unit"):
            assert described[field].strip(), f"{field} is empty"
        assert "\n" not in described["summary"]
        assert described["group"] in GROUPS

    def test_variants_have_documented_levels(self) -> None:
        """Defaults are levels, and factors and levels are explained."""
        assert self.specifications()
        for name, variant in self.workload.variants.items():
            assert "." in name, f"{name} needs a prefix, for example workload.{name}"
            assert variant.accepts(variant.default), f"default of {name} is not one of its levels"
            assert variant.doc.strip()
            assert all(doc.strip() for doc in variant.levels.values())

    def test_scales_grow(self) -> None:
        """``test``, ``default`` and ``seed`` exist, each at least as large as the one before."""
        sizes = [self.workload.scales[name] for name in SCALE_NAMES]
        assert sizes == sorted(sizes)
        assert parse_scale(self.workload(), str(sizes[0])) == sizes[0]

    def test_is_found_by_its_entry(self) -> None:
        """The runner process instantiates it from ``module:class``."""
        assert type(load(self.specifications()[0].entry)) is self.workload

    def test_module_needs_no_other_library(self, tmp_path: Path) -> None:
        """A bare Python with pyspark can import it: another Spark may run in another Python."""
        top = self.workload.__module__.partition(".")[0]
        for name in {"pyrometer", top, "pyspark", "py4j"}:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin is not None:
                origin = Path(spec.origin)
                source = origin.parent if origin.name == "__init__.py" else origin
                (tmp_path / source.name).symlink_to(source)
        code = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
            f"import pyrometer.workloads.runner, {self.workload.__module__}"
        )
        # -S and -I: no site-packages, no PYTHONPATH.
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    @pytest.mark.slow
    def test_same_specification_same_bytes(
        self, cache: DataCache, another: tuple[DataCache, int]
    ) -> None:
        """Two empty caches hold the same files afterwards, for every level."""
        other, _ = another
        workload = self.workload()
        for spec in self.specifications():
            here, there = workload.prepare(spec, cache), workload.prepare(spec, other)
            assert here.files == there.files
            assert here.facts == there.facts
            assert here.recipe == there.recipe

    def test_prepared_data_is_reused_and_travels(self, cache: DataCache) -> None:
        """A second preparation writes nothing, and the value survives JSON."""
        spec = self.specifications()[0]
        workload = self.workload()
        first = workload.prepare(spec, cache)
        stamps = {p: p.stat().st_mtime_ns for p in cache.root.rglob("*.parquet")}
        reports: list[str] = []
        second = workload.prepare(spec, cache, lambda what, done, total: reports.append(what))
        assert second == first
        assert reports == []
        assert {p: p.stat().st_mtime_ns for p in cache.root.rglob("*.parquet")} == stamps
        assert prepared_from_json(json.loads(json.dumps(prepared_to_json(first)))) == first
        assert all((Path(first.root) / file.path).is_file() for file in first.files)

    def test_estimate_of_disk_is_honest(self, cache: DataCache) -> None:
        """Data needs no more disk space than estimated."""
        for spec in self.specifications():
            workload = self.workload()
            assert workload.prepare(spec, cache).bytes <= workload.bytes_needed(spec)

    @pytest.mark.slow
    def test_interrupted_preparation_leaves_nothing(
        self, another: tuple[DataCache, int], tmp_path: Path
    ) -> None:
        """Ctrl-C at any report of progress leaves whole datasets only, and the next try works."""
        spec, workload = self.specifications()[0], self.workload()
        complete, reports = another
        whole = workload.prepare(spec, complete)
        for stop_at in sorted({min(1, reports), (reports + 1) // 2, reports} - {0}):
            cache = DataCache(tmp_path / f"cut-{stop_at}")
            seen = 0

            def stop(what: str, done: int, total: int, last: int = stop_at) -> None:
                nonlocal seen
                seen += 1
                if seen == last:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                workload.prepare(spec, cache, stop)
            assert list(cache.root.rglob("*.partial")) == []
            # If nothing at all was kept, the next try is like the first.
            if stop_at == reports or any(path.is_file() for path in cache.root.rglob("*")):
                assert workload.prepare(spec, cache).files == whole.files

    @pytest.mark.spark
    def test_result_is_right(self, spark: Any, first: tuple[IterationResult, Prepared]) -> None:
        """One iteration of the first specification verifies, and gives the same again."""
        self._is_right(spark, first, self.specifications()[0])

    @pytest.mark.spark
    @pytest.mark.slow
    def test_result_is_right_at_every_level(self, spark: Any, cache: DataCache) -> None:
        """One iteration at each level verifies, and gives the same again."""
        for spec in self.specifications():
            self._is_right(spark, self.run_once(spark, cache, spec), spec)

    def _is_right(
        self, spark: Any, ran: tuple[IterationResult, Prepared], spec: WorkloadSpec
    ) -> None:
        result, prepared = ran
        assert self.workload().verify(result, prepared, spec) is None
        again = self.workload().run(spark, prepared, spec)
        assert (again.rows, again.checksum) == (result.rows, result.checksum)

    @pytest.mark.spark
    def test_wrong_result_is_noticed(self, first: tuple[IterationResult, Prepared]) -> None:
        """A result with another row and checksum is refused, and the message has both values."""
        result, prepared = first
        wrong = replace(result, rows=result.rows + 1, checksum="0123456789abcdef")
        mismatch = self.workload().verify(wrong, prepared, self.specifications()[0])
        assert mismatch is not None
        assert mismatch.expected != mismatch.got
