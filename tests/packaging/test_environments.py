"""Environments of a checkout: whole however the first attempt ended, wherever the checkout lies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = """\
echo "$*" >>asked
mkdir -p "$4/bin" && printf '#!/bin/sh\\n' >"$4/bin/python" && chmod +x "$4/bin/python"
"""
"""Stands for the Python that makes environments: it keeps what it was asked for."""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def make(folder: Path, target: str) -> None:
    python = program(folder / "python3", PYTHON)
    environment = {name: one for name, one in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(
        ["make", "-f", ROOT / "Makefile", f"PYTHON={python}", target],
        cwd=folder,
        env=environment,
        check=True,
    )


def test_an_environment_whose_making_was_interrupted_is_made_anew(tmp_path: Path) -> None:
    program(tmp_path / "tools" / "check_tools.sh", "")
    program(tmp_path / ".venv" / "bin" / "python", "echo No module named pip >&2; exit 1")
    for _ in range(2):
        make(tmp_path, ".venv/.tools")
        (tmp_path / ".venv" / ".tools").unlink()
    assert (tmp_path / "asked").read_text().splitlines() == ["-m venv --clear .venv"]


def test_the_command_starts_where_the_path_has_a_space(tmp_path: Path) -> None:
    home = tmp_path / "my checkout" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    subprocess.run([home / "bin" / "python", ROOT / "tools" / "install_editable.py"], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [home / "bin" / "pyrometer", "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("pyrometer ")
