"""Files that root makes where another user rules: with that user's rights, and no more."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.collect.attach.as_user import User, marked, put_for_all
from pyrometer.core.foreign_files import copy_files

NOBODY = User(65534, 65534)
NAME = ".attach_pid7"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder that nobody owns, in one that all can enter."""
    needs.root()
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY.uid, NOBODY.gid)
    return folder


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_in_the_way_is_not_followed(theirs: Path, tmp_path: Path, link: object) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    before = secret.stat()
    assert callable(link)
    link(secret, theirs / NAME)
    with marked(theirs, NAME, NOBODY):
        made = (theirs / NAME).lstat()
        assert stat.S_ISREG(made.st_mode)
        assert (made.st_uid, made.st_gid, made.st_size) == (NOBODY.uid, NOBODY.gid, 0)
        assert made.st_ino != before.st_ino
    after = secret.stat()
    assert (after.st_uid, after.st_mode, after.st_ino) == (0, before.st_mode, before.st_ino)
    assert secret.read_text() == "root's"
    assert list(theirs.iterdir()) == []


def test_nothing_is_made_where_the_user_could_not(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir(mode=0o755)
    # As a JVM has it whose working folder is one of root's.
    (theirs / "cwd").symlink_to(ours)
    with pytest.raises(PermissionError), marked(theirs / "cwd", NAME, NOBODY):
        pytest.fail("it was made")
    # A file in the way that the user may not remove stays.
    theirs.chmod(0o1777)
    os.chown(theirs, 0, 0)
    (theirs / NAME).touch()
    with pytest.raises(PermissionError), marked(theirs, NAME, NOBODY):
        pytest.fail("it was made")
    assert list(ours.iterdir()) == []
    assert (theirs / NAME).stat().st_uid == 0


def test_nothing_is_copied_that_the_user_could_not_read(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    # The same file by a name of theirs.
    os.link(secret, theirs / "app-1")
    with pytest.raises(PermissionError):
        copy_files(theirs / "app-1", tmp_path / "copy", NOBODY.does)
    assert not (tmp_path / "copy").exists()
    (theirs / "app-2").write_text("theirs")
    copy_files(theirs / "app-2", tmp_path / "copy", NOBODY.does)
    assert (tmp_path / "copy").read_text() == "theirs"


def test_the_profilers_library_is_the_users_own(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    (theirs / "x.so").symlink_to(secret)
    folder = os.open(theirs, os.O_PATH | os.O_DIRECTORY)
    try:
        NOBODY.does(lambda: put_for_all(folder, "x.so", b"library", NOBODY.uid))
        made = (theirs / "x.so").lstat()
        NOBODY.does(lambda: put_for_all(folder, "x.so", b"library", NOBODY.uid))
        assert (theirs / "x.so").lstat().st_ino == made.st_ino
        os.chown(theirs, 0, 0)
        with pytest.raises(PermissionError):
            NOBODY.does(lambda: put_for_all(folder, "y.so", b"library", NOBODY.uid))
    finally:
        os.close(folder)
    assert stat.S_ISREG(made.st_mode)
    assert (made.st_uid, stat.S_IMODE(made.st_mode)) == (NOBODY.uid, 0o755)
    assert secret.read_text() == "root's"


def test_other_threads_keep_their_rights(theirs: Path, tmp_path: Path) -> None:
    os.chown(theirs, 0, 0)
    refused: list[OSError] = []
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            try:
                (tmp_path / "own").write_text("x")
            except OSError as error:
                refused.append(error)

    other = threading.Thread(target=write)
    other.start()
    for _ in range(200):
        with pytest.raises(PermissionError):
            NOBODY.does(lambda: os.close(os.open(theirs / "x", os.O_CREAT | os.O_WRONLY)))
    over.set()
    other.join()
    assert refused == []
    (theirs / "mine").touch()
    assert (theirs / "mine").stat().st_uid == 0
