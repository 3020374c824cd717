"""A SQL file of the user, from the command line to manifest, summary and report."""

from __future__ import annotations

import json
import re

import pytest
from tests.support import needs
from tests.support.cli import opened, pyrometer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CONTENT = re.compile(r'<script type="application/json" id="content">(.*?)</script>', re.DOTALL)


@pytest.mark.parametrize("version", [pytest.param("3.5", marks=pytest.mark.slow), "4"])
def test_a_sql_file_runs_with_its_parameter_and_is_shown_by_statement(tmp_path, version):
    (tmp_path / "q.sql").write_text(
        "create or replace temporary view t as select id, id % 3 as k from range(100); -- ;\n"
        "select k, count(*) from t where id < :n group by k"
    )
    other = ["--set", f"spark.home={needs.spark35()}"] if version == "3.5" else []
    words = ["--set", "sql.n=30", "--set", "layout.tasks=2", "--set", "cache.state=cold", *other]
    few = ["--iterations", "2", "--warmup", "0", "--profile", "off", "-o", "out", "--json"]
    done = pyrometer("run", "q.sql", *words, *few, cwd=tmp_path)
    assert done.code == 0, done.stderr
    manifest = opened(tmp_path / "out")
    assert [result.rows for result in manifest.results] == [3, 3]
    assert len({result.checksum for result in manifest.results}) == 1
    shown = pyrometer("show", "out", "--json", cwd=tmp_path).json
    assert shown["run"]["spark_version"].startswith(version)
    # A file of SQL may read anything: which pages would have to go is not known, and told.
    assert "cache_state_missed" in {doubt["code"] for doubt in shown["doubts"]}
    assert {it["cache"]["reason"] for it in shown["iterations"]} == {"the workload names no files"}
    found = CONTENT.search((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert found
    parts = {part["name"]: part for part in json.loads(found[1])["characterisation"]["parts"]}
    assert list(parts) == ["statement-2"]
    assert parts["statement-2"]["sql"]["group_bys"] == 1
    assert parts["statement-2"]["operators"]["aggregates"] == 1
    assert len(parts["statement-2"]["times_ns"]) == 2
    assert parts["statement-2"]["shuffle_bytes"] > 0
