"""``pyrometer probe --pid PID``: where the time of any process goes.

Also what the verbs that observe running processes share.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.budget import ProbeBudgetOption
from pyrometer.collect.launch.observe import Silent
from pyrometer.core.errors import UsageError
from pyrometer.terminal import console as common
from pyrometer.terminal.console import JsonOption

if TYPE_CHECKING:
    from pyrometer.orchestrator.attach import Observed


DurationOption = Annotated[
    str | None,
    typer.Option(
        "--duration",
        metavar="TIME",
        help="How long: 30, 30s, 5m. Default: until it ends, or Ctrl-C.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="RUN", help="Run directory: new or empty.", show_default=False
    ),
]
NoReportOption = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str | None) -> float | None:
    """Read ``--duration``.

    Raises
    ------
    UsageError
        If it is not a positive time.

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
        raise UsageError(f"--duration {text}: not a duration", "--duration 30s, 5m or 1h")
    return found


class Notes(Silent):
    """Prints notes only; phases are not shown."""

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


def observe_and_print(
    verb: str,
    what: str,
    observe: Callable[..., Observed],
    *,
    duration: str | None,
    output: Path | None,
    no_report: bool,
    as_json: bool,
) -> None:
    """Observe until it ends, a time is over, or Ctrl-C; print what was observed.

    Parameters
    ----------
    verb : str
        Name of the verb, for the schema of its JSON.
    what : str
        What is observed, in words.
    observe : callable
        A function of `pyrometer.orchestrator.attach` that lacks only what the verbs share.
    duration, output, no_report, as_json
        The options that they share.
    """
    length = seconds(duration)
    with ticking(what) as tick:
        observed = observe(
            seconds=length, run_dir=output, tick=tick, watch=Notes(), report=not no_report
        )
    print_observed(observed, f"pyrometer/{verb}/1", as_json)


def print_observed(observed: Observed, schema: str, as_json: bool) -> None:
    """Print what was observed, and where it is stored."""
    from pyrometer.cli.shared.finding import Finder
    from pyrometer.summary import screen

    manifest, paths = observed.record.manifest, observed.record.paths
    console = common.human(as_json)
    length = ((manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0)) / 1e9
    console.print(f"observed for {length:.1f} s; {observed.reason}", markup=False)
    if observed.summary is not None:
        findings = Finder().lines_of_run(paths.root, None, observed.summary)
        screen.show(console, observed.summary, findings=findings)
    if paths.report.is_file():
        console.print(f"report: {paths.report}", markup=False, soft_wrap=True)
    console.print(f"run:    {paths.root}", markup=False, soft_wrap=True)
    if as_json:
        summary = observed.summary
        common.emit_json(
            {
                "schema": schema,
                "run_dir": str(paths.root),
                "report": str(paths.report) if paths.report.is_file() else None,
                "ended": observed.reason,
                "length_ns": (manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0),
                "probes": [probe.model_dump() for probe in manifest.probes],
                "doubts": [doubt.model_dump() for doubt in (summary or manifest).doubts],
            }
        )


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer probe --pid 4242 --duration 30s
  pyrometer probe --pid 4242 --annotate postgres -o pg
  pyrometer probe --pid 4242 --annotate 'word@my_state:u32=states.txt'
"""


@app.command(epilog=EXAMPLES)
def probe(
    pid: Annotated[
        list[int], typer.Option("--pid", help="Process to observe; repeatable.", show_default=False)
    ],
    more: Annotated[
        list[int] | None,
        typer.Argument(metavar="[PID]…", help="Further processes.", show_default=False),
    ] = None,
    annotate: Annotated[
        str | None,
        typer.Option(
            "--annotate",
            metavar="WORD",
            help="A word in the process's memory that says what it is doing:"
            " postgres, or word@ADDRESS[:TYPE][=NAMES].",
            show_default=False,
        ),
    ] = None,
    duration: DurationOption = None,
    output: OutputOption = None,
    hz: Annotated[float, typer.Option("--hz", help="Passes per second, up to 1000.")] = 20.0,
    tier: Annotated[
        str, typer.Option("--tier", help="Tier of the probe: auto, T0, T1, T2, T3.")
    ] = "auto",
    probe_budget: ProbeBudgetOption = "none",
    no_report: NoReportOption = False,
    as_json: JsonOption = False,
) -> None:
    """Observe any process and its children, without touching them: threads, states, kernel stacks.

    It stops when they exit, after --duration, or on Ctrl-C; they keep running. Exit code: 0,
    2 for a mistake in the options or a process that is not there, 3 if it may not be observed.
    """
    from pyrometer.collect.probes.os import TIERS, budget_of
    from pyrometer.orchestrator.attach import probe as observe

    if not 0.1 <= hz <= 1000:
        raise UsageError(f"--hz {hz:g}: must be from 0.1 to 1000", "--hz 100")
    if tier not in TIERS:
        raise UsageError(f"--tier {tier}: unknown tier", f"use one of {', '.join(TIERS)}")
    pids = list(dict.fromkeys([*pid, *(more or ())]))
    observe_and_print(
        "probe",
        f"observing process {', '.join(map(str, pids))}",
        partial(
            observe,
            pids,
            annotation=annotate,
            hz=hz,
            tier=None if tier == "auto" else tier,
            budget=budget_of(probe_budget),
        ),
        duration=duration,
        output=output,
        no_report=no_report,
        as_json=as_json,
    )
