"""Profiles of a run in the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pyrometer.core.errors import UsageError
from pyrometer.core.replacing import replacing
from pyrometer.export.firefox import write_firefox
from pyrometer.export.otlp import write_otlp
from pyrometer.export.pprof import write_pprof
from pyrometer.export.stacks import LABELS, Stacks
from pyrometer.export.text import write_folded, write_speedscope, write_svg
from pyrometer.store import Run
from pyrometer.store.remote.opened import place_of

__all__ = ["FORMATS", "Stacks", "export_profile", "format_of"]


class Format(NamedTuple):
    """A format: its writer, how its files' names end, and what its samples can have."""

    write: Callable[[Stacks, BinaryIO], None]
    ending: str
    labels: tuple[str, ...] = ()
    times: bool = False


FORMATS = {
    "folded": Format(write_folded, ".folded"),
    "svg": Format(write_svg, ".svg"),
    "speedscope": Format(write_speedscope, ".speedscope.json"),
    "pprof": Format(write_pprof, ".pb.gz", LABELS),
    "firefox": Format(write_firefox, ".firefox.json", times=True),
    "otlp": Format(write_otlp, ".otlp.pb", LABELS),
}


def format_of(path: Path) -> str | None:
    """Return the format that a file's name ends with, if any."""
    return next((kind for kind, it in FORMATS.items() if path.name.endswith(it.ending)), None)


def export_profile(
    run: str | Path,
    kind: str,
    path: str | Path | None = None,
    event: str | None = None,
    by: Sequence[str] = (),
    iteration: int | None = None,
) -> dict[str, Any]:
    """Write samples of a run to a file, through a temporary name.

    Parameters
    ----------
    run : str or Path
        A run directory.
    kind : str
        One of `FORMATS`.
    path : str or Path, optional
        The file. Default: the name of the run and of the event here.
    event, by, iteration
        What is written: see `Stacks`.

    Returns
    -------
    dict
        ``file``, ``format``, ``event``, ``unit``, ``size_bytes``; ``left_out_count``, the samples
        that a format with times lacks, as theirs are not known or on another clock.

    Raises
    ------
    UsageError
        If there is no such run, format, event, dimension or iteration, or the file cannot be
        written.
    """
    if kind not in FORMATS:
        raise UsageError(f"unknown format {kind!r}", f"choose one of {', '.join(FORMATS)}")
    chosen = FORMATS[kind]
    run = place_of(run)
    with Run.open(run) as opened:
        stacks = Stacks(opened, event, by, iteration, chosen.labels)
        name = f"{run.resolve().name}-{stacks.event}{chosen.ending}"
        target = Path(path) if path is not None else Path(name)
        _through_temporary(target, lambda out: chosen.write(stacks, out))
        return {
            "file": str(target),
            "format": kind,
            "event": stacks.event,
            "unit": stacks.unit,
            "size_bytes": target.stat().st_size,
            "left_out_count": stacks.untimed_count if chosen.times else 0,
        }


def _through_temporary(target: Path, write: Callable[[BinaryIO], None]) -> None:
    try:
        with replacing(target) as out:
            write(out)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", "choose another file with -o") from error
