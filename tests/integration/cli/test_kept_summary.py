"""`show` keeps what it made and reads it again, as long as nothing that it was made of changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.cli import environment, inside
from tests.support.eventlog.recorded import recorded

from pyrometer.store.tables_folder import STAMP, summary_file

SLOW_JOB = Path(__file__).parents[3] / "examples" / "slow-job"
LOGS = [log for log in recorded() if log.is_file()][:3]


Shown = Callable[..., str]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """Run ``show`` with some words, and give what it prints."""

    def of(*words: str | Path) -> str:
        done = inside(capsys, "show", *words)
        assert done.code == 0, done.stderr
        return done.stdout

    return of


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copytree(
        SLOW_JOB, tmp_path / "run", ignore=shutil.ignore_patterns(".summary-*", ".findings-*")
    )
    return tmp_path / "run"


def changed(kept: Path) -> None:
    """Have the kept summary tell of itself."""
    data = json.loads(kept.read_bytes())
    data["summary"]["verdict"] = "as it was kept"
    kept.write_text(json.dumps(data))


@pytest.mark.parametrize("words", [(), ("--json",), ("--json", "--window", "application")])
def test_what_is_read_again_is_what_was_made(
    words: tuple[str, ...], run: Path, shown: Shown
) -> None:
    first = shown("run", *words)
    window = words[-1] if "--window" in words else None
    kept = summary_file(run / "tables", window)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert shown("run", *words) == first
    changed(kept)
    assert "as it was kept" in shown("run", *words)
    # Another way to say where it lies.
    assert "as it was kept" in shown(run, *words)


def test_tables_of_other_rules_are_not_summed_up_again_by_another_path(
    run: Path, shown: Shown
) -> None:
    stamp = run / "tables" / STAMP
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"rules": "others"}))
    assert "rules of another version" in " ".join(shown("run", "--all").split())
    changed(summary_file(run / "tables", None))
    assert "as it was kept" in shown(run)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_the_same_of_an_event_log(
    log: Path, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside(capsys, "ingest", log, "-o", "run").code == 0
    first = shown("run", "--json")
    assert shown("run", "--json") == first


def test_no_database_is_loaded_for_it(run: Path, shown: Shown) -> None:
    shown("run")
    program = (
        "import sys; from pyrometer.cli.main import main; sys.argv[1:] = ['show', 'run']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({'duckdb', 'numpy', 'pyarrow'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "Ledger" in done.stdout or "ledger" in done.stdout
    assert done.stderr.split() == []


def edit_manifest(run: Path) -> None:
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"state": "done"', '"state": "failed"'))
    data = json.loads(manifest.read_text())
    data["workload"]["name"] = "another"
    manifest.write_text(json.dumps(data))


def touch_table(run: Path) -> None:
    os.utime(run / "tables" / "tasks.parquet", ns=(1, 1))


def cut(run: Path) -> None:
    kept = summary_file(run / "tables", None)
    kept.write_bytes(kept.read_bytes()[:-20])


def nonsense(run: Path) -> None:
    kept = summary_file(run / "tables", None)
    data = json.loads(kept.read_bytes())
    data["summary"]["stages"] = [{"stage_id": "x"}]
    kept.write_text(json.dumps(data))


@pytest.mark.slow
@pytest.mark.parametrize("what", [edit_manifest, touch_table, cut, nonsense])
def test_it_is_made_again_after(what, run: Path, shown: Shown) -> None:  # type: ignore[no-untyped-def]
    first = shown("run")
    changed(summary_file(run / "tables", None))
    what(run)
    second = shown("run")
    assert "as it was kept" not in second
    assert (second == first) == (what is not edit_manifest)


def test_a_folder_that_cannot_be_written_is_shown_all_the_same(run: Path, shown: Shown) -> None:
    if os.geteuid() == 0:
        # Who may write everywhere cannot replace a folder by a file.
        summary_file(run / "tables", None).mkdir()
    else:
        (run / "tables").chmod(0o500)
    first = shown("run")
    assert shown("run") == first
    (run / "tables").chmod(0o700)
    assert not list((run / "tables").glob(".summary-*.json.*"))


def test_new_tables_take_it_away(
    tmp_path: Path, shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    log = LOGS[0]
    assert inside(capsys, "ingest", log, "-o", "run").code == 0
    shown("run")
    assert summary_file(tmp_path / "run" / "tables", None).is_file()
    assert inside(capsys, "ingest", log, "-o", "run").code == 0
    assert not summary_file(tmp_path / "run" / "tables", None).exists()
