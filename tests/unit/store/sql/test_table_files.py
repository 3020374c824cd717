"""Files of tables in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrometer.store.table_files import files_of


def test_a_folder_is_listed_once_for_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tasks", "tasks-probe", "tasks-old", "tasks2", "apps"):
        (tmp_path / f"{name}.parquet").write_bytes(b"12")
    (tmp_path / "jobs.parquet").mkdir()
    listed, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda at: listed.append(at) or scandir(at))
    files = files_of(tmp_path)
    found = {table: list(files.of(table)) for table in ("tasks", "apps", "jobs", "stages")}
    assert found == {
        "tasks": [(str(tmp_path / f"{name}.parquet"), 2) for name in ("tasks", "tasks-probe")],
        "apps": [(str(tmp_path / "apps.parquet"), 2)],
        "jobs": [],
        "stages": [],
    }
    assert files.size_bytes() == 10
    assert len(listed) == 1


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert list(files_of(tmp_path / "tables").of("tasks")) == []
