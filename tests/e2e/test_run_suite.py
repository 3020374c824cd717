"""`pyrometer run` of a suite: what each query left, and a wrong value in the data."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.cli import environment, opened, pyrometer

from pyrometer.workloads import registry
from pyrometer.workloads.data.files import write_file
from pyrometer.workloads.data_cache import DataCache

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_one_changed_value_of_lineitem_fails_the_run_and_says_where(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    spec = registry.resolve("tpch", {"query": "1"}, "test")
    registry.get("tpch").prepare(spec, DataCache(cache))
    raise_one_price(cache)
    done = pyrometer(
        "run", "tpch", "--scale", "test", "--iterations", "1", "--warmup", "0",
        "--profile", "light", "--set", "layout.tasks=2", "--set", "jvm.heap=1g",
        "--set", "query=1", "--set", "mode=throughput", "--set", "source=catalog", "-o", "wrong",
        cwd=tmp_path, env=environment(PYROMETER_CACHE=str(cache)),
    )  # fmt: skip
    assert done.code == 1, done.stderr
    (result,) = opened(tmp_path / "wrong").results
    assert [(part.name, part.rows) for part in result.parts] == [("q01", 4)] * 2
    # Two streams at once: both began before one of them ended.
    assert max(p.started_mono_ns for p in result.parts) < min(p.ended_mono_ns for p in result.parts)
    assert result.status == "wrong_result"
    assert result.error is not None
    assert result.error.startswith("2 of 2 queries are wrong; q01, row ")
    assert ", column 4: expected " in result.error
    assert result.error in (tmp_path / "wrong" / "raw" / "stderr").read_text()


def raise_one_price(cache: Path) -> None:
    """Add a cent to the first ``l_extendedprice`` and let the dataset pass for whole."""
    (dataset,) = (cache / "data").glob("tpch-*")
    path = dataset / "lineitem" / "part-00000.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("l_extendedprice")
    field = table.schema.field(place)
    prices = table["l_extendedprice"].to_pylist()
    prices[0] += Decimal("0.01")
    write_file(path, table.set_column(place, field, pa.array(prices, field.type)), "snappy")
    manifest = json.loads((dataset / "dataset.json").read_text())
    (entry,) = [f for f in manifest["files"] if f["path"] == "lineitem/part-00000.parquet"]
    entry["bytes"] = path.stat().st_size
    (dataset / "dataset.json").write_text(json.dumps(manifest))
