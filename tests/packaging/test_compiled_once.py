"""What `make setup` compiles is what `cargo test` uses: the crates have the same features in both.

One feature more, of one small crate, and Arrow and Parquet are compiled a second time.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def crates(*selection: str) -> set[str]:
    """Crates of a build: name, version and features."""
    done = subprocess.run(
        ["cargo", "tree", "--locked", "--prefix", "none", "-f", "{p} {f}", *selection],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.removesuffix(" (*)") for line in done.stdout.splitlines() if line}


def test_tests_use_the_crates_that_the_build_compiled() -> None:
    programs = ("-p", "pyro-py", "-p", "pyro-probe", "-p", "pyro-agent")
    built = crates("--edges", "no-dev", *programs)
    tested = crates("--workspace")
    assert len(built) > 50
    assert built <= tested, "name the missing features in Cargo.toml, as for bitflags"
