"""What the verbs share that observe processes which run already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli import common
from pyrometer.errors import UsageError
from pyrometer.run.observe import Silent

if TYPE_CHECKING:
    from pyrometer.beside import Observed

DurationOption = Annotated[
    str | None,
    typer.Option(
        "--duration",
        metavar="TIME",
        help="How long: 30, 30s, 5m. Unasked: until it ends, or Ctrl-C.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="RUN", help="Run directory: new, or empty.", show_default=False
    ),
]
NoReportOption = Annotated[bool, typer.Option("--no-report", help="Make no report.html.")]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str | None) -> float | None:
    """Read ``--duration``.

    Raises
    ------
    UsageError
        If it is no time above zero.

    Examples
    --------
    >>> seconds("90"), seconds("1.5m"), seconds(None)
    (90.0, 90.0, None)
    """
    if text is None:
        return None
    number, factor = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1.0)
    try:
        found = float(number) * factor
    except ValueError:
        found = 0.0
    if not 0 < found < 1e9:
        raise UsageError(f"--duration {text}: no time", "--duration 30s, 5m or 1h")
    return found


class Notes(Silent):
    """Prints what matters now; steps are not shown."""

    def note(self, text: str) -> None:
        """Print a line that stays."""
        common.err().print(text, markup=False, soft_wrap=True)


@contextmanager
def ticking(what: str) -> Iterator[Callable[[float], None]]:
    """Show for how long something is observed, in one line on a terminal."""
    if not sys.stderr.isatty():
        common.err().print(f"{what}; Ctrl-C ends it", markup=False, soft_wrap=True)
        yield lambda gone: None
        return
    with common.err().status(what) as status:
        yield lambda gone: status.update(f"{what} for {gone:.0f} s; Ctrl-C ends it")


def observe_and_tell(
    verb: str,
    what: str,
    observe: Callable[..., Observed],
    *,
    duration: str | None,
    output: Path | None,
    no_report: bool,
    as_json: bool,
) -> None:
    """Observe until it ends, for a time or up to Ctrl-C; print what came.

    Parameters
    ----------
    verb : str
        Name of the verb, for the schema of its JSON.
    what : str
        What is observed, in words.
    observe : callable
        A function of `pyrometer.beside` that lacks only what the verbs share.
    duration, output, no_report, as_json
        The options that they share.
    """
    length = seconds(duration)
    with ticking(what) as tick:
        observed = observe(
            seconds=length, run_dir=output, tick=tick, watch=Notes(), report=not no_report
        )
    tell(observed, f"pyrometer/{verb}/1", as_json)


def tell(observed: Observed, schema: str, as_json: bool) -> None:
    """Print what came, and where it is."""
    from pyrometer.cli import render

    manifest, paths = observed.record.manifest, observed.record.paths
    console = common.human(as_json)
    length = ((manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0)) / 1e9
    console.print(f"observed for {length:.1f} s; {observed.reason}", markup=False)
    if observed.summary is not None:
        render.show(console, observed.summary)
    if paths.report.is_file():
        console.print(f"report: {paths.report}", markup=False, soft_wrap=True)
    console.print(f"run:    {paths.root}", markup=False, soft_wrap=True)
    if as_json:
        made = observed.summary
        common.emit_json(
            {
                "schema": schema,
                "run_dir": str(paths.root),
                "report": str(paths.report) if paths.report.is_file() else None,
                "ended": observed.reason,
                "length_ns": (manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0),
                "probes": [probe.model_dump() for probe in manifest.probes],
                "doubts": [doubt.model_dump() for doubt in (made or manifest).doubts],
            }
        )
