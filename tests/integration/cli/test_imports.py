"""What the command line does not import until a verb needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {
    "scipy", "numpy", "google.protobuf", "opentelemetry", "httpx", "pyarrow", "pydantic", "rich",
    "pyrometer._core", "pyrometer.cli.run",
}  # fmt: skip


@pytest.mark.parametrize(("option", "printed"), [("--help", "compare"), ("--version", "0.")])
def test_neither_help_nor_version_import_what_takes_long(option: str, printed: str) -> None:
    script = (
        f"import sys; from pyrometer.cli.main import run_verb; assert run_verb([{option!r}]) == 0;"
        f"print(*sorted({SLOW!r} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert printed in done.stdout
    assert done.stderr.strip() == ""
