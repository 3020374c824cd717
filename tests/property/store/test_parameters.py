"""Parameters that are written into a query give what DuckDB makes of them by itself."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.sql.text import with_parameters

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["'", "''", "?", "--", "\\", "a'); DROP TABLE t; --", '"', "$1"]),
)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_a_written_parameter_is_the_bound_one(values: list[Any]) -> None:
    sql = "SELECT '?' AS \"a ? b\", " + ", ".join("?" for _ in values) + " -- what?"
    written = with_parameters(sql, values)
    with duckdb.connect() as connection:
        bound = connection.execute(sql, values).fetchone()
        assert bound is not None
        if written is None:
            assert any(isinstance(value, str) and "\0" in value for value in values)
            return
        found = connection.execute(written).fetchone()
    assert found is not None
    for one, other in zip(found, bound, strict=True):
        assert type(one) is type(other)
        assert one == other or (math.isnan(one) and math.isnan(other))


def test_as_many_parameters_as_question_marks() -> None:
    with pytest.raises(ValueError, match="zip"):
        with_parameters("SELECT ?, ?", [1])
    with pytest.raises(IndexError):
        with_parameters("SELECT $3", [1])
    assert with_parameters("SELECT ?", [[1, object()]]) is None


def test_queries_with_parameters_import_no_data_frames(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from pyrometer.store.tables import Tables\n"
        "from pyrometer.store.write_tables import write_rows\n"
        "row = {'iteration': 1, 'status': 'success'}\n"
        f"written = write_rows(pathlib.Path({str(tmp_path)!r}), 'iterations', [row])\n"
        "assert written.is_file()\n"
        "with Tables(pathlib.Path('nowhere')) as tables:\n"
        "    assert tables.scalar('SELECT ? + 1', [2]) == 3\n"
        "    tables.keep('kept', {'a': 'BIGINT'}, {'a': [1, None]})\n"
        "    assert tables.query('SELECT a FROM kept WHERE a = ?', [1]) == [(1,)]\n"
        "print({'pandas', 'numpy', 'pyarrow'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "set()"
