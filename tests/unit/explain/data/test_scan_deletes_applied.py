"""Merge-on-read: what files of deletes cost those who read the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with, settings, stack
from tests.support.tables import World

from pyrometer.explain.catalogue.data.scan_deletes_applied import RULE
from pyrometer.explain.schema import Finding

MIB = 1 << 20
LOADER = "org.apache.iceberg.data.BaseDeleteLoader.loadPositionDeletes"


def found(
    folder: Path, deletes: int, files: int = 1_000, gone: int = 0, rows: int = 100_000,
    name: str = "BatchScan lake.db.t", change: Callable[[World], None] = lambda world: None,
    **more: int,
) -> list[Finding]:  # fmt: skip
    metrics = {
        "number_of_result_data_files": files, "total_data_file_size_(bytes)": files * MIB,
        "number_of_result_delete_files": deletes, "number_of_row_deletes_applied": gone,
        "number_of_output_rows": rows, **more,
    }  # fmt: skip
    world = job()
    change(world)
    nodes = plan(node(0, name, None, [0], **metrics))
    return [one for one in judged_with(folder, world, RULE, nodes).findings if one.shown]


def test_a_delete_file_for_each_of_a_thousand_files(tmp_path: Path) -> None:
    # 8 s of tasks on two slots: 1 000 files of 3 ms.
    (one,) = found(tmp_path, 1_000)
    assert holds(one, 3 / 2)
    assert (one.place.node_id, one.place.operator) == (0, "BatchScan lake.db.t")
    assert "1 000 data files needed 1 000 delete files: 3.00 s of 8.03 s" in one.mechanism
    assert one.remedies[0].after is not None
    assert one.remedies[0].after.startswith("CALL lake.system.rewrite_data_files(table => 'db.t',")


def test_executors_keep_a_delete_file_that_many_data_files_need(tmp_path: Path) -> None:
    # Ten files for each of a thousand data files: loaded 10 times at least, 10 000 at most.
    assert not found(tmp_path, 10_000, number_of_indexed_delete_files=10)


def test_rows_that_are_read_and_skipped_cost_their_share(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 1_000, gone=300_000)
    assert "and 300 000 rows were read and skipped" in one.mechanism
    assert holds(one, (3 + 0.75 * 0.4 * 5) / 2)


def test_files_that_a_filter_at_run_time_leaves_out_need_none(tmp_path: Path) -> None:
    assert not found(tmp_path, 1_000, number_of_file_splits_read=10)


@pytest.mark.parametrize(("warehouse", "seconds"), [("s3://lake/w", 2.0), ("file:/lake/w", 0.1)])
def test_an_object_store_takes_longer_to_open_a_file(
    tmp_path: Path, warehouse: str, seconds: float
) -> None:
    def conf(world: World) -> None:
        settings(world, spark__sql__catalog__lake__warehouse=warehouse)

    one = found(tmp_path, 70, change=conf)
    assert bool(one) == (seconds > 1)
    assert not one or holds(one[0], seconds)


def test_samples_say_what_loading_takes(tmp_path: Path) -> None:
    def loading(world: World) -> None:
        number = stack(world, "org.apache.spark.scheduler.Task.run", LOADER)
        mine = [row for row in world.rows["samples"]
                if row["event"] == "wall" and row["stage_id"] == 0]  # fmt: skip
        for row in mine[::4]:
            row["java_stack"] = number

    (one,) = found(tmp_path, 100_000, number_of_indexed_delete_files=10, change=loading)
    assert holds(one, 4 * 0.25)
    saving = one.saving.elapsed_ns
    assert (saving.high or 0) < 1.5e9


def test_near_miss_one_delete_file_for_each_executor(tmp_path: Path) -> None:
    assert not found(tmp_path, 8, gone=100)


def test_healthy_a_table_without_deletes(tmp_path: Path) -> None:
    assert not found(tmp_path, 0)
    assert not found(tmp_path, 1_000, files=0)
