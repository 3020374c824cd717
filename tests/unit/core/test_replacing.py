"""Files are written whole or not at all, and never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrometer.core.replacing import new_file, replacing


def test_a_file_is_there_once_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"before")
    with replacing(target, 0o600) as out:
        out.write(b"after")
        assert target.read_bytes() == b"before"
    assert target.read_bytes() == b"after"
    assert target.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["x"]


def test_nothing_remains_of_one_that_fails(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), replacing(target):
        raise KeyboardInterrupt
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["x"]


def test_links_and_other_names_of_a_file_lead_nowhere(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    folder.mkdir()
    for plant in (os.symlink, os.link):
        victim.write_bytes(b"precious")
        for name in ("x", "new"):
            (folder / name).unlink(missing_ok=True)
            plant(victim, folder / name)
        with replacing(folder / "x") as out:
            out.write(b"ours")
        with new_file(folder / "new") as out:
            out.write(b"ours")
        assert victim.read_bytes() == b"precious"
        assert {one.name: one.read_bytes() for one in folder.iterdir()} == {
            "x": b"ours",
            "new": b"ours",
        }


@pytest.mark.parametrize(
    ("before", "after"), [(None, 0o644), (0o600, 0o600), (0o640, 0o640), (0o777, 0o644)]
)
def test_who_could_not_read_a_file_still_cannot(
    tmp_path: Path, before: int | None, after: int
) -> None:
    target = tmp_path / "x"
    if before is not None:
        target.touch()
        target.chmod(before)
    umask = os.umask(0o022)
    try:
        with replacing(target) as out:
            out.write(b"ours")
    finally:
        os.umask(umask)
    assert target.stat().st_mode & 0o777 == after


def test_two_who_write_the_same_file_each_write_a_whole_one(tmp_path: Path) -> None:
    target = tmp_path / "x"
    with replacing(target) as slow:
        slow.write(b"slow")
        with replacing(target) as fast:
            fast.write(b"fast")
        assert target.read_bytes() == b"fast"
    assert target.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["x"]


def test_no_device_and_no_pipe_is_replaced(tmp_path: Path) -> None:
    pipe, device, opened = (tmp_path / name for name in ("pipe", "device", "opened"))
    os.mkfifo(pipe)
    device.symlink_to(os.devnull)
    with (tmp_path / "x").open("wb") as out:
        opened.symlink_to(f"/proc/self/fd/{out.fileno()}")
        for target in (pipe, device, opened):
            with pytest.raises(OSError, match="a device or a pipe"), replacing(target):
                pass
    assert pipe.is_fifo()
    assert all(link.is_symlink() for link in (device, opened))
    assert len(os.listdir(tmp_path)) == 4


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    with pytest.raises(OSError), replacing(tmp_path / "x"):
        pass
    assert os.listdir(tmp_path) == ["x"]
