"""The private server: what its user could do to root, and what we could do to other servers."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import needs

from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.workloads.catalogue import postgres
from pyrometer.workloads.catalogue.postgres import Server
from pyrometer.workloads.catalogue.random_read import RandomRead
from pyrometer.workloads.registry import resolve
from pyrometer.workloads.values import Prepared

INITDB = """#!/bin/sh
# What a user who controls the folder may do meanwhile.
rm -f log
ln -s {victim} log
mkdir data
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can reach, as the server's must be."""
    folder = Path(tempfile.mkdtemp(prefix="pyrometer-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def programs(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = place / "bin"
    folder.mkdir()
    initdb = INITDB.format(victim=place / "victim")
    texts = {"initdb": initdb, "postgres": "exec sleep 3", "psql": ""}
    for name, text in texts.items():
        program = folder / name
        program.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setattr(postgres, "programs", lambda: folder)
    return folder


def test_its_user_cannot_have_root_write_to_another_file(place: Path, programs: Path) -> None:
    needs.root()
    victim = place / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    server = Server(place / "root")
    server.start()
    try:
        assert (server.folder / "log").is_symlink()
        assert server.folder.stat().st_uid != 0
        assert victim.read_text() == "precious"
    finally:
        server.remove()
    assert victim.read_text() == "precious"
    assert not server.folder.exists()


def test_another_server_that_got_the_number_lives(place: Path, programs: Path) -> None:
    program = place / "postgres"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    server = Server(place / "root")
    data = server.folder / "data"
    for cwd, lives in ((place, True), (data, False)):
        data.mkdir(parents=True)
        process = subprocess.Popen([program, "60"], cwd=cwd)
        try:
            (data / "postmaster.pid").write_text(f"{process.pid}\n")
            server.remove()
            assert runs(process.pid) is lives
            assert not server.folder.exists()
        finally:
            process.kill()
            process.wait()


def test_a_table_for_which_there_is_no_room_is_not_begun(
    place: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its script was written by an earlier run, when there was room.
    script = place / "cache" / "data" / "random-read-table"
    script.mkdir(parents=True)
    (script / "load.sql").write_text("create table blocks;\n")
    spec = resolve("random-read", {"workload.engine": "postgresql"}, "test")
    prepared = Prepared(root=str(script), facts={"reads": 500})
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1 << 20))
    try:
        with pytest.raises(CapabilityError, match="the data needs about"):
            RandomRead().setup(None, prepared, spec)
    finally:
        RandomRead().teardown(prepared, spec)
    assert not list(script.parents[1].glob(f"{postgres.PREFIX}*"))
