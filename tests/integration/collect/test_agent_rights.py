"""The agent with exactly the rights that its service and its pods have."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support import needs
from tests.support.cli import inside

from pyrometer._artifacts import plugin_jar
from pyrometer.collect.agent.access import LEVELS, Level
from pyrometer.collect.agent.folder import write
from pyrometer.collect.agent.programs import programs

CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
NOBODY = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
GROUP = 65533
"""Of whoever reads the store; the agent is not of it."""
PATIENCE_S = 60.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with the programs, which every user can enter; those of pytest are root's alone."""
    needs.root()
    needs.tool("setpriv")
    found = programs(plugin_jar())["linux-x64" if os.uname().machine == "x86_64" else "linux-arm64"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        write(folder / "agent", found, {})
        (folder / "agent").chmod(0o755)
        for name in ("store", "work"):
            (folder / name).mkdir()
            (folder / name).chmod(0o777)
        os.chown(folder / "store", -1, GROUP)
        (folder / "store").chmod(0o2777)
        yield folder


@pytest.fixture
def executor(folder: Path) -> Iterator[int]:
    """A process of another user with the command line of an executor."""
    java = folder / "java"
    shutil.copy("/bin/sh", java)
    java.chmod(0o755)
    words = [str(java), "-s", CLASS, "--executor-id", "5", "--cores", "2", "--app-id", "app-1"]
    process = subprocess.Popen(["setpriv", *NOBODY, *words], stdin=subprocess.PIPE)
    yield process.pid
    process.kill()
    process.wait()


def held(level: Level) -> list[str]:
    """Give the words before a command that leave it the rights of a level."""
    added = ",".join(f"+{name.lower()}" for name in LEVELS[level].capabilities)
    rights = ["--bounding-set", f"-all,{added}".rstrip(","), "--inh-caps", "-all"]
    return ["setpriv", *(rights if added else NOBODY), "--no-new-privs"]


def report_of(work: Path, executor: int) -> dict[str, Any]:
    """Wait until the recorder follows a process, and give its report."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for path in work.glob("*/probe-*.report.json"):
            report: dict[str, Any] = json.loads(path.read_text())
            if executor in [process["pid"] for process in report["processes"]]:
                return report
        time.sleep(0.1)
    pytest.fail(f"process {executor} was not recorded within {PATIENCE_S:g} s")


@pytest.mark.parametrize("level", get_args(Level))
def test_it_sees_what_it_is_said_to_see(folder: Path, executor: int, level: Level) -> None:
    work = folder / "work" / level
    words = ["host", "--to", f"file://{folder}/store", "--host", "h", "--work-dir", str(work)]
    words += ["--every", "0.5"]
    # As the unit has it.
    agent = subprocess.Popen([*held(level), folder / "agent" / "pyro-agent", *words], umask=0o077)
    try:
        report = report_of(work, executor)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(timeout=60) == 0
    finally:
        # Its recorder ends with it.
        agent.kill()
        agent.wait()
    if level == "all":
        tiers = json.loads(
            subprocess.run(
                [folder / "agent" / "pyro-probe", "tiers", "--json"],
                capture_output=True,
                check=True,
            ).stdout
        )
        best = next(one["tier"] for one in tiers if one["name"] == "os" and one["available"])
        assert report["tier"] == best
        assert report["taskstats"]["available"]
    else:
        assert report["tier"] == "T2"
    if level != "own":  # other users may have executors here
        assert report["io_denied_processes_count"] == 0
    shipped = [path.stat() for path in (folder / "store").rglob("*")]
    assert shipped
    assert {one.st_gid for one in shipped} == {GROUP}, "whoever may read the store reads all of it"
    assert all(one.st_mode & 0o040 for one in shipped)


def test_the_verb_writes_programs_that_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(
        capsys,
        "agent",
        "--to",
        "/mnt/shared/pyrometer",
        "--access",
        "processes",
        "-o",
        tmp_path / "a",
        "--json",
    )
    assert done.code == 0, done.stderr
    assert done.json["capabilities"] == ["SYS_PTRACE", "DAC_READ_SEARCH"]
    told = subprocess.run(
        [tmp_path / "a" / "pyro-agent", "executors", "--json"], capture_output=True, check=True
    )
    assert json.loads(told.stdout)["schema"] == "pyrometer/executors/1"


def test_the_verb_refuses_stores_that_its_agent_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "agent", "--to", "s3://bucket/x", "-o", tmp_path / "a")
    assert done.code == 2
    assert "the agent in the package writes to folders only" in done.stderr
    assert "--programs target/release" in done.stderr
    assert not (tmp_path / "a").exists()


def test_the_verb_asks_an_agent_of_ones_own(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = folder / "agent"
    for words in (["--to", "s3://bucket/x"], ["--to", "/mnt/shared/x"]):
        done = inside(capsys, "agent", *words, "--programs", own, "-o", tmp_path / "a")
        refused = words[1].startswith("s3:")
        assert done.code == (2 if refused else 0), done.stderr
        said = " ".join(done.stderr.split())
        assert (f"the agent in {own} writes to folders only" in said) is refused
    written = (tmp_path / "a" / "pyro-agent").read_bytes()
    assert written == (own / "pyro-agent").read_bytes()
