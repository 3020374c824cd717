"""Folders of runs: ``ls`` lists them, and verbs that read one run take the latest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.report_fixture import manifest, run_rows, write_tables

from pyrometer.core.schema import schema_version
from pyrometer.store.tables_folder import STAMP

EXPERIMENT = Path(__file__).parents[3] / "examples" / "join"
SECOND = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two runs, an experiment, a damaged run and something else."""
    root = tmp_path / "runs"
    # The name that sorts last is not the latest.
    for name, begun in (("z-old", 1000 * SECOND), ("a-new", 4_000_000_000 * SECOND)):
        run = root / name
        run.mkdir(parents=True)
        write_tables(run / "tables", run_rows())
        stamp = {"schema_version": schema_version(), "started_wall_ns": 0}
        (run / "tables" / STAMP).write_text(json.dumps(stamp))
        times = {"started_wall_ns": begun, "ended_wall_ns": begun + 5 * SECOND}
        facts = manifest() | times | {"schema_version": 1}
        (run / "manifest.json").write_text(json.dumps(facts))
    shutil.copytree(EXPERIMENT, root / "join")
    (root / "cut").mkdir()
    (root / "cut" / "manifest.json").write_text("{")
    (root / "notes").mkdir()
    return root


def test_ls_lists_the_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = inside(capsys, "ls", folder, "--json")
    assert done.code == 0, done.stderr
    assert done.json["schema"] == "pyrometer/ls/1"
    entries = done.json["entries"]
    assert [Path(one["path"]).name for one in entries] == ["a-new", "join", "z-old"]
    assert [one["kind"] for one in entries] == ["run", "experiment", "run"]
    assert entries[1]["trials_count"] == entries[1]["done_count"] > 0
    assert [Path(place).name for place in done.json["unread"]] == ["cut"]
    for one in entries:
        files = [f for f in Path(one["path"]).rglob("*") if f.is_file()]
        assert one["size_bytes"] == sum(f.stat().st_size for f in files)
    for name in ("a-new", "join", "z-old", "cut"):
        assert name in done.stderr


def test_ls_knows_how_long_runs_took_that_were_recorded_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = inside(capsys, "ls", folder, "--json").json["entries"]
    # They have times of the wall clock alone.
    assert {one["elapsed_ns"] for one in entries if one["kind"] == "run"} == {5 * SECOND}


def test_ls_tells_what_it_leaves_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = inside(capsys, "ls", folder, "--last", "1", "--json")
    assert [Path(one["path"]).name for one in done.json["entries"]] == ["a-new"]
    assert done.json["older_count"] == 2


def test_doubts_are_those_that_show_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = inside(capsys, "ls", folder, "--json").json["entries"][0]
    assert before["doubts_count"] is None
    shown = inside(capsys, "show", folder / "a-new", "--json").json
    after = inside(capsys, "ls", folder, "--json").json["entries"][0]
    assert after["doubts_count"] == len(shown["doubts"])


def test_ls_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, "ls", tmp_path / "none").code == 2
    done = inside(capsys, "ls", tmp_path)
    assert done.code == 0
    assert "no run" in done.stdout


@pytest.mark.parametrize("verb", ["show", "ledger"])
def test_a_folder_of_runs_means_its_latest(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, verb, folder, "--json")
    assert done.code == 0, done.stderr
    assert Path(done.json["run"]["run_dir"]).name == "a-new"
    assert "a-new" in done.stderr
    assert f"pyrometer ls {folder}" in done.stderr


def test_a_report_of_a_folder_of_runs_lies_in_its_latest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside(capsys, "report", folder).code == 0
    assert (folder / "a-new" / "report.html").is_file()


def test_a_run_and_other_folders_are_what_they_were(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "latest" not in inside(capsys, "show", folder / "z-old").stderr
    assert inside(capsys, "show", folder / "notes").code == 2
