"""Files created with the rights of another process's user, so that it never gets those of root."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SETGROUPS = {"x86_64": 116, "aarch64": 159}
"""Numbers of the system call, which changes one thread; the C library's changes all of them."""


@dataclass(frozen=True)
class User:
    """Who a process is to the file system.

    Parameters
    ----------
    uid, gid : int
        User and group with which it creates files.
    groups : sequence of int
        Its other groups.
    """

    uid: int
    gid: int
    groups: Sequence[int] = ()

    def does(self, action: Callable[[], None]) -> None:
        """Do something to files with this user's rights, and no others.

        By a thread that takes them on (``setfsuid(2)`` and root's file capabilities with it) and
        ends: no other thread is ever without its rights.

        Raises
        ------
        OSError
            What `action` raised, or that we may not act for this user.
        """
        # Who is not root may only be the user itself.
        if os.geteuid() != 0 or (self.uid, self.gid) == (0, os.getegid()):
            action()
            return
        raised: list[OSError] = []

        def acting() -> None:
            try:
                self._become()
                action()
            except OSError as error:
                raised.append(error)

        thread = threading.Thread(target=acting)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    def _become(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        number = _SETGROUPS.get(platform.machine())
        groups = (ctypes.c_uint32 * len(self.groups))(*self.groups)
        if number is None or libc.syscall(number, len(groups), groups) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"groups of user {self.uid}: {os.strerror(code)}")
        for change, wanted in ((libc.setfsgid, self.gid), (libc.setfsuid, self.uid)):
            change(wanted)
            # Both return the previous value; -1 is nobody, and changes nothing.
            if change(-1) != wanted:
                raise PermissionError(f"not allowed to make files as user {self.uid}")


def put_for_all(folder: int, name: str, content: bytes, uid: int) -> None:
    """Have a file of `uid` in a folder that everybody can read and execute, as that user does it.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.
    name : str
        The file. What bears the name and is not that file is replaced.
    content : bytes
        What it holds.
    uid : int
        Who acts: `User.does` this.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    if _holds(folder, name, content, uid):
        return
    temporary = f"{name}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o755, dir_fd=folder), "wb") as out:
        out.write(content)
        # Not by its name: somebody else may put a link there.
        os.fchmod(out.fileno(), 0o755)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _holds(folder: int, name: str, content: bytes, uid: int) -> bool:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=folder)
    except OSError:
        return False
    with open(opened, "rb") as file:
        about = os.fstat(opened)
        mine = stat.S_ISREG(about.st_mode) and about.st_uid == uid
        return mine and about.st_size == len(content) and file.read(len(content)) == content


@contextlib.contextmanager
def marked(folder: Path, name: str, user: User) -> Iterator[None]:
    """Keep an empty file in a folder that `user` controls; it is theirs, and goes at the end.

    It is always a new file, and no link is followed: whatever `user` puts there, nothing else is
    touched, and nothing is done that `user` could not have done.

    Raises
    ------
    OSError
        If `user` cannot create it there.
    """
    where = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def remove() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=where)

    def create() -> None:
        # A leftover of an earlier attempt is in the way.
        remove()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(name, flags, 0o600, dir_fd=where))

    try:
        user.does(create)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                user.does(remove)
    finally:
        os.close(where)
