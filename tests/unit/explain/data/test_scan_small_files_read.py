"""Many small files: what opening them costs, and not what their rows do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.explain.catalogue.data.scan_small_files_read import RULE
from pyrometer.explain.schema import Finding

KIB, MIB = 1 << 10, 1 << 20


def found(folder: Path, name: str = "Scan parquet", **metrics: int) -> list[Finding]:
    change: Any = plan(node(0, name, None, [0], **metrics))
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_a_thousand_files_of_nine_kilobytes(tmp_path: Path) -> None:
    # 8 s of tasks on two slots, 6 s of them in the scan: 2 of 1 000 openings stay.
    (one,) = found(tmp_path, number_of_files_read=1000, size_of_files_read=9000 * KIB,
                   scan_time=6000)  # fmt: skip
    assert holds(one, 6 / 2 * 0.97)
    assert (one.place.node_id, one.place.operator, one.place.layer) == (0, "Scan parquet", "data")
    assert one.remedies[0].after == "df.repartition(2).write.parquet(path)"


def test_large_files_take_their_time_for_their_bytes(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_files_read=100, size_of_files_read=12_800 * MIB,
                     scan_time=6000)  # fmt: skip


def test_near_miss_few_files_cannot_cost_so_much(tmp_path: Path) -> None:
    # The scan is slow, and of sixteen files no more than 10 ms each are theirs.
    assert not found(tmp_path, number_of_files_read=16, size_of_files_read=16 * KIB,
                     scan_time=6000)  # fmt: skip


def test_as_many_files_as_slots(tmp_path: Path) -> None:
    assert not found(tmp_path, number_of_files_read=2, size_of_files_read=KIB, scan_time=6000)


BUCKETS = "FileScan parquet sales[a#1] Bucketed: true, SelectedBucketsCount: {0} out of {0}"


def in_buckets(folder: Path, count: int) -> list[Finding]:
    scan = node(0, "Scan parquet sales", None, [0], number_of_files_read=1000,
                size_of_files_read=9000 * KIB, scan_time=6000)  # fmt: skip
    scan.simple_string = BUCKETS.format(count)
    change: Any = plan(scan)
    return [one for one in judged_with(folder, job(), RULE, change).findings if one.shown]


def test_near_miss_each_file_is_a_bucket_that_no_compaction_joins(tmp_path: Path) -> None:
    assert not in_buckets(tmp_path, 1000)


def test_many_files_in_each_bucket(tmp_path: Path) -> None:
    (one,) = in_buckets(tmp_path, 20)
    assert "20 files would hold the same" in one.mechanism


def test_without_the_time_of_the_scan_the_interval_is_wide(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "Scan csv", number_of_files_read=1000, size_of_files_read=9000 * KIB)
    saving = one.saving.elapsed_ns
    assert saving.low is not None
    assert saving.value is not None
    assert saving.low < 0.7 * saving.value


def in_iceberg(folder: Path, files: int, size: int, **more: int) -> list[Finding]:
    counts = {"number_of_result_data_files": files, "total_data_file_size_(bytes)": size}
    return found(folder, "BatchScan lake.db.t", **counts, **more)


def test_a_thousand_files_of_a_table_in_iceberg(tmp_path: Path) -> None:
    (one,) = in_iceberg(tmp_path, 1000, 9000 * KIB, number_of_file_splits_read=1000)
    assert holds(one, 3.4 / 2)
    assert one.remedies[0].after == "CALL lake.system.rewrite_data_files(table => 'db.t')"


def test_near_miss_a_filter_at_run_time_leaves_most_files_out(tmp_path: Path) -> None:
    assert not in_iceberg(tmp_path, 1000, 9000 * KIB, number_of_file_splits_read=3)


def test_healthy_large_files_of_a_table_in_iceberg(tmp_path: Path) -> None:
    assert not in_iceberg(tmp_path, 100, 12_800 * MIB)
