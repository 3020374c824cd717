"""Folders of tables: which files are read, and which may be deleted."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.eventlog.recorded import recorded
from tests.support.growing_run import growing_run

from pyrometer.core.errors import UsageError
from pyrometer.store import Run, Tables, ingest, ingest_eventlogs, ingest_run, write_rows
from pyrometer.store.locate import cache_folder, is_current, locate
from pyrometer.store.tables_folder import STAMP, STARTED, note_written, replaced_tables

LOG = next(log for log in recorded() if log.is_file())


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("st*r", ["star", "stir"]),
        ("g[1]", ["g1"]),
        ("q?x", ["qax"]),
        ("h**", ["h", "hh"]),
        ("it's", []),
        (r"back\slash", ["backslash"]),
    ],
)
def test_a_path_is_read_by_the_letter(tmp_path: Path, name: str, others: list[str]) -> None:
    for folder in (name, *others):
        (tmp_path / folder).mkdir()
        write_rows(tmp_path / folder, "gc_pauses", [{}] * (3 if folder == name else 50))
    tables = Tables(tmp_path / name)
    try:
        assert tables.rows_count("gc_pauses") == 3
    finally:
        tables.close()


@pytest.mark.parametrize("name", ["pid=7", "sweep/host=a", "collector=x/duration_ns=1"])
def test_a_folder_that_is_called_like_a_column_is_none(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    row = {"host": "lab", "pid": 1, "collector": "G1", "duration_ns": 5}
    write_rows(folder, "gc_pauses", [row])
    with Tables(folder) as tables:
        found = tables.records("SELECT host, pid, collector, duration_ns FROM gc_pauses")
    assert found == [row]


def test_a_path_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run" / "raw").mkdir(parents=True)
    (tmp_path / "run" / "tables").mkdir()
    write_rows(tmp_path / "run" / "tables", "gc_pauses", [{}])
    folder = (tmp_path / "run").rename(tmp_path / os.fsdecode(b"caf\xe9"))
    for refusing in (lambda: Tables(folder / "tables"), lambda: ingest_run(folder)):
        with pytest.raises(UsageError, match="not UTF-8") as refused:
            refusing()
        assert refused.value.remedy == "rename the folder"


def test_a_path_that_no_pattern_stands_for_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / r"a\*"
    folder.mkdir()
    write_rows(folder, "gc_pauses", [{}])
    with pytest.raises(UsageError, match="backslash") as refused:
        Tables(folder)
    assert refused.value.remedy == "rename the folder"


def test_files_of_others_are_never_deleted(tmp_path: Path) -> None:
    tables = tmp_path / "my-project" / "tables"
    tables.mkdir(parents=True)
    for name in ("sales.parquet", "stages.parquet"):
        (tables / name).write_text(name)
    with pytest.raises(UsageError, match="did not write") as refused:
        ingest_eventlogs([LOG], tables.parent)
    assert "sales.parquet" in refused.value.message
    with pytest.raises(UsageError, match="did not write"):
        ingest_run(tables.parent)
    assert {path.name: path.read_text() for path in tables.iterdir()} == {
        name: name for name in ("sales.parquet", "stages.parquet")
    }


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    ingest_eventlogs([LOG], tmp_path / "first")
    before = sorted(
        (path.name, path.stat().st_ino) for path in (tmp_path / "first/tables").iterdir()
    )
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "tables").symlink_to(tmp_path / "first" / "tables")
    with pytest.raises(UsageError, match="symbolic link"):
        ingest_eventlogs([LOG], tmp_path / "second")
    after = sorted(
        (path.name, path.stat().st_ino) for path in (tmp_path / "first/tables").iterdir()
    )
    assert after == before


def test_a_link_in_the_place_of_the_mark_leads_nowhere(tmp_path: Path) -> None:
    """A run may be somebody else's, links and all."""
    ingest_eventlogs([LOG], tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "tables" / STARTED).symlink_to(victim)
    with replaced_tables(tmp_path / "tables", known=True):
        assert not (tmp_path / "tables" / STARTED).is_symlink()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("state", ["whole", "killed early", "killed late"])
