"""The committed BPF objects are those of the sources, wherever they are compiled."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import needs

ROOT = Path(__file__).resolve().parents[2]
CRATE = Path("crates", "pyro-probe")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `tools/build_bpf.py` reads, at another path."""
    for part in (CRATE / "src" / "bpf", CRATE / "bpf"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "build_bpf.py", tmp_path / "tools")
    return tmp_path


def build_bpf(
    checkout: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "tools/build_bpf.py", *arguments],
        cwd=checkout,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def clang_of(folder: Path, version: str) -> str:
    script = folder / "other-clang"
    script.write_text(f"#!/bin/sh\necho Debian clang version {version}\n")
    script.chmod(0o755)
    return str(script)


def test_the_committed_objects_are_of_the_present_sources(checkout: Path) -> None:
    done = build_bpf(checkout, "--check-sources")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["kernel.h", "sched.c", "threads.bpf.c"])
def test_a_changed_source_is_noticed_without_clang(checkout: Path, name: str) -> None:
    with (checkout / CRATE / "src" / "bpf" / name).open("a") as source:
        source.write("\n")
    done = build_bpf(checkout, "--check-sources")
    assert done.returncode == 1
    assert "make bpf" in done.stderr


def test_clang_makes_the_committed_bytes_at_another_path(checkout: Path) -> None:
    needs.tool("clang", "llvm-strip")
    done = build_bpf(checkout, "--check")
    assert done.returncode == 0, done.stderr
    assert "as clang makes them" in done.stdout


def test_changed_missing_and_orphaned_objects_are_named(checkout: Path) -> None:
    needs.tool("clang", "llvm-strip")
    objects = checkout / CRATE / "bpf"
    changed = bytearray((objects / "x86_64" / "events.bpf.o").read_bytes())
    changed[0x100] ^= 1
    (objects / "x86_64" / "events.bpf.o").write_bytes(changed)
    (objects / "aarch64" / "threads.bpf.o").rename(objects / "aarch64" / "other.bpf.o")
    done = build_bpf(checkout, "--check")
    assert done.returncode == 1
    found = [line.partition("bpf: ")[2] for line in done.stderr.splitlines()[:-1]]
    assert found == [
        "aarch64/threads.bpf.o: not committed",
        "x86_64/events.bpf.o: not as clang makes it",
        "aarch64/other.bpf.o: has no source",
    ]


def test_built_anew_the_objects_are_those_committed(checkout: Path) -> None:
    needs.tool("clang", "llvm-strip")
    shutil.rmtree(checkout / CRATE / "bpf")
    assert build_bpf(checkout).returncode == 0
    built = sorted((checkout / CRATE / "bpf").rglob("*.o"))
    assert len(built) == 4
    for path in built:
        assert path.read_bytes() == (ROOT / path.relative_to(checkout)).read_bytes(), path


def test_another_clang_is_refused_and_nothing_is_touched(checkout: Path, tmp_path: Path) -> None:
    for arguments in ((), ("--check",)):
        done = build_bpf(
            checkout, *arguments, CLANG=clang_of(tmp_path, "19.1.7"), LLVM_STRIP="/bin/true"
        )
        assert done.returncode == 1
        assert "is version 19.1.7" in done.stderr
        assert "apt-get install clang-14 llvm-14" in done.stderr
    assert build_bpf(checkout, "--check-sources").returncode == 0


def test_without_clang_the_command_that_installs_it_is_named(checkout: Path) -> None:
    done = build_bpf(checkout, "--check", PATH=str(checkout))
    assert done.returncode == 1
    assert "apt-get install clang-14 llvm-14" in done.stderr
