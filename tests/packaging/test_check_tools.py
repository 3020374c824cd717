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


def check(
    folder: Path, *arguments: str, java_home: Path | None = None, **versions: str
) -> tuple[int, list[str]]:
    """Run it with no program but the shell's and those whose answer is given."""
    for name in SHELL:
        # Copied, not linked: nothing written here may reach what it was taken from.
        shutil.copy(str(shutil.which(name)), folder)
    for name, answer in versions.items():
        program(folder / name, answer)
    environment = {**os.environ, "PATH": str(folder), "PYTHON": "python3"}
    environment.pop("JAVA_HOME", None)
    if java_home is not None:
        environment["JAVA_HOME"] = str(java_home)
    done = subprocess.run(
        ["/bin/sh", ROOT / "tools" / "check_tools.sh", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def program(path: Path, answer: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)


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
        ("python3", GOOD["python3"].replace("3.11", "3.10"), "too old: Python 3.10 (need 3.11"),
    ],
)
def test_what_is_too_old_is_named_with_its_version(
    tmp_path: Path, name: str, answer: str, said: str
) -> None:
    code, (line,) = check(tmp_path, **{**GOOD, name: answer})
    assert code == 1
    assert line.startswith(said)


@pytest.mark.parametrize("name", ["python3", "mvn"])
def test_a_command_that_would_bring_an_old_version_names_where_it_brings_a_new_one(
    tmp_path: Path, name: str
) -> None:
    old = {"python3": GOOD["python3"].replace("3.11", "3.10"), "mvn": "echo Apache Maven 3.6.3"}
    _, (line,) = check(tmp_path, **{**GOOD, name: old[name]})
    assert "(Debian 12, Ubuntu 24.04 or newer; elsewhere " in line


def test_the_venv_module_is_that_of_the_python_in_use(tmp_path: Path) -> None:
    bare = 'case "$2" in *ensurepip*) exit 1;; *) echo 3.12;; esac'
    _, (line,) = check(tmp_path, **{**GOOD, "python3": bare})
    assert line.endswith("apt-get install python3.12-venv")


def test_the_jdk_is_that_of_java_home_as_for_maven(tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    program(home / "bin" / "javac", "echo javac 11.0.2")
    _, (line,) = check(tmp_path, java_home=home, **GOOD)
    assert line.startswith("too old: a JDK (javac) 11.0.2 (need 17 or newer)")
    assert "openjdk-21-jdk-headless where there is no 17" in line
    assert f"unset JAVA_HOME, which is {home}" in line


def test_a_maven_that_does_not_start_is_not_called_missing(tmp_path: Path) -> None:
    refuses = "echo JAVA_HOME is not defined correctly >&2; exit 1"
    code, (jdk, maven) = check(tmp_path, java_home=tmp_path / "gone", **{**GOOD, "mvn": refuses})
    assert code == 1
    assert jdk.startswith("missing: a JDK (javac)")
    assert maven == "mvn -v fails: JAVA_HOME is not defined correctly"


@pytest.mark.parametrize(("version", "fits"), [("3.11", True), ("3.12", True), ("3.14", False)])
def test_a_python_too_new_for_the_tests_second_spark_is_told(
    tmp_path: Path, version: str, fits: bool
) -> None:
    code, lines = check(tmp_path, "spark35", python3=f"echo {version}")
    assert code == (not fits)
    assert [line.partition(" for ")[0] for line in lines] == (
        [] if fits else [f"too new: Python {version}"]
    )
    assert all("make test PYTHON=python3.12" in line for line in lines)


def test_a_wheel_for_another_machine_needs_a_cross_compiler(tmp_path: Path) -> None:
    code, lines = check(tmp_path, OTHER, **{**GOOD, "rustc": "echo /nowhere"})
    assert code == 1
    assert f"apt-get install gcc-{OTHER.replace('_', '-')}-linux-gnu" in lines[0]
    assert f"rustup target add {OTHER}-unknown-linux-gnu" in lines[1]


def test_no_wheel_is_built_for_an_unknown_machine(tmp_path: Path) -> None:
    code, lines = check(tmp_path, "riscv64", **GOOD)
    assert code == 1
    assert lines == ["riscv64: wheels are built for x86_64 and aarch64"]
