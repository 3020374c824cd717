"""``pyrometer probe --pid PID``: where the time of any process goes."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pyrometer.cli.beside import DurationOption, NoReportOption, OutputOption, observe_and_tell
from pyrometer.cli.common import JsonOption
from pyrometer.errors import UsageError

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
        list[int], typer.Option("--pid", help="A process; may be repeated.", show_default=False)
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
            help="The application's own word for what it does, read from its memory:"
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
    no_report: NoReportOption = False,
    as_json: JsonOption = False,
) -> None:
    """Observe any process and its children, without touching them: threads, states, kernel stacks.

    It ends when they have ended, after --duration, or with Ctrl-C; they run on. Exit code: 0,
    2 for a mistake in the options or a process that is not there, 3 if it may not be observed.
    """
    from pyrometer.beside import probe as observe
    from pyrometer.probes.os import TIERS

    if not 0.1 <= hz <= 1000:
        raise UsageError(f"--hz {hz:g}: not from 0.1 to 1000", "--hz 100")
    if tier not in TIERS:
        raise UsageError(f"--tier {tier}: there is no such tier", f"one of {', '.join(TIERS)}")
    pids = list(dict.fromkeys([*pid, *(more or ())]))
    observe_and_tell(
        "probe",
        f"observing process {', '.join(map(str, pids))}",
        partial(observe, pids, annotation=annotate, hz=hz, tier=None if tier == "auto" else tier),
        duration=duration,
        output=output,
        no_report=no_report,
        as_json=as_json,
    )
