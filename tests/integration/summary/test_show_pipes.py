"""The verb show as a user calls it, in a pipe."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.cli import command, environment, pyrometer
from tests.support.tables import StageSpec, World


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return World([StageSpec([40, 30])]).write(tmp_path_factory.mktemp("run"))


def test_text_goes_to_pipes_without_colour_and_within_80_columns(run_dir: Path) -> None:
    done = pyrometer("show", run_dir, cwd=run_dir, env=environment(COLUMNS=None))
    assert done.code == 0
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "closure" in done.stdout


def test_a_reader_that_goes_away_is_no_error(run_dir: Path) -> None:
    line = " ".join(command("show", run_dir)) + " | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
