from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.planted import holds, job, judged, only, samples

from pyrometer.explain.catalogue.data.codec_compression import RULE as COMPRESSION
from pyrometer.explain.catalogue.data.codec_decompression import RULE as DECOMPRESSION
from pyrometer.explain.rule import Rule

CASES = [(DECOMPRESSION, "decompression"), (COMPRESSION, "compression")]


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_half_of_the_cpu_is_a_codecs(tmp_path: Path, rule: Rule, category: str) -> None:
    # 8 tasks of 1 s on two slots: 70 % on a CPU and 10 % waiting for one, half of it the codec's.
    world = job()
    samples(world, 0.5, category=category)
    found = only(world.write(tmp_path), rule)
    assert holds(found, 4 * 0.8 * 0.5 * 0.75)
    assert found.remedies[0].factor in (
        "spark.io.compression.codec", "spark.sql.parquet.compression.codec",
    )  # fmt: skip


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_other_work_is_no_codec(tmp_path: Path, rule: Rule, category: str) -> None:
    world = job()
    samples(world, 0.5, category="hash")
    assert judged(world.write(tmp_path), rule).findings == []


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_a_codec_that_costs_nothing_is_not_shown(tmp_path: Path, rule: Rule, category: str) -> None:
    world = job()
    samples(world, 0.01, category=category)
    assert not any(one.shown for one in judged(world.write(tmp_path), rule).findings)
