"""Generated data, compared with plain Python and another engine."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from pyrometer.workload.builtin.bucket_join import QUERY
from pyrometer.workload.contract import no_progress
from pyrometer.workload.data import buckets, integers_text
from pyrometer.workload.data.random64 import stream


@pytest.mark.parametrize("first", [0, 1, 999, 3_000_000_000])
def test_what_is_drawn_in_pieces_is_what_is_drawn_at_once(first: int) -> None:
    whole = stream(5, 1_000, first)
    assert len(set(whole.tolist())) == 1_000
    assert np.array_equal(np.concatenate((stream(5, 10, first), stream(5, 990, first + 10))), whole)


@pytest.mark.parametrize("rows", [1, 3, 4_001])
def test_sums_of_the_bucket_join_are_those_of_another_engine(tmp_path: Path, rows: int) -> None:
    facts = buckets.write_dataset(tmp_path, no_progress, rows)
    with duckdb.connect() as connection:
        connection.execute(f"create view t1 as from '{tmp_path}/t1/*.parquet'")
        found = connection.execute(QUERY).fetchall()
        stored = connection.execute("select count(*), count(distinct id) from t1").fetchone()
    assert [[int(bucket), int(total)] for bucket, total in found] == facts["totals"]
    assert stored == (rows, rows)


@pytest.mark.parametrize("count", [1, 9, 10, 2_503])
def test_text_holds_the_integers_in_lines_of_ten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(integers_text, "CHUNK", 500)
    facts = integers_text.write_dataset(tmp_path, no_progress, count)
    text = (tmp_path / integers_text.FILE).read_text()
    lines = text.splitlines()
    words = [word for line in lines for word in line.split(",")]
    drawn = stream(21, count).view(np.int64)
    assert [int(word) for word in words] == drawn.tolist()
    assert all(line.count(",") == 9 for line in lines[:-1])
    assert len(lines) == -(-count // 10)
    assert text.endswith("\n")
    assert facts["smallest"] == sorted(words)[:10]
