"""Text formats: what parsing costs, by samples and by the log alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import holds, in_a_row, job, judged_with

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


def several(folder: Path, *inputs: str) -> list[Finding]:
    """Scan an input in a stage of each: 1 s of CPU of 5.6 s."""
    nodes = [node(number, "Scan csv ", None, [number]) for number in range(len(inputs))]
    for number, (one, path) in enumerate(zip(nodes, inputs, strict=True)):
        one.simple_string = (
            f"FileScan csv [a#{number}] Location: InMemoryFileIndex(1 paths)[{path}],"
            f" PartitionFilters: [], PushedFilters: [IsNotNull(a{number})]"
        )
    operators = tuple(
        operator("Scan csv", number, 1.0, stages=(number,)) for number in range(len(inputs))
    )
    change: Any = plan(*nodes, operators=operators)
    return judged_with(folder, in_a_row(len(inputs)), RULE, change).findings


def test_scans_of_the_same_input_are_one_cause(tmp_path: Path) -> None:
    (one,) = several(tmp_path, *["file:/in/a"] * 3)
    assert holds(one, 3 * 1.14 * 0.79 / 2)
    assert one.place.stages_count == 3


def test_near_miss_scans_of_other_inputs(tmp_path: Path) -> None:
    assert len(several(tmp_path, "file:/in/a", "file:/in/b")) == 2
