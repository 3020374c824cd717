"""``pyrometer report`` from a run directory to a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.report_fixture import manifest, run_rows, write_tables
from typer.testing import CliRunner

from pyrometer.api import write_report
from pyrometer.cli.read.report import app
from pyrometer.core.errors import UsageError


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    write_tables(root / "tables", run_rows())
    (root / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    return root


def test_report_lands_in_the_run_directory(run_dir: Path) -> None:
    result = CliRunner().invoke(app, [str(run_dir), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    assert told["schema"] == "pyrometer/report/1"
    assert Path(told["report"]) == run_dir / "report.html"
    text = (run_dir / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) == told["size_bytes"]
    assert "parquet-scan" in text


def test_another_place(run_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.html"
    result = CliRunner().invoke(app, [str(run_dir), "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert str(target) in result.stdout.replace("\n", "")
    assert target.is_file()


def test_a_run_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_report(tmp_path / "absent")
