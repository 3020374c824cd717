"""Disks made of this host's files: everything that is needed, at the same path, and made once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyrometer.guests.parts import images
from pyrometer.guests.parts.closure import Listing, collect, libraries_here
from pyrometer.guests.parts.images import image_of, key_of
from pyrometer.guests.parts.programs import python

NO_MKE2FS = shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None


def test_links_are_followed_to_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "jdk/conf").mkdir(parents=True)
    (tmp_path / "etc/java").mkdir(parents=True)
    (tmp_path / "etc/java/security").write_text("x")
    (tmp_path / "jdk/conf/security").symlink_to("../../etc/java/security")
    (tmp_path / "default").symlink_to(tmp_path / "jdk")
    (tmp_path / "jdk/.git").mkdir()
    (tmp_path / "jdk/.git/config").write_text("x")
    found = collect([tmp_path / "default"], {})
    assert found.links[str(tmp_path / "default")] == str(tmp_path / "jdk")
    assert found.links[str(tmp_path / "jdk/conf/security")] == "../../etc/java/security"
    assert list(found.files) == [str(tmp_path / "etc/java/security")]
    assert str(tmp_path / "jdk/.git") not in found.folders


def test_links_in_circles_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "up").symlink_to("..")
    found = collect([tmp_path / "a", tmp_path / "up/up/x"], {})
    assert found.files == {}


def test_what_is_asked_for_and_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    found = collect([tmp_path / "none", tmp_path / "dangling"], {})
    assert found.missing == [str(tmp_path / "none")]


def test_a_python_comes_with_its_loader_libraries_and_modules() -> None:
    found = collect(python(sys.executable).roots, libraries_here())
    assert os.path.realpath(sys.executable) in found.files
    names = {os.path.basename(path) for path in found.files}
    assert {"libc.so.6", "os.py"} <= names
    assert any(name.startswith("ld-linux") for name in names)


def test_what_lies_on_another_disk_is_left_out(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    base = collect([tmp_path / "a"], {})
    assert list(collect([tmp_path], {}, base).files) == [str(tmp_path / "b")]


@pytest.mark.skipif(os.geteuid() == 0, reason="this machine lacks a user who may not read a file")
def test_what_may_not_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    found = collect([tmp_path], {})
    assert found.files == {}
    assert found.unreadable == [str(tmp_path / "secret")]


def test_compiled_python_makes_no_other_disk(tmp_path: Path) -> None:
    before = key_of(small(tmp_path))
    (tmp_path / "in/__pycache__").mkdir()
    os.utime(tmp_path / "in", (1, 1))
    (tmp_path / "in/__pycache__/x.pyc").write_bytes(b"x")
    listing = collect([tmp_path / "in"], {})
    assert str(tmp_path / "in/__pycache__/x.pyc") in listing.files
    assert key_of(listing) == before


def small(tmp_path: Path) -> Listing:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/file").write_bytes(b"content")
    (tmp_path / "in/run").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "in/run").chmod(0o755)
    (tmp_path / "in/link").symlink_to("deep/file")
    return collect([tmp_path / "in"], {})


@pytest.mark.skipif(NO_MKE2FS, reason="not installed: mke2fs. Install: apt-get install e2fsprogs")
def test_a_disk_holds_what_was_listed_under_the_same_path(tmp_path: Path) -> None:
    listing = small(tmp_path)
    made = image_of(listing, tmp_path / "cache")

    def debugfs(command: str) -> str:
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        return subprocess.run(
            ["debugfs", "-R", command, str(made)], env={"PATH": path}, capture_output=True,
            text=True, check=True,
        ).stdout  # fmt: skip

    assert debugfs(f"cat {tmp_path}/in/deep/file") == "content"
    assert "Mode:  0755" in debugfs(f"stat {tmp_path}/in/run")
    assert 'Fast link dest: "deep/file"' in debugfs(f"stat {tmp_path}/in/link")
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [made.name]


@pytest.mark.skipif(NO_MKE2FS, reason="not installed: mke2fs. Install: apt-get install e2fsprogs")
def test_a_disk_is_made_once_and_anew_where_a_file_changed(tmp_path: Path) -> None:
    listing = small(tmp_path)
    made = image_of(listing, tmp_path / "cache")
    first = made.stat().st_ino
    assert image_of(collect([tmp_path / "in"], {}), tmp_path / "cache").stat().st_ino == first
    (tmp_path / "in/deep/file").write_bytes(b"other content")
    changed = collect([tmp_path / "in"], {})
    assert key_of(changed) != key_of(listing)
    assert image_of(changed, tmp_path / "cache") != made


@pytest.mark.skipif(NO_MKE2FS, reason="not installed: mke2fs. Install: apt-get install e2fsprogs")
def test_disks_that_were_not_used_for_longest_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "KEPT", 2)
    (tmp_path / "in").mkdir()
    made = []
    for number in range(3):
        (tmp_path / "in/file").write_text("x" * number)
        made.append(image_of(collect([tmp_path / "in"], {}), tmp_path / "cache"))
        os.utime(made[-1], (number, number))
    assert [one.exists() for one in made] == [False, True, True]