def test_our_own_are_made_again_and_what_lies_beside_them_stays(tmp_path: Path, state: str) -> None:
    ingest_eventlogs([LOG], tmp_path)
    tables = tmp_path / "tables"
    if state != "whole":
        (tables / STARTED).write_bytes((tables / STAMP).read_bytes())
        (tables / ".tasks.parquet.tmp").write_text("half")
    if state == "killed late":
        (tables / STAMP).unlink()
    theirs = ["notes.parquet", "notes.txt", "tasks-before.parquet", "tasks.parquet.tmp"]
    for name in theirs:
        (tables / name).write_text(name)
    ingest_eventlogs([LOG], tmp_path)
    assert [(tables / name).read_text() for name in theirs] == theirs
    assert not (tables / ".tasks.parquet.tmp").exists()
    assert not (tables / STARTED).exists()
    with Run.open(tmp_path) as run:
        assert (run.tables.rows_count("apps"), run.tables.rows_count("tasks")) == (1, 4)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (STAMP, b'{"schema": "pyrometer/tables/1", "fil'),
        (STAMP, b""),
        (STAMP, b'{"schema": "pyrometer/tables/1", "files": null}'),
        (STAMP, b'{"schema": "pyrometer/tables/1", "files": 5}'),
        (STARTED, b"1733000000000000000"),
    ],
)
def test_a_mark_that_names_no_files_tells_our_folder(
    tmp_path: Path, mark: str, said: bytes
) -> None:
    """Cut by a full disk, changed by hand, or of an older version that was killed."""
    ingest_eventlogs([LOG], tmp_path)
    tables = tmp_path / "tables"
    names = {path.name for path in tables.iterdir()}
    (tables / STAMP).unlink()
    (tables / mark).write_bytes(said)
    (tables / "tasks-before.parquet").write_text("mine")
    ingest_eventlogs([LOG], tmp_path)
    assert {path.name for path in tables.iterdir()} == names | {"tasks-before.parquet"}
    with Run.open(tmp_path) as run:
        assert run.tables.rows_count("tasks") == 4


def test_tables_without_their_stamp_are_refused_for_what_they_are(tmp_path: Path) -> None:
    ingest_eventlogs([LOG], tmp_path)
    (tmp_path / "tables" / STAMP).unlink()
    (tmp_path / "tables" / ".findings-all.json").write_text("{}")
    with pytest.raises(UsageError, match=r"holds tables without their tables\.json") as refused:
        ingest_eventlogs([LOG], tmp_path)
    assert "if Pyrometer wrote them, delete the folder" in refused.value.remedy
    assert (tmp_path / "tables" / "tasks.parquet").exists()


def test_tables_that_are_written_next_to_those_of_an_ingest_are_ours(tmp_path: Path) -> None:
    ingest_eventlogs([LOG], tmp_path)
    note_written(tmp_path / "tables", ["ledger_slot"])
    written = write_rows(tmp_path / "tables", "ledger_slot", [{}])
    ingest_eventlogs([LOG], tmp_path)
    assert not written.exists()


def test_a_file_of_others_with_the_name_of_a_table_is_refused_not_replaced(tmp_path: Path) -> None:
    """Whether tables of ours are there, or the run has none yet."""
    ingest_eventlogs([LOG], tmp_path / "ours")
    growing_run(tmp_path / "new").paths.tables.mkdir()
    for run, again, said in (
        ("ours", lambda at: ingest_eventlogs([LOG], at), r"that Pyrometer did not write"),
        ("new", ingest_run, r"tables without their tables\.json"),
    ):
        before = {path.name for path in (tmp_path / run / "tables").iterdir()}
        for name in ("stages-mine.parquet", "host_names.parquet"):
            (tmp_path / run / "tables" / name).write_text(name)
        with pytest.raises(UsageError, match=rf"{said} \(host_names\.parquet\)"):
            again(tmp_path / run)
        assert (tmp_path / run / "tables" / "host_names.parquet").read_text()
        (tmp_path / run / "tables" / "host_names.parquet").unlink()
        again(tmp_path / run)
        after = {path.name for path in (tmp_path / run / "tables").iterdir()}
        assert after >= before | {"stages-mine.parquet", STAMP}


