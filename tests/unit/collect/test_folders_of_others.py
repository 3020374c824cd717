"""What is done in folders where others may write: no link is followed, nothing of theirs goes."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pyrometer.collect.attach import profiler
from pyrometer.collect.attach.as_user import User
from pyrometer.collect.attach.spark_jvm import SparkJvm, copy_event_logs
from pyrometer.collect.host import neighbour
from pyrometer.collect.launch import record
from pyrometer.collect.launch.record import make_run_dir
from pyrometer.collect.probes import os as os_probe
from pyrometer.store.manifest import Overlay
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial

DRIVER = SparkJvm("driver", "driver", "app-1")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("precious")
    path.chmod(0o600)
    return path


def test_a_link_that_calls_itself_slots_is_all_that_goes(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "raw").mkdir()
    shared = tmp_path / "pyrometer-17.context-9"
    shared.touch()
    for pid, target in ((7, victim), (9, shared), (11, tmp_path / "gone")):
        (tmp_path / "raw" / f"context-{pid}").symlink_to(target)
    (tmp_path / "raw" / "context-13").mkdir()
    os_probe.clean_up(tmp_path / "raw")
    assert victim.read_text() == "precious"
    assert not shared.exists()
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["context-13"]


def test_the_profilers_library_gets_its_rights_by_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for temporary files, as a JVM in a container sees it, may be its user's own."""

    def by_name(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a link may stand there by now")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    user = User(os.geteuid(), os.getegid())
    jvm: Any = SimpleNamespace(pid=os.getpid(), uid=user.uid, user=user)
    for changing in ("chmod", "chown", "lchown"):
        monkeypatch.setattr(os, changing, by_name)
    before = os.umask(0o077)
    try:
        made = profiler.library(jvm)
    finally:
        os.umask(before)
    written = made.stat()
    assert profiler.library(jvm) == made
    assert made.stat().st_ino == written.st_ino
    assert stat.S_IMODE(made.stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_a_neighbour_of_the_disk_writes_to_a_file_without_a_name(
    tmp_path: Path, victim: Path
) -> None:
    link = tmp_path / f"neighbour-{os.getpid()}.tmp"
    link.symlink_to(victim)
    work = neighbour.disk(tmp_path)
    assert next(work) == neighbour.BLOCK_BYTES
    assert set(tmp_path.iterdir()) == {link, victim}
    work.close()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("rolling", [False, True])
def test_no_link_among_event_logs_is_followed(tmp_path: Path, victim: Path, rolling: bool) -> None:
    said: list[str] = []
    made: Any = SimpleNamespace(
        paths=make_run_dir(Trial(command=("true",), run_dir=tmp_path / "run")),
        doubt=lambda code, text: said.append(text),
    )
    logs = tmp_path / "logs"
    log = logs / "eventlog_v2_app-1" if rolling else logs / "app-1"
    (log if rolling else logs).mkdir(parents=True)
    link = log / "events_1_app-1" if rolling else log
    link.symlink_to(victim)
    if rolling:
        (log / "events_2_app-1").write_text("theirs")
    copy_event_logs(made, DRIVER, {}, log, User(os.geteuid(), os.getegid()))
    kept = Overlay(key="spark.eventLog.dir", value=str(logs), how="kept_user", reason=None)
    record.copy_eventlogs(made, [kept], ["app-1"])
    files = [path for path in made.paths.eventlog.rglob("*") if not path.is_dir()]
    assert [path.read_text() for path in files] == (["theirs"] if rolling else [])
    assert bool(said) != rolling


def test_raw_streams_are_private_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        paths = make_run_dir(Trial(command=("true",), run_dir=tmp_path / "run"))
    finally:
        os.umask(before)
    modes = {folder.name: stat.S_IMODE(folder.stat().st_mode) for folder in _folders(paths)}
    assert modes == {"run": 0o755, "raw": 0o700, "eventlog": 0o700}


def _folders(paths: RunPaths) -> tuple[Path, ...]:
    return paths.root, paths.raw, paths.eventlog


def test_the_log_of_an_application_is_found_by_the_letter(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("app-[1]", "app-1", "app-*"):
        (logs / name).write_text(name)
    made = SimpleNamespace(
        paths=make_run_dir(Trial(command=("true",), run_dir=tmp_path / "run")),
        doubt=lambda *_: None,
    )
    kept = Overlay(key="spark.eventLog.dir", value=str(logs), how="kept_user", reason=None)
    record.copy_eventlogs(made, [kept], ["app-[1]"])  # type: ignore[arg-type]
    record.copy_eventlogs(made, [kept], ["app-*"])  # type: ignore[arg-type]
    assert sorted(path.name for path in made.paths.eventlog.iterdir()) == ["app-*", "app-[1]"]
