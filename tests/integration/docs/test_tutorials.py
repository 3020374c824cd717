"""Tutorials do what they say: every command runs, and its output has the lines that they show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import console
from tests.support.cli import environment

ROOT = Path(__file__).parents[3]
APPS = ROOT / "examples" / "apps"
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def runs(command: str, folder: Path, env: dict[str, str]) -> tuple[int, str]:
    """Run a command in a shell: its exit code, and what it printed."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


# Each takes some minutes on two cores, several times that beside other work.
@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_command_runs_and_prints_what_the_page_shows(page, tmp_path):
    apps = tmp_path / "examples" / "apps"
    apps.mkdir(parents=True)
    for file in (path for path in APPS.iterdir() if path.is_file()):
        shutil.copy(file, apps)
    shutil.copytree(APPS.parent / "nightly", apps.parent / "nightly")
    # As where README's two packages are installed: with pandas, Spark 4 runs functions otherwise.
    hidden = tmp_path / "without"
    hidden.mkdir()
    (hidden / "pandas.py").write_text("raise ImportError('not installed')\n")
    paths = [str(hidden), *filter(None, [environment().get("PYTHONPATH")])]
    env = environment(
        COLUMNS="80",
        PYTHONPATH=":".join(paths),
        PATH=f"{Path(sys.executable).parent}:{environment()['PATH']}",
        PYROMETER_CACHE=str(tmp_path / "cache"),
    )
    steps = console.steps(page.read_text())
    assert any(step.shown for step in steps), "it shows no output"
    for step in steps:
        code, output = runs(step.command, apps, env)
        assert code == 0, f"$ {step.command}\n{output}"
        for line in step.shown:
            there = any(console.shows(output, form) for form in forms(line, output))
            assert there, f"$ {step.command}\nno {line!r} in\n{output}"


def forms(line: str, output: str) -> list[str]:
    """Give what a line of a page may read where the machine was busy, and the output says so."""
    found = [line]
    if "which may be chance" in output:
        found.append(line.replace(" share ", " "))  # such a change may have no shares
    if "(trials_disturbed)" in output:
        found.append(re.sub(r"\b(faster|slower)$", "cannot tell:", line))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_that_a_page_quotes_is_in_the_file_that_it_names(page):
    for language in ("python", "sql", "yaml"):
        for more, text in console.blocks(page.read_text(), language):
            title = more.removeprefix('title="').removesuffix('"')
            assert text in (APPS / title).read_text(), title
