"""What is missing to build is named all at once, with the commands that install it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHELL = ("sed", "sort", "head", "grep", "uname")
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]


def check(folder: Path, *arguments: str, **versions: str) -> tuple[int, list[str]]:
    """Run it with no program but the shell's and those whose answer is given."""
    for name in SHELL:
        # Copied, not linked: nothing written here may reach what it was taken from.
        shutil.copy(str(shutil.which(name)), folder)
    for name, answer in versions.items():
        script = folder / name
        script.write_text(f"#!/bin/sh\n{answer}\n")
        script.chmod(0o755)
    environment = {**os.environ, "PATH": str(folder), "PYTHON": "python3"}
    done = subprocess.run(
        ["/bin/sh", ROOT / "tools" / "check_tools.sh", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


GOOD = {
    "python3": 'case "$2" in *ensurepip*) echo 1.0;; *) echo 3.11;; esac',
    "javac": "echo javac 17.0.15",
    "mvn": "echo Apache Maven 3.8.7",
    "cargo": "echo cargo 1.95.0",
    "cc": "echo 12",
}


def test_with_all_of_them_nothing_is_said(tmp_path: Path) -> None:
    assert check(tmp_path, **GOOD) == (0, [])


def test_everything_missing_is_named_at_once(tmp_path: Path) -> None:
    code, lines = check(tmp_path)
    assert code == 1
    assert [line.partition(" (need")[0] for line in lines] == [
        "missing: Python",
        "missing: Python's venv module",
        "missing: a JDK (javac)",
        "missing: Maven",
        "missing: Rust (cargo)",
        "missing: a C linker (cc)",
    ]
    assert all("Install: " in line for line in lines)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("javac", "echo javac 11.0.2", "too old: a JDK (javac) 11.0.2 (need 17 or newer)"),
        ("cargo", "echo cargo 1.63.0", "too old: Rust (cargo) 1.63.0 (need 1.90 or newer)"),
        ("mvn", "echo Apache Maven 3.6.3", "too old: Maven 3.6.3 (need 3.8 or newer)"),
    ],
)
def test_what_is_too_old_is_named_with_its_version(
    tmp_path: Path, name: str, answer: str, said: str
) -> None:
    code, (line,) = check(tmp_path, **{**GOOD, name: answer})
    assert code == 1
    assert line.startswith(said)


def test_a_wheel_for_another_machine_needs_a_cross_compiler(tmp_path: Path) -> None:
    code, lines = check(tmp_path, OTHER, **{**GOOD, "rustc": "echo /nowhere"})
    assert code == 1
    assert f"apt-get install gcc-{OTHER.replace('_', '-')}-linux-gnu" in lines[0]
    assert f"rustup target add {OTHER}-unknown-linux-gnu" in lines[1]


def test_no_wheel_is_built_for_an_unknown_machine(tmp_path: Path) -> None:
    code, lines = check(tmp_path, "riscv64", **GOOD)
    assert code == 1
    assert lines == ["riscv64: wheels are built for x86_64 and aarch64"]
