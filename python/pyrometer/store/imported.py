"""A run directory of profiles that other tools made.

The format of a profile is recognised by its content.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path

from pyrometer import __version__
from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.store import ingest
from pyrometer.store.manifest import Host, ImportedFile, Manifest, Workload, write_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.private import keep_private
from pyrometer.store.run_folder import new_run_folder

FORMATS = ("folded", "perf-script", "jfr", "pprof", "speedscope")
"""Formats that can be imported."""

_HEAD_BYTES = 64 << 10
# `comm pid/tid [cpu] time: [count] event:`, the line above the frames of a sample.
_PERF_HEAD = re.compile(rb"^\S.*?\s+\d+(/\d+)?\s.*\d+\.\d+:\s", re.MULTILINE)
_PERF_FRAME = re.compile(rb"^\s+[0-9a-f]{4,}\s+\S", re.MULTILINE)
_FOLDED = re.compile(rb"^[^\n]*\S[ \t]+-?\d+(\.\d+)?\r?$", re.MULTILINE)
# Wire type of each field of pprof's message Profile; comments (13) may be packed or not.
_MESSAGE, _TYPE_BYTES = 2, 20
_PROFILE_KINDS = dict.fromkeys((1, 2, 3, 4, 5, 6, 11, 13), _MESSAGE)
_PROFILE_KINDS |= dict.fromkeys((7, 8, 9, 10, 12, 14, 15), 0)
_KNOWN = (
    (b"PERFILE2", "a recording of perf", "perf script -i FILE > FILE.txt, and import that"),
    (b"<?xml", "a drawing or other XML", "import what it was drawn from: folded stacks"),
    (b"<svg", "a drawing", "import what it was drawn from: folded stacks"),
    (b"<!DOCTYPE", "a page", "import what it was made from: a .jfr file or folded stacks"),
)


def detect(path: Path) -> str:
    """Recognise the format of a profile by its content.

    Raises
    ------
    UsageError
        If it cannot be read or is of no known format: what it seems to be, and what to do.
    """
    try:
        with path.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "give files of profiles") from error
    for magic, what, remedy in _KNOWN:
        if head.lstrip().startswith(magic):
            raise UsageError(f"{path}: {what}, not a profile that can be imported", remedy)
    packed = head.startswith(b"\x1f\x8b")
    found = _of_content(_unpacked(head) if packed else head)
    if found is None or (packed and found not in ("pprof", "speedscope")):
        what = "gzip of" if packed else "of"
        raise UsageError(
            f"{path}: {what} {'an unknown format' if found is None else found}"
            f" (it begins with {head[:12]!r})",
            f"gunzip {path.name} first" if packed and found else f"--format {'|'.join(FORMATS)}",
        )
    return found


def _of_content(head: bytes) -> str | None:
    if head.startswith(b"FLR\x00"):
        return "jfr"
    if head.lstrip()[:1] == b"{":
        known = b"speedscope" in head or (b'"profiles"' in head or b'"shared"' in head)
        return "speedscope" if known else None
    if _is_pprof(head):
        return "pprof"
    if b"\x00" in head:
        return None
    if _PERF_FRAME.search(head) and _PERF_HEAD.search(head):
        return "perf-script"
    return "folded" if _FOLDED.search(head) else None


def _is_pprof(head: bytes) -> bool:
    """Whether bytes are fields of message Profile: types of values, and then samples or no end.

    Writers differ in the order of fields: Go's begin with the time.
    """
    seen: set[int] = set()
    at = 0
    while at < len(head):
        key, at = _varint(head, at)
        field, kind = key >> 3, key & 7
        if kind != _PROFILE_KINDS.get(field):
            break
        value, at = _varint(head, at)
        if field == 1 and (value > _TYPE_BYTES or head[at : at + 1] not in (b"\x08", b"\x10")):
            break  # no type and unit, which are two small numbers
        at += value if kind == _MESSAGE else 0
        seen.add(field)
    return {1, 2} <= seen or (1 in seen and at >= len(head))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at
    return value, at


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except zlib.error:
        return b""


PROFILE = "imported"


def import_profiles(
    files: Sequence[str | Path],
    run_dir: str | Path,
    kind: str | None = None,
    event: str | None = None,
    unit: str | None = None,
) -> ingest.IngestReport:
    """Make a run directory of profiles of other tools.

    The files are copied to ``raw/imported``, so that tables can always be rebuilt.

    Parameters
    ----------
    files : sequence of path
        Profiles, of one or several formats.
    run_dir : path
        The directory to make; it must be new or empty.
    kind : str, optional
        The format of all files, where their content does not show it.
    event, unit : str, optional
        What folded stacks are of: the files do not say. Default: cpu, in samples.

    Raises
    ------
    UsageError
        If a file cannot be read as its format (says where; what was written is then removed
        again), ``run_dir`` holds something, or no file is of folded stacks that ``event`` or
        ``unit`` could be of.
    """
    sources = [Path(file) for file in files]
    if kind is not None and kind not in FORMATS:
        raise UsageError(f"unknown format {kind!r}", f"choose one of {', '.join(FORMATS)}")
    formats = [kind or detect(source) for source in sources]
    said = [name for name, it in (("event", event), ("unit", unit)) if it is not None]
    if said and "folded" not in formats:
        raise UsageError(
            f"--{said[0]} is for folded stacks: {sources[0]} ({formats[0]}) names its own",
            f"leave out --{said[0]}",
        )
    with new_run_folder(Path(run_dir)) as paths:
        report = _make(paths, sources, formats, {"event": event, "unit": unit})
        keep_private(paths.root)
    return report


def _make(
    paths: RunPaths, sources: list[Path], formats: list[str], folded: dict[str, str | None]
) -> ingest.IngestReport:
    root, folder = paths.root, paths.raw / "imported"
    folder.mkdir(parents=True)
    kept = [
        _keep(source, kind, folder, number)
        for number, (source, kind) in enumerate(zip(sources, formats, strict=True))
    ]
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
            "name the --format if it was taken for another, or record it again",
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
    timed = [stats for stats in report.stats.values() if stats.get("started_wall_ns")]
    if not timed:
        return None, None
    started = min(stats["started_wall_ns"] for stats in timed)
    return started, max(stats.get("ended_wall_ns") or started for stats in timed)
