"""``random-read`` keeps the contract: it needs fio, and PostgreSQL for one of its engines."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import page_cache
from pyrometer.workloads.catalogue import postgres
from pyrometer.workloads.catalogue.random_read import RandomRead
from pyrometer.workloads.data_cache import DataCache


@contextmanager
def open_folder():
    """Make a folder that PostgreSQL's own user can pass: pytest's are their owner's alone."""
    with tempfile.TemporaryDirectory(prefix="pyrometer-random-read-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class TestRandomRead(WorkloadContract):
    workload = RandomRead

    @classmethod
    def specifications(cls):
        """Many passes are PostgreSQL's alone."""
        return [
            replace(spec, levels={**spec.levels, "workload.engine": "postgresql"})
            if spec.levels["workload.passes"] != "1"
            else spec
            for spec in super().specifications()
        ]

    @pytest.fixture(scope="class")
    @classmethod
    def cache(cls):
        """Make an empty cache; what its data are made and read with is there."""
        needs.tool("fio")
        with open_folder() as folder:
            try:
                postgres.check(folder)
            except CapabilityError as error:
                needs.missing(error.message, error.remedy)
            yield DataCache(folder)

    @pytest.fixture(scope="class")
    @classmethod
    def spark(cls, cache):
        """No session; what a setup started is stopped after the class."""
        yield None
        for spec in cls.specifications():
            cls.workload().teardown(cls.workload().prepare(spec, cache), spec)
        assert not list(cache.root.glob(f"{postgres.PREFIX}*"))

    def test_same_specification_same_bytes(self, cache):
        with open_folder() as folder:
            specifications = self.specifications()
            assert specifications
            for spec in specifications:
                here = self.workload().prepare(spec, cache)
                there = self.workload().prepare(spec, DataCache(folder))
                assert (here.files, here.facts) == (there.files, there.facts)

    def test_what_one_of_its_levels_cannot_is_refused(self, cache):
        spec = self.specifications()[0]
        for factor, level in (("workload.block", "4k"), ("workload.io", "direct")):
            levels = {**spec.levels, "workload.engine": "postgresql", factor: level}
            with pytest.raises(UsageError, match=factor):
                self.workload().prepare(replace(spec, levels=levels), cache)

    def test_what_fio_cannot_is_refused(self, cache):
        spec = self.specifications()[0]
        levels = {**spec.levels, "workload.passes": "32"}
        with pytest.raises(UsageError, match="passes"):
            self.workload().prepare(replace(spec, levels=levels), cache)

    def test_a_damaged_block_is_noticed(self, cache):
        spec, workload = self.specifications()[0], self.workload()
        prepared = workload.prepare(spec, cache)
        file = Path(prepared.paths["blocks"])
        whole = file.read_bytes()
        file.write_bytes(bytes(reversed(whole)))
        try:
            with pytest.raises(PyrometerError, match="verify"):
                workload.run(None, prepared, spec)
        finally:
            file.write_bytes(whole)

    @pytest.mark.parametrize("engine", ["fio-libaio", "postgresql"])
    def test_cold_reads_come_from_the_disk_and_warm_ones_do_not(self, cache, engine):
        first, workload = self.specifications()[0], self.workload()
        spec = replace(first, levels={**first.levels, "workload.engine": engine})
        prepared = workload.prepare(spec, cache)
        workload.setup(None, prepared, spec)
        try:
            files = workload.read_files(prepared, spec)
            size = sum(Path(file).stat().st_size for file in files)
            assert size >= 0.8 * spec.size * 8192
            # Of a cold file a quarter of the blocks, and what the kernel reads ahead.
            for state, least, most in (("cold", 0.2, 0.9), ("warm", 0.95, 1.0)):
                seen = []
                # The kernel drops pages on its own, too (memory pressure, DAMON): seldom.
                while not (seen and seen[-1][0] is None and least < seen[-1][1] <= most):
                    assert len(seen) < 4, (state, seen)
                    before = page_cache.bring(state, files)
                    workload.run(None, prepared, spec)
                    seen.append((before.get("reason"), page_cache.residency(files).ratio))
        finally:
            workload.teardown(prepared, spec)
