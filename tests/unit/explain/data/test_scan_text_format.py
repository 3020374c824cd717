"""Text formats: what parsing costs, by samples and by the log alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.data.scan_text_format import RULE
from pyrometer.explain.schema import Finding

MB = 1_000_000


def found(folder: Path, name: str, cpu: float = 0, size: int = 0) -> list[Finding]:
    """Eight tasks of 1 s on two slots, 5.6 s of them on a CPU; without CPU, no samples."""
    world = job()
    if not cpu:
        del world.rows["samples"]
    own = (operator(name, 0, cpu),) if cpu else ()
    change: Any = plan(node(0, name, None, [0], size_of_files_read=size), operators=own)
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


def test_a_scan_of_csv_that_uses_most_of_the_cpu(tmp_path: Path) -> None:
    # 4 of 5.6 s, with the waits for a CPU 4.57 s: 84 % of them, on two slots.
    (one,) = found(tmp_path, "Scan csv ", 4.0, 300 * MB)
    assert holds(one, 4.57 * 0.84 / 2)
    assert (one.place.stage_id, one.place.node_id, one.place.operator) == (0, 0, "Scan csv")
    assert one.remedies[0].before == "spark.read.csv(path)"


def test_by_the_log_alone_the_interval_is_wider(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "Scan json ", size=400 * MB)
    assert holds(one, 4 * 0.84 / 2)
    saving = one.saving.elapsed_ns
    assert saving.low is not None
    assert saving.value is not None
    assert saving.low < 0.6 * saving.value


def test_near_miss_little_text_in_a_long_stage(tmp_path: Path) -> None:
    assert not found(tmp_path, "Scan csv ", size=MB // 10)


def test_healthy_twin_parquet(tmp_path: Path) -> None:
    assert not found(tmp_path, "Scan parquet ", 4.0, 300 * MB)
    assert not found(tmp_path / "log", "Scan parquet ", size=300 * MB)
