"""The run directory at its birth: a place that can be written, found out before any launch."""

from __future__ import annotations

import re
import time
import uuid
from pathlib import Path

from pyrometer import __version__
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.plan import Trial
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Host, Manifest, Workload, clock_pair, this_launcher

HOME = Path("pyrometer-runs")


def make_run_dir(trial: Trial) -> RunPaths:
    """Make the run directory, with ``raw/`` in it.

    Raises
    ------
    UsageError
        If it exists and is not empty, or cannot be written.
    """
    root = trial.run_dir or _fresh_name(trial.label)
    paths = RunPaths(root.absolute())
    try:
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise UsageError(
                f"{root} exists and is not an empty folder", "give another folder with -o"
            )
        for folder in (paths.raw, paths.eventlog):
            folder.mkdir(parents=True, exist_ok=True)
        _try_writing(paths)
    except OSError as error:
        raise UsageError(
            f"{root} cannot be written: {error.strerror}", "give a writable folder with -o"
        ) from error
    return paths


def new_manifest(trial: Trial, host: Host, probes: list[str], doubts: list[Doubt]) -> Manifest:
    """Describe the trial as it begins (state "running")."""
    pair = clock_pair()
    treatment = {**trial.treatment, **({"co.run": "+".join(trial.beside)} if trial.beside else {})}
    return Manifest(
        run_id=str(uuid.uuid4()),
        created_wall_ns=pair.wall_ns,
        pyrometer_version=__version__,
        workload=Workload(name=trial.name, command=list(trial.command)),
        treatment=treatment,
        treatment_origin=dict.fromkeys(treatment, "user"),
        profile=trial.profile,
        probes_requested=probes,
        iterations=trial.iterations if trial.name else 1,
        warmup=trial.warmup if trial.name else 0,
        host=host,
        clock_pairs=[pair],
        doubts=doubts,
        launcher=this_launcher(),
    )


def _fresh_name(label: str) -> Path:
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "run"
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{word}"
    name, number = HOME / stem, 2
    while name.exists():
        name, number = HOME / f"{stem}-{number}", number + 1
    return name


def _try_writing(paths: RunPaths) -> None:
    # Mode bits do not tell (root, read-only mounts, full disks): a write does.
    probe = paths.raw / ".write"
    probe.write_bytes(b"\0" * 65536)
    probe.unlink()
