"""What `make sanitize` says where something that it needs is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "sanitize.py"
NIGHTLY = "nightly-x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("toolchains", "components", "tools", "remedy"),
    [
        (None, "", [], "https://rustup.rs"),
        ("stable-x86_64-unknown-linux-gnu (default)", "", [], "rustup toolchain install nightly"),
        (NIGHTLY, "cargo rustc", [], "component add --toolchain nightly miri rust-src"),
        (NIGHTLY, "miri-x86_64", ["miri"], "component add --toolchain nightly rust-src"),
    ],
)
def test_what_is_missing_is_one_line_with_its_remedy(
    tmp_path: Path, toolchains: str | None, components: str, tools: list[str], remedy: str
) -> None:
    if toolchains is not None:
        rustup = tmp_path / "rustup"
        words = components.replace(" ", "\n")
        rustup.write_text(
            f"#!/bin/sh\nif [ $1 = toolchain ]; then echo '{toolchains}'; else echo '{words}'; fi\n"
        )
        rustup.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(TOOL), *tools],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("missing: ")
    assert remedy in done.stderr
