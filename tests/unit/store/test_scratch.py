"""Scratch folders: gone with their maker, however it ended."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyrometer.store.scratch import Scratch
from pyrometer.store.tables import Tables

# Holds a table store open until it is killed.
_HOLDER = """
import pathlib, sys, time
from pyrometer.store.tables import Tables
tables = Tables(pathlib.Path("nowhere"))
print("open", flush=True)
time.sleep(600)
"""
_LONG_AGO = time.time() - 3600


def old(folder: Path) -> Path:
    os.utime(folder, (_LONG_AGO, _LONG_AGO))
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_what_a_killed_process_left_is_removed_by_the_next(temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        (held,) = temporary.glob("pyrometer-duckdb-*")
        old(held)
        Tables(temporary / "nowhere").close()
        assert held.is_dir(), "it belongs to a process that lives"
        holder.send_signal(signal.SIGKILL)
    assert held.is_dir()
    Tables(temporary / "nowhere").close()
    assert not list(temporary.iterdir())


def test_only_folders_of_our_own_that_are_not_new_are_removed(temporary: Path) -> None:
    beside = temporary / "beside"
    beside.mkdir()
    (beside / "file").touch()
    old(beside)
    new = temporary / "mine-new"
    new.mkdir()
    link = temporary / "mine-link"
    link.symlink_to(beside)
    os.utime(link, (_LONG_AGO, _LONG_AGO), follow_symlinks=False)
    left = temporary / "mine-left"
    left.mkdir()
    old(left)
    with Scratch("mine-") as scratch:
        assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
        assert {path.name for path in temporary.iterdir()} == {
            "beside",
            "mine-link",
            "mine-new",
            scratch.path.name,
        }
        assert not left.exists()
    assert sorted(path.name for path in temporary.iterdir()) == ["beside", "mine-link", "mine-new"]
    assert (beside / "file").exists()


def test_a_fork_leaves_the_folder_to_its_maker(temporary: Path) -> None:
    scratch = Scratch("mine-")
    child = os.fork()
    if child == 0:
        scratch.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert scratch.path.is_dir()
    scratch.close()
    assert not scratch.path.exists()
