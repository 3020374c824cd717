"""`tools/step.py` says what a command does, in plain lines, and keeps all of its output."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"\[ *(\d+) s\] ([\w-]+): (.*)")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of tools whose logs go beside it."""
    (tmp_path / "tools").mkdir()
    source = (ROOT / "tools" / "step.py").read_text()
    script = tmp_path / "tools" / "step.py"
    script.write_text(source.replace("EVERY_S = 10.0", "EVERY_S = 0.2"))
    return script


def step(script: Path, name: str, *command: str, began: float | None = None) -> tuple[int, str]:
    environment = {**os.environ, "PYROMETER_BEGAN": str(began or time.time())}
    done = subprocess.run(
        [sys.executable, script, name, *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_what_a_step_does_is_one_plain_line_each(tools: Path) -> None:
    code, said = step(tools, "native", "sh", "-c", "echo Compiling a v1; sleep 0.7; echo end >&2")
    matches = [LINE.fullmatch(line) for line in said.splitlines()]
    assert None not in matches, said
    texts = [match[3] for match in matches if match]
    assert code == 0
    assert texts[0].startswith("sh -c echo Compiling")
    assert texts[1:-1].count("Compiling a v1") >= 2
    assert texts[-1] == "done in 1 s"
    log = tools.parents[1] / "target" / "logs" / "native.log"
    assert log.read_text() == "Compiling a v1\nend\n"


def test_seconds_count_from_the_beginning_of_make(tools: Path) -> None:
    _, said = step(tools, "page", "true", began=time.time() - 100)
    first = LINE.fullmatch(said.splitlines()[0])
    assert first is not None
    assert 100 <= int(first[1]) < 160


def test_a_step_that_fails_shows_its_output_and_where_all_of_it_is(tools: Path) -> None:
    code, said = step(tools, "jar", "sh", "-c", "seq 200; echo BUILD FAILURE; exit 3")
    log = tools.parents[1] / "target" / "logs" / "jar.log"
    assert code == 3
    assert "    BUILD FAILURE\n" in said
    assert "    200\n" in said
    assert "    100\n" not in said
    assert f"failed with exit code 3; all of its output: {log}" in said.splitlines()[-1]
    assert log.read_text().startswith("1\n2\n")


@pytest.mark.parametrize(("command", "code"), [("kill -9 $$", 137), ("exit 5", 5)])
def test_the_exit_code_is_the_commands(tools: Path, command: str, code: int) -> None:
    assert step(tools, "x", "sh", "-c", command)[0] == code


def test_a_program_that_is_missing_is_named(tools: Path) -> None:
    code, said = step(tools, "x", "no-such-program")
    assert code == 127
    assert "no-such-program: No such file or directory" in said


def test_no_escape_code_reaches_a_terminal(tools: Path) -> None:
    """Maven colours and resets even where it is asked for neither."""
    ours, theirs = pty.openpty()
    command = r"printf '\033[0m\033[1mbold\033[0m\n\033]0;title\007next\n'; exit 1"
    done = subprocess.run(
        [sys.executable, tools, "jar", "sh", "-c", command], stderr=theirs, check=False
    )
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 1
    assert "    bold\r\n    next\r\n" in said
    assert "\x1b" not in said.partition("\n")[2]
