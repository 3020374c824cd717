"""Copies of files where others rule: of regular files alone, and never more than there is room."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pyrometer.core.foreign_files import copy_files


def test_a_file_and_the_files_of_a_folder_are_copied_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "inner").mkdir(parents=True)
    (folder / "a").write_bytes(b"x" * 3_000_000)
    (folder / ".crc").write_text("hidden")
    os.mkfifo(folder / "pipe")
    copy_files(folder, tmp_path / "copy")
    copy_files(folder / "a", tmp_path / "one")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["a"]
    made = [tmp_path / "one", tmp_path / "copy", tmp_path / "copy" / "a"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o600, 0o700, 0o600]
    assert made[0].read_bytes() == made[2].read_bytes() == (folder / "a").read_bytes()


@pytest.mark.parametrize("kind", ["link", "device", "pipe", "endless"])
def test_nothing_else_is_read(kind: str, tmp_path: Path) -> None:
    source = Path("/dev/zero") if kind == "device" else tmp_path / "source"
    if kind == "link":
        source.symlink_to(tmp_path)
    elif kind == "pipe":
        os.mkfifo(source)
    elif kind == "endless":
        with source.open("wb") as out:
            os.truncate(out.fileno(), 1 << 43)
    with pytest.raises(OSError, match=r"link|file|room"):
        copy_files(source, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_what_opens_has_the_rights_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a").write_text("a")
    done = []

    def does(action: object) -> None:
        assert callable(action)
        done.append(action)
        action()

    copy_files(tmp_path / "logs", tmp_path / "copy", does)
    assert len(done) == 2
