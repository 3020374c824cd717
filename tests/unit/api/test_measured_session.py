"""What is left of a measured block: private, and without secrets, on the disk and on the screen."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from pyrometer.orchestrator.session import measure, repeat
from pyrometer.terminal import console


@pytest.fixture(autouse=True)
def fresh_console() -> None:
    console.out.cache_clear()


def session() -> MagicMock:
    """A session as far as it is asked; its listener logs nothing."""
    context = MagicMock(version="4.0.0", appName="live", applicationId="local-1")
    context.sparkContext = context
    context.sparkUser.return_value = "me"
    context.getConf.return_value.getAll.return_value = [("spark.my.password", "hunter2")]
    scala = context._jsc.sc.return_value
    scala.startTime.return_value = 1_700_000_000_000
    scala.statusStore.return_value.executorList.return_value.size.return_value = 0
    return context


def test_raw_files_of_a_block_lose_their_secrets_and_are_private(tmp_path: Path) -> None:
    with measure(session(), tmp_path / "run", probe=False) as measured:
        said = measured.run_dir / "raw" / "said.log"
        said.write_text("password=hunter2 was said\n")
        said.chmod(0o644)
    assert said.read_text().endswith("(redacted) was said\n")
    assert modes(measured.run_dir) == {0o700, 0o600}


def test_a_block_is_shown_without_orders_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = repeat(session(), lambda: 1, tmp_path / "run", name="odd\x1b[2Jname", probe=False)
    made.show()
    shown = capsys.readouterr().out
    assert "odd\ufffd[2Jname" in shown
    assert "\x1b[2J" not in shown
    assert made.report().is_file()
    assert modes(made.run_dir) == {0o700, 0o600}


def test_checksums_of_iterations_leave_out_the_last_digits(tmp_path: Path) -> None:
    sums = iter([0.3, 0.1 + 0.2])
    made = repeat(
        session(), lambda: next(sums), tmp_path / "run", name="sum", iterations=2, warmup=0,
        probe=False,
    )  # fmt: skip
    lines = (made.run_dir / "raw" / "iterations.ndjson").read_text().splitlines()
    ends = [one for one in map(json.loads, lines) if one["k"] == "end"]
    assert [one["status"] for one in ends] == ["ok", "ok"]
    assert len({one["checksum"] for one in ends}) == 1


def modes(folder: Path) -> set[int]:
    """Rights of a folder and of all that is below it."""
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
