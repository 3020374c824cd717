"""For verbs that write an experiment: its file is next to its folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pyrometer.cli.shared.endings import ending_with
from pyrometer.core.errors import UsageError
from pyrometer.store.private import FILE_MODE
from pyrometer.terminal.console import emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Plan
    from pyrometer.experiments.judge.schema import TrialsReport
    from pyrometer.guests.machine import Machine


IterationsOption = Annotated[int, typer.Option(min=1, help="Measured iterations per trial.")]
SettingsOption = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="FACTOR=LEVEL", help="Set a factor's level for all trials; repeatable."
    ),
]
ScaleOption = Annotated[
    str, typer.Option("--scale", help="Scale of the data: test, default, seed, or a number.")
]
ProfileOption = Annotated[str, typer.Option(help="Profile: what is measured in each trial.")]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of the random order.")]
GuardOption = Annotated[
    Literal["wait", "flag", "repeat"],
    typer.Option(help="When other processes use the machine: wait, flag the trial, or repeat it."),
]
FolderOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Output folder: new or empty.")
]


@contextmanager
def reading_trials() -> Iterator[Callable[[int, int], None]]:
    """Show how many trials have been read, of how many."""
    with err().status("reading trials") as status:
        yield lambda done, of: status.update(f"reading trials: {done} of {of}")


def print_report(
    root: Path,
    report: TrialsReport,
    show: Callable[[Any, Any], None],
    write: Callable[[], Path],
    *,
    anything: bool,
    as_json: bool,
) -> None:
    """Print the report of an experiment, and write its page where its folder is writable.

    Raises
    ------
    Exit
        With code 1, unless there is `anything` to report.
    """
    page = write() if os.access(root, os.W_OK) else None
    with ending_with(None if anything else typer.Exit(1)):
        show(human(as_json), report)
        if page is not None:
            human(as_json).print(str(page), markup=False, soft_wrap=True)
        if as_json:
            emit_json(report)


def machine_in(settings: Sequence[str]) -> Machine | None:
    """Describe the virtual machine that ``--set machine.*`` asks for; ``None`` if it does not.

    Raises
    ------
    UsageError, CapabilityError
        If levels contradict each other, or a machine cannot have one.
    """
    from pyrometer.guests.machine import is_machine, machine_of
    from pyrometer.trial.factors import parse_treatment

    asked = [one for one in settings if is_machine(setting(one)[0])]
    return machine_of(parse_treatment(asked), len(os.sched_getaffinity(0)))


def check_new(root: Path, verb: str) -> None:
    """Refuse a folder in which a verb cannot begin its experiment."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root} is not an empty folder", f"pyrometer {verb} {root}, or -o DIR")


def setting(text: str) -> tuple[str, str]:
    """Read ``--set`` as it stands, for an experiment file."""
    name, equals, level = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--set {text!r} is not of the form factor=level", "--set jvm.heap=2g")
    return name.strip(), level.strip()


def begin_written(root: Path, text: str, *, dry: bool = False) -> Plan:
    """Write an experiment's file next to its folder, plan it, and begin it.

    Parameters
    ----------
    dry : bool
        Only plan it: nothing is begun, and the plan is for the caller to show.

    Raises
    ------
    UsageError
        If it cannot be planned (its file does not stay), or there is another file of that name.
    """
    from pyrometer.cli.shared.forecasts import forecast_of
    from pyrometer.experiments.judge import terminal
    from pyrometer.experiments.run.loop import begin
    from pyrometer.experiments.run.planned import plan_of

    file = root.with_name(f"{root.name}.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    written = _write_new(file, text)
    try:
        plan = plan_of(file, root)
    except UsageError as error:
        if written:
            file.unlink()
        # The user has not written this file, so its line numbers help nobody.
        message = re.sub(rf"^{re.escape(str(file))}(:\d+)*: ", "", error.message)
        raise UsageError(message, error.remedy) from error
    if not dry:
        begin(root, plan)
    err().print(str(file), markup=False, soft_wrap=True)
    if not dry:
        terminal.plan(err(), plan, forecast_of(plan, []), brief=True)
    return plan


def _write_new(file: Path, text: str) -> bool:
    """Write a file; ``False`` if it was there before, with the same content."""
    try:
        # Levels that the user gave may be secrets.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with open(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        if file.is_file() and file.read_bytes() == text.encode():
            return False
        raise UsageError(
            f"{file} exists, and is another experiment",
            f"pyrometer experiment run {file}, or -o DIR",
        ) from None
    return True
