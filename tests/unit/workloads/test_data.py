"""Generated data, compared with plain Python and another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyrometer.workloads.answers import QUERIES_FILE
from pyrometer.workloads.catalogue.bucket_join import QUERY
from pyrometer.workloads.data import buckets, files, queries, tpcds, tpch, web_sales
from pyrometer.workloads.data.files import stream
from pyrometer.workloads.values import no_progress

WATCHED = """
import duckdb
connect = duckdb.connect
def remember(**how):
    with open({seen!r}, "w") as out:
        out.write(how["config"]["temp_directory"])
    return connect(**how)
duckdb.connect = remember
"""
"""Has a Python keep which folder DuckDB was given."""


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


def test_small_row_groups_hold_the_same_rows_and_are_data_of_their_own(tmp_path: Path) -> None:
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"x": range(50_000)}), source)
    large, small = tmp_path / "large", tmp_path / "small"
    for folder, group_rows in ((large, None), (small, 5_000)):
        assert tpch.split_table(source, folder, "snappy", group_rows) == 50_000
    groups = [
        [pq.read_metadata(path).num_row_groups for path in sorted(folder.iterdir())]
        for folder in (large, small)
    ]
    assert groups == [[1] * 4, [3] * 4]
    assert pq.read_table(large).equals(pq.read_table(small))
    assert web_sales.recipe(9, "none") == web_sales.recipe(9, "none", None)
    assert web_sales.recipe(9, "none") != web_sales.recipe(9, "none", 5_000)


@pytest.mark.parametrize("count", [1, 9, 10, 2_503])
def test_text_holds_the_integers_in_lines_of_ten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(files, "CHUNK", 500)
    facts = files.write_dataset(tmp_path, no_progress, count)
    text = (tmp_path / files.FILE).read_text()
    lines = text.splitlines()
    words = [word for line in lines for word in line.split(",")]
    drawn = stream(21, count).view(np.int64)
    assert [int(word) for word in words] == drawn.tolist()
    assert all(line.count(",") == 9 for line in lines[:-1])
    assert len(lines) == -(-count // 10)
    assert text.endswith("\n")
    assert facts["smallest"] == sorted(words)[:10]


def test_what_the_generator_puts_aside_lies_beside_its_files_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, made = tmp_path / "hook", tmp_path / "made"
    hook.mkdir()
    made.mkdir()
    (hook / "sitecustomize.py").write_text(WATCHED.format(seen=str(tmp_path / "seen")))
    monkeypatch.syspath_prepend(hook)
    tpcds.generate("income_band", ("ib_income_band_sk",), 0.01, made / "x.parquet")
    assert Path((tmp_path / "seen").read_text()).parent == made
    assert [one.name for one in made.iterdir()] == ["x.parquet"]


def test_what_answers_put_aside_lies_beside_the_data_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[Path] = []
    connect = duckdb.connect

    def remember(config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        places.append(Path(config["temp_directory"]))
        return connect(config=config)

    monkeypatch.setattr(queries, "texts", lambda suite: {"q01": "SELECT 42 AS answer"})
    monkeypatch.setattr(duckdb, "connect", remember)
    queries.write_answers(tmp_path, no_progress, "tpch", ())
    assert [place.parent for place in places] == [tmp_path]
    assert [one.name for one in tmp_path.iterdir()] == [QUERIES_FILE]