@pytest.mark.parametrize("moved", [0, 1, 5])
def test_one_who_is_killed_as_tables_are_put_in_place_loses_nobody_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    ingest_eventlogs([LOG], tmp_path)
    tables = tmp_path / "tables"
    names = {path.name for path in tables.iterdir()}
    (tables / "tasks-before.parquet").write_text("mine")
    replace, replaced = Path.replace, []

    def killed(self: Path, target: Path) -> Path:
        if self.parent != target.parent == tables:
            replaced.append(self.name)
            if len(replaced) > moved:
                raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    monkeypatch.setattr("pyrometer.store.tables_folder._tidy", lambda folder: None)
    with pytest.raises(KeyboardInterrupt):
        ingest_eventlogs([LOG], tmp_path)
    monkeypatch.undo()
    assert not (tables / STAMP).exists()
    ingest_eventlogs([LOG], tmp_path)
    assert {path.name for path in tables.iterdir()} == names | {"tasks-before.parquet"}


def test_tables_of_event_logs_are_their_makers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        ingest_eventlogs([LOG], tmp_path / "out")
        cached = locate(LOG).paths.root
    finally:
        os.umask(before)
    for root in (tmp_path / "out", cached):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}
        assert modes == {0o700, 0o600}


def test_of_a_log_that_grows_the_newest_tables_stay_and_those_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log = tmp_path / "app-1.inprogress"
    start = '{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"a","Timestamp":1}\n'
    code = "import pyrometer.store.locate as at, sys; print(at.locate(sys.argv[1]).paths.root)"

    def by_another() -> Path:
        command = [sys.executable, "-c", code, str(log)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return Path(done.stdout.strip())

    log.write_text(start)
    first = by_another()
    log.write_text(start + "\n")
    mine = locate(log).paths.root
    assert not first.exists()
    log = log.rename(tmp_path / "app-1")
    log.write_text(start + "\n\n")
    last = by_another()
    assert {mine, last} == set(mine.parent.iterdir())


def test_a_folder_of_tables_that_was_deleted_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = cache_folder(LOG)
    shutil.rmtree(folder)
    assert cache_folder(LOG) == folder
    assert folder.is_dir()


def test_an_ingest_that_fails_leaves_nothing_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "no-log"
    log.write_text("nothing\n")
    with pytest.raises(UsageError, match="not a Spark event log"):
        ingest_eventlogs([log], tmp_path / "out")
    assert not (tmp_path / "out" / "tables").exists()


def test_an_ingest_that_fails_leaves_the_tables_of_before(tmp_path: Path) -> None:
    ingest_eventlogs([LOG], tmp_path)
    tables = tmp_path / "tables"
    before = {path.name: path.read_bytes() for path in tables.iterdir()}
    log = tmp_path / "no-log"
    log.write_text("nothing\n")
    with pytest.raises(UsageError, match="not a Spark event log"):
        ingest_eventlogs([log], tmp_path)
    assert {path.name: path.read_bytes() for path in tables.iterdir()} == before
    with Run.open(tmp_path) as run:
        assert run.tables.rows_count("apps") == 1


def test_tables_of_before_are_whole_until_the_new_ones_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_eventlogs([LOG], tmp_path)
    stamp = json.loads((tmp_path / "tables" / STAMP).read_text())
    del stamp["files"]
    (tmp_path / "tables" / STAMP).write_text(json.dumps(stamp))
    (tmp_path / "tables" / "gc_pauses.parquet").write_text("of an older version")
    seen: list[int] = []
    write = ingest.write_rows

    def look(folder: Path, table: str, rows: Sequence[dict[str, Any]]) -> Path:
        assert is_current(tmp_path / "tables", None)
        assert (tmp_path / "tables" / "gc_pauses.parquet").exists()
        seen.append(1)
        return write(folder, table, rows)

    monkeypatch.setattr(ingest, "write_rows", look)
    ingest_eventlogs([LOG], tmp_path)
    assert seen
    assert not (tmp_path / "tables" / "gc_pauses.parquet").exists()
    assert not [path for path in (tmp_path / "tables").iterdir() if path.name.startswith(".")]
