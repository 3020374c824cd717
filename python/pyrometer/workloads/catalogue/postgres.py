"""A private PostgreSQL server for one process: created, started, queried, stopped and removed.

It listens on a socket without a file, which only its user may use (``peer``). As root its programs
run as user ``postgres``, or ``nobody``, because PostgreSQL refuses root. Its data does not outlive
the process, so it runs without fsync.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, BinaryIO

from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.core.replacing import new_file

PREFIX = "postgres-"
START_S = 30.0
_PR_SET_PDEATHSIG = 1

# The smallest pool of buffers that works: what is read comes from the kernel, whose cache we
# know how to empty, and not from the server's memory.
SETTINGS = {
    "shared_buffers": "256kB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "listen_addresses": "",
    "jit": "off",
}


def programs() -> Path:
    """Folder of PostgreSQL's programs.

    Raises
    ------
    CapabilityError
        If there is none.
    """
    found = shutil.which("postgres")
    places = [Path(os.path.realpath(found)).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if all((place / name).is_file() for name in ("postgres", "initdb", "psql", "pgbench")):
            return place
    raise CapabilityError(
        "PostgreSQL is not installed (postgres, initdb, psql and pgbench)",
        "apt-get install postgresql",
    )


class Server:
    """A server in a new folder below `root`.

    Parameters
    ----------
    root : Path
        Folder on the disk to use. The folder's name holds our pid: one of a dead process is
        found and removed by the next.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bin = programs()
        self._user = _user()
        self.folder = root / f"{PREFIX}{os.getpid()}"
        self.data = self.folder / "data"
        self._socket = f"@pyrometer-{os.getpid()}"

    def start(self) -> None:
        """Create the database and start the server.

        Raises
        ------
        CapabilityError
            If it does not start; its output is in the message.
        """
        self.remove()
        self._remove_leftovers()
        self.folder.mkdir(parents=True)
        log = self.folder / "log"
        # While the folder is ours: in that of another user a link could stand in its place.
        with new_file(log) as out:
            self._start(out)
        deadline = time.monotonic() + START_S
        while self._server.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(CapabilityError):
                self.sql("select 1")
                return
            time.sleep(0.05)
        said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        raise CapabilityError(f"PostgreSQL did not start in {self.folder}: {said}")

    def _start(self, out: BinaryIO) -> None:
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid, follow_symlinks=False)
        self.run("initdb", "-D", self.data, "-A", "peer", "-U", self._name, "--no-sync")
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        self._server = subprocess.Popen(
            [self._bin / "postgres", "-D", self.data, "-k", self._socket, *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=self.folder,
            preexec_fn=_die_with_parent,
            **self._as_user(),
        )

    def sql(self, text: str) -> str:
        """Run statements; returns the output of the last one, unformatted."""
        return self.run("psql", *self.connection(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", text)

    def run(self, program: str, *arguments: str | Path) -> str:
        """Run one of PostgreSQL's programs to its end; returns its output.

        Raises
        ------
        CapabilityError
            If it fails.
        """
        done = subprocess.run(
            [self._bin / program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=self.folder,
            check=False,
            **self._as_user(),
        )
        if done.returncode:
            raise CapabilityError(f"{program} failed: {done.stderr.strip()[-500:]}")
        return str(done.stdout)

    def connection(self) -> list[str]:
        """Options by which its programs find the server."""
        return ["-h", self._socket, "-U", self._name, "-d", "postgres"]

    def files(self, *relations: str) -> list[str]:
        """All files of tables and indexes."""
        asked = "', '".join(relations)
        paths = self.sql(f"select pg_relation_filepath(n) from unnest(array['{asked}']) as n")
        # Beyond 1 GiB a relation goes on in files of the same name with .1, .2, ...
        return sorted(str(f) for path in paths.split() for f in self.data.glob(f"{path}*"))

    def remove(self) -> None:
        """End the server at once, and remove all it holds."""
        _remove(self.folder)

    @property
    def _name(self) -> str:
        return self._user.pw_name if self._user else pwd.getpwuid(os.geteuid()).pw_name

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _remove_leftovers(self) -> None:
        for folder in self._root.glob(f"{PREFIX}*"):
            pid = folder.name.removeprefix(PREFIX)
            if pid.isdigit() and not runs(int(pid)):
                _remove(folder)


def check(root: Path) -> None:
    """Check that a server could run in a folder below `root`, before anything is created.

    Raises
    ------
    CapabilityError
        No PostgreSQL, no user for it, or a folder that this user cannot reach.
    """
    programs()
    user = _user()
    if user is None:
        return
    for folder in (root, *root.parents):
        if folder.exists() and not folder.stat().st_mode & 0o001:
            raise CapabilityError(
                f"PostgreSQL runs as user {user.pw_name}, who cannot pass {folder}",
                "set PYROMETER_CACHE to a folder that everybody can reach, as /var/tmp/pyrometer",
            )


def _user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise CapabilityError(
        "PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody",
        "run as another user",
    )


def _remove(folder: Path) -> None:
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        # Numbers come again: only a server of this folder is ours.
        if program == "postgres" and Path(f"/proc/{pid}/cwd").samefile(folder / "data"):
            os.kill(pid, signal.SIGQUIT)
            _await_end(pid)
    except (OSError, ValueError, IndexError):
        pass
    shutil.rmtree(folder, ignore_errors=True)


def _await_end(pid: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        if not runs(pid):
            return
        time.sleep(0.02)


def _die_with_parent() -> None:
    # An immediate shutdown once the process that started us is gone.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
