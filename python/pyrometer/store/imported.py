"""A run directory of profiles that other tools made."""

from __future__ import annotations

import hashlib
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from pyrometer import __version__, schema
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.store import ingest
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Host, ImportedFile, Manifest, Workload, write_manifest
from pyrometer.store.profile_format import FORMATS, detect

PROFILE = "imported"


def import_profiles(
    files: Sequence[str | Path],
    run_dir: str | Path,
    kind: str | None = None,
    event: str | None = None,
    unit: str | None = None,
) -> ingest.IngestReport:
    """Make a run directory of profiles of other tools.

    The files are copied to ``raw/imported``, so that tables can always be made anew.

    Parameters
    ----------
    files : sequence of path
        Profiles, of one or several formats.
    run_dir : path
        The directory to make; it must be new or empty.
    kind : str, optional
        The format of all files, where their content does not tell.
    event, unit : str, optional
        What folded stacks are of: they do not tell. Unasked: cpu, in samples.

    Raises
    ------
    UsageError
        If a file cannot be read as its format (says where), or ``run_dir`` holds something; what
        was made is then taken away again.
    """
    sources = [Path(file) for file in files]
    if kind is not None and kind not in FORMATS:
        raise UsageError(f"there is no format {kind!r}", f"choose of {', '.join(FORMATS)}")
    formats = [kind or detect(source) for source in sources]
    root = Path(run_dir)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root}: exists and is not empty", "give a new directory with -o")
    existed = root.is_dir()
    try:
        return _make(root, sources, formats, {"event": event, "unit": unit})
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        if existed:
            root.mkdir(exist_ok=True)
        raise


def _make(
    root: Path, sources: list[Path], formats: list[str], folded: dict[str, str | None]
) -> ingest.IngestReport:
    paths = RunPaths(root)
    folder = paths.raw / "imported"
    try:
        folder.mkdir(parents=True)
        kept = [
            _keep(source, kind, folder, number)
            for number, (source, kind) in enumerate(zip(sources, formats, strict=True))
        ]
    except OSError as error:
        raise UsageError(
            f"{error.filename or root}: {error.strerror}", "give a directory with room for copies"
        ) from error
    now = time.time_ns()
    manifest = Manifest(
        run_id=str(uuid.uuid4()),
        created_wall_ns=now,
        pyrometer_version=__version__,
        state="finished",
        workload=Workload(),
        profile=PROFILE,
        host=Host(),
        doubts=[_missing(kept)],
        imported=[f.model_copy(update=folded) if f.format == "folded" else f for f in kept],
    )
    write_manifest(root, manifest)
    report = ingest.ingest_run(root)
    if not report.tables.get("samples"):
        why = next((doubt.message for doubt in report.doubts), "no sample in it")
        raise UsageError(
            f"{', '.join(map(str, sources[:3]))}: nothing to import ({why})",
            "name the --format if it was taken for another, or make it anew",
        )
    started, ended = _times(report)
    if started is not None:
        times = {"started_wall_ns": started, "ended_wall_ns": ended}
        write_manifest(root, manifest.model_copy(update=times))
    return report


def _keep(source: Path, kind: str, folder: Path, number: int) -> ImportedFile:
    # A number at the end of a recording's name would be taken for its process.
    target = folder / f"{number}-{source.stem}.imported{source.suffix}"
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as opened, target.open("xb") as copy:
        while block := opened.read(1 << 20):
            digest.update(block)
            size += len(block)
            copy.write(block)
    return ImportedFile(
        file=str(target.relative_to(folder.parent)),
        source=str(source.resolve()),
        format=kind,
        size_bytes=size,
        sha256=digest.hexdigest(),
    )


def _missing(files: list[ImportedFile]) -> Doubt:
    names = ", ".join(f"{Path(file.source).name} ({file.format})" for file in files)
    return schema.doubt(
        "profile_imported",
        f"Imported from {names}: what ran, its tasks, stages and host are not known"
        + ("" if any(file.format == "jfr" for file in files) else ", nor when samples were taken")
        + ".",
    )


def _times(report: ingest.IngestReport) -> tuple[int | None, int | None]:
    told = [stats for stats in report.stats.values() if stats.get("started_wall_ns")]
    if not told:
        return None, None
    started = min(stats["started_wall_ns"] for stats in told)
    return started, max(stats.get("ended_wall_ns") or started for stats in told)
