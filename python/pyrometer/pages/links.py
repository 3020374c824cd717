"""Reports of runs to which a page of many runs leads, and runs that have none yet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from pyrometer.store.paths import RunPaths


def report_link(run_dir: Path, page_folder: Path) -> str | None:
    """Link to the report of a run, relative to the folder of a page; ``None`` if it has none."""
    report = RunPaths(run_dir).report
    if not report.is_file():
        return None
    return quote(Path(os.path.relpath(report, page_folder)).as_posix())


def without_report(run_dirs: Iterable[Path]) -> list[Path]:
    """Give the run directories that are there and have no report yet, each once."""
    paths = [RunPaths(one) for one in dict.fromkeys(run_dirs)]
    return [one.root for one in paths if one.manifest.is_file() and not one.report.is_file()]
