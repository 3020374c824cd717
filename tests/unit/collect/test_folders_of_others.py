"""What is done in folders where others may write: no link is followed, nothing of theirs goes."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from tests.support import needs

from pyrometer.collect.attach import hotspot, profiler
from pyrometer.collect.attach.as_user import User
from pyrometer.collect.attach.spark_jvm import SparkJvm, copy_event_logs
from pyrometer.collect.host import neighbour
from pyrometer.collect.launch import record
from pyrometer.collect.launch.record import make_run_dir
from pyrometer.collect.probes import os as os_probe
from pyrometer.collect.probes.base import Detached
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import UsageError
from pyrometer.orchestrator import attach
from pyrometer.store.manifest import Overlay
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import keep_private
from pyrometer.trial.trial import Trial

DRIVER = SparkJvm("driver", "driver", "app-1")
NOBODY = 65534
# Where others may run it: a folder on PATH may be ours alone.
SLEEP = os.path.realpath(shutil.which("sleep") or "sleep")


@pytest.fixture
def theirs() -> Iterator[int]:
    """Give a process of another user's, which runs."""
    needs.root()
    with subprocess.Popen([SLEEP, "60"], user=NOBODY, group=NOBODY, extra_groups=[]) as process:
        yield process.pid
        process.kill()


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
    assert modes == {"run": 0o700, "raw": 0o700, "eventlog": 0o700}


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


def _given(mode: int, owner: int) -> Any:
    def change(folder: Path) -> None:
        os.chown(folder, owner, -1)
        folder.chmod(mode)

    return change


def _linked(folder: Path) -> None:
    """Have another user's link lead from a folder that is safe otherwise to one of root's."""
    (folder.parent / "roots").mkdir()
    folder.rmdir()
    folder.symlink_to(folder.parent / "roots")
    os.chown(folder, NOBODY, -1, follow_symlinks=False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_given(0o755, NOBODY), "belongs to user nobody: files of root are not safe below it"),
        (_given(0o777, 0), "belongs to user root and may be changed by others"),
        (_given(0o775, 0), "belongs to user root and may be changed by others"),
        (_given(0o1777, NOBODY), "belongs to user nobody"),
        (_linked, "belongs to user nobody"),
    ],
)
@pytest.mark.parametrize("below", ["run", "new/run", ""])
def test_other_users_processes_are_not_observed_from_a_folder_that_others_change(
    tmp_path: Path, change: Any, said: str, below: str
) -> None:
    needs.root()
    home = tmp_path / "home"
    home.mkdir()
    change(home)
    with pytest.raises(UsageError) as refused:
        make_run_dir(Trial(command=("true",), run_dir=home / below), of_others=True)
    assert refused.value.message.startswith(f"{home} {said}")
    word, elsewhere = shlex.split(refused.value.remedy or "")
    assert (word, Path(elsewhere).parent) == ("-o", Path("/var/tmp"))
    assert list(home.iterdir()) == []


def test_another_users_process_is_not_observed_from_that_users_folder(
    theirs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path, NOBODY, -1)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="files of root are not safe"):
        attach.probe([theirs], seconds=0.1)
    assert list(tmp_path.iterdir()) == []


def test_another_users_process_is_observed_from_a_folder_of_our_own(
    theirs: int, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "link").symlink_to(shared)
    assert hotspot.has_other_users([theirs])
    before = os.umask(0)
    try:
        trial = Trial(command=("true",), run_dir=tmp_path / "link" / "new" / "run")
        paths = make_run_dir(trial, of_others=True)
    finally:
        os.umask(before)
    assert paths.root == shared / "new" / "run"
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (paths.root.parent, paths.root)]
    assert modes == [0o755, 0o700]


def test_our_own_process_is_observed_wherever_we_say(tmp_path: Path) -> None:
    """As ``run`` is: it could do whatever may be done to its files."""
    tmp_path.chmod(0o777)
    assert not hotspot.has_other_users([os.getpid()])
    assert make_run_dir(Trial(command=("true",), run_dir=tmp_path / "run")).raw.is_dir()


def test_a_child_of_another_users_counts() -> None:
    needs.root()
    child = f"subprocess.Popen([{SLEEP!r}, '60'], user={NOBODY}, group={NOBODY}, extra_groups=[])"
    words = [
        sys.executable,
        "-c",
        f"import subprocess; p = {child}; print(p.pid, flush=1); p.wait()",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        below = int(parent.stdout.readline())
        try:
            assert hotspot.has_other_users([parent.pid])
        finally:
            os.kill(below, 9)


@pytest.mark.parametrize("name", ["profile-java-{0}.jfr", ".profiler-{0}.log"])
def test_a_link_in_the_place_of_a_recording_is_not_followed(
    tmp_path: Path, victim: Path, name: str
) -> None:
    paths = RunPaths(tmp_path / "run")
    paths.raw.mkdir(parents=True)
    jvm: Any = SimpleNamespace(pid=os.getpid(), uid=os.geteuid())
    (paths.raw / name.format(jvm.pid)).symlink_to(victim)
    stacks = profiler.AttachedStacks(jvm, "java", StacksProbe({"cpu": "10ms"}))
    with pytest.raises(OSError, match="File exists"):
        stacks.start(paths, jvm.pid)
    assert victim.read_text() == "precious"


def test_a_link_in_the_place_of_the_raw_folder_gets_no_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    (root / "raw").mkdir(parents=True)
    root.chmod(0o700)
    paths = RunPaths(tmp_path / "run")
    paths.root.symlink_to(root)
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    jvm: Any = SimpleNamespace(pid=os.getpid(), uid=os.geteuid() + 1)
    stacks = profiler.AttachedStacks(jvm, "java", StacksProbe({"cpu": "10ms"}))
    with pytest.raises(NotADirectoryError):
        stacks.start(paths, jvm.pid)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_rights_are_taken_from_what_is_there_and_from_nothing_that_a_link_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that takes a file's place between a look and a change is not followed either."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "file").write_text("")
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    (run / "raw" / "log").write_text("")
    swapped = run / "raw" / "swapped"
    swapped.write_text("")
    for file in (outside / "file", run / "raw" / "log", swapped):
        file.chmod(0o644)
    (run / "raw" / "folder").symlink_to(outside)
    looked = os.stat

    def look(path: Any, **more: Any) -> os.stat_result:
        found = looked(path, **more)
        if str(path).endswith("swapped"):
            swapped.unlink()
            swapped.symlink_to(outside / "file")
        return found

    monkeypatch.setattr(os, "stat", look)
    keep_private(run)
    monkeypatch.undo()
    assert swapped.is_symlink()
    assert stat.S_IMODE((outside / "file").stat().st_mode) == 0o644
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755
    assert stat.S_IMODE((run / "raw" / "log").stat().st_mode) == 0o600


def test_a_link_in_the_place_of_a_log_of_ours_is_replaced(tmp_path: Path, victim: Path) -> None:
    log = tmp_path / "probe.log"
    log.symlink_to(victim)
    process = Detached()
    process.start(["true"], log)
    process.stop(60)
    assert victim.read_text() == "precious"
    assert not log.is_symlink()
