"""What the command line does not import until a verb needs it."""

from __future__ import annotations

import subprocess
import sys

SLOW = {"scipy", "numpy", "google.protobuf", "opentelemetry", "httpx", "pyarrow"}


def test_help_imports_no_library_that_takes_long() -> None:
    script = (
        "import sys; from pyrometer.cli.main import run_verb; assert run_verb(['--help']) == 0;"
        f"print(*sorted({SLOW!r} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert "compare" in done.stdout
    assert done.stderr.strip() == ""
