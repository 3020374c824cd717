"""The run that a path names: itself, or the latest of a folder of runs."""

from __future__ import annotations

from pathlib import Path

from pyrometer.terminal.console import err, program


def run_named(path: Path) -> Path:
    """Give the run at a path; of a folder of runs, the latest, and say so on stderr."""
    from pyrometer.store.run_folder import latest_run

    latest = latest_run(path)
    if latest is None:
        return path
    run, count = latest
    err().print(
        f"{path} holds {count} run{'s' * (count != 1)}; this is the latest: {run}"
        f" (all of them: {program()} ls {path})",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    return run
