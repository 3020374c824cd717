"""Text formats: what parsing costs, by samples and by the log alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.planned import expression, node, operator, plan
from tests.support.explain.planted import holds, in_a_row, job, judged_with, samples, stack

from pyrometer.attribution.schema import Operator
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
    # Each is below the noise, and together they are not; one input would be one place.
    (found,) = several(tmp_path, "file:/in/a", "file:/in/b")
    assert found.place.places_count == 2


FROM_CSV = "[from_csv(StructField(id,LongType,true), value#1, Some(UTC), None) AS r#2]"
BY_HAND = "[split(value#1, ,, -1) AS r#2]"
IN_EXPRESSION = "org.apache.spark.sql.catalyst.expressions.CsvToStructs.nullSafeEval"


def parsing(
    folder: Path, share: float, made: str = FROM_CSV, scan: str = "Scan text ",
    operators: tuple[Operator, ...] = (), frame: str = IN_EXPRESSION,
) -> list[Finding]:  # fmt: skip
    """Rows of a scan go through a projection, of whose samples a share parses."""
    world = job()
    if share:
        samples(world, share, java_stack=stack(world, frame, "com.univocity.Parser.parse"))
    top, middle, below = (
        node(0, "HashAggregate", None, [0]), node(1, "Project", 0, []), node(2, scan, 1, [0])
    )  # fmt: skip
    middle.simple_string = f"Project {made}"
    below.simple_string = f"File{scan}[value#1] Batched: false"
    change: Any = plan(top, middle, below, operators=operators)
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


@pytest.mark.parametrize("scan", ["Scan text ", "Scan parquet db.messages"])
def test_text_of_files_that_an_expression_parses(tmp_path: Path, scan: str) -> None:
    (one,) = parsing(tmp_path, 0.5, scan=scan)
    # Half of the CPU with its waits, 3.2 of 8 s on two slots: 60 to 98 % of it.
    assert holds(one, 3.2 * 0.8 / 2)
    assert (one.place.operator, one.place.expression) == ("Project", "from_csv(value#1)")
    assert scan.strip() in one.mechanism


def by_hand(*seconds: float) -> tuple[Operator, ...]:
    texts = ("split(value#1, ,, -1)", "cast(r#2[1] as double)", "concat(r#2[0], x#9)")
    return (operator("Project", 1, sum(seconds), *(
        expression(text, s, s / sum(seconds)) for text, s in zip(texts, seconds, strict=False)
    )),)  # fmt: skip


def test_lines_that_are_taken_apart_by_hand(tmp_path: Path) -> None:
    (one,) = parsing(tmp_path, 0.0, BY_HAND, operators=by_hand(2.0, 0.8))
    assert holds(one, 3.2 * 0.8 / 2)
    assert one.place.expression == "split(value#1, ,, -1)"


def test_what_reads_other_columns_too_stays(tmp_path: Path) -> None:
    (one,) = parsing(tmp_path, 0.0, BY_HAND, operators=by_hand(1.4, 0.7, 3.0))
    # 2.1 of 5.6 s of CPU.
    assert holds(one, 2.4 * 0.8 / 2)
    assert not holds(one, 5.8 * 0.8 / 2)


def test_near_miss_a_column_that_is_split(tmp_path: Path) -> None:
    found = parsing(tmp_path, 0.0, BY_HAND, scan="Scan parquet ", operators=by_hand(2.0, 0.8))
    assert not found


def test_near_miss_rows_that_come_from_no_file(tmp_path: Path) -> None:
    assert not parsing(tmp_path, 0.5, scan="Scan ExistingRDD")


def test_near_miss_another_parser_in_the_same_stage(tmp_path: Path) -> None:
    assert not parsing(tmp_path, 0.5, frame="org.apache.spark.sql.catalyst.csv.UnivocityParser.x")


def test_healthy_text_that_takes_no_time_to_parse(tmp_path: Path) -> None:
    assert not parsing(tmp_path, 0.01)
