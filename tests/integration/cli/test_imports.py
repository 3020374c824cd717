"""What the command line does not import until a verb needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.eventlog.recorded import RECORDED

LOG = RECORDED / "scan-4.3.0.zstd"

SLOW = {
    "scipy", "numpy", "google.protobuf", "opentelemetry", "httpx", "pyarrow", "pydantic", "rich",
    "pyrometer._core", "pyrometer.cli.measure.run",
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


def test_the_report_of_a_run_imports_no_statistics_of_experiments(tmp_path: Path) -> None:
    script = (
        "import sys; from pyrometer.cli.main import run_verb;"
        f"assert run_verb(['report', {str(LOG)!r}, '-o', {str(tmp_path / 'page.html')!r}]) == 0;"
        "print(*sorted({'scipy', 'pandas'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=120, check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert (tmp_path / "page.html").is_file()
    assert done.stderr.strip() == ""


def test_judging_a_run_imports_neither_what_makes_its_tables_nor_what_tries_findings() -> None:
    unneeded = {
        "pyrometer.store.ingest", "pyrometer.store.services.drivers", "pyrometer.guests.described",
        "pyrometer.verification.run", "pyrometer.experiments", "pyrometer.tune", "pyrometer.pages",
        "pyrometer.explain.terminal", "scipy", "pandas", "httpx",
    }  # fmt: skip
    script = (
        "import sys; from pyrometer.explain import every_rule, findings, kept;"
        "from pyrometer.store import Run; assert every_rule.every_rule();"
        f"print(*sorted({unneeded!r} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""
