"""For ``pyrometer tune``: words of the command line as a tuning, and what is applied of one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import Redactor
from pyrometer.core.replacing import replacing
from pyrometer.terminal.console import err

if TYPE_CHECKING:
    from pyrometer.tune.judge.schema import TuningReport
    from pyrometer.tune.start import Start
    from pyrometer.tune.trials.folder import Earlier, Prior


def made(
    what: list[str], output: Path | None, *, is_command: bool, **asked: Any
) -> tuple[Start, Path]:
    """Turn the words of the command line into a tuning, and say where it goes.

    Raises
    ------
    UsageError
        If something of it is wrong.
    """
    from pyrometer.cli.shared.experiment_file import setting as read_setting
    from pyrometer.cli.shared.margin import parse_margin
    from pyrometer.experiments.plan.treatments import short_names
    from pyrometer.simulation.analysis import read_prices
    from pyrometer.trial.trial import Trial
    from pyrometer.tune.known import job_from_run, known_from
    from pyrometer.tune.memory.remembered import folder_of
    from pyrometer.tune.space.file import knobs_of
    from pyrometer.tune.start import Wanted, absolute, started
    from pyrometer.tune.trials.measured import check_measured

    workload = None if is_command else what[0]
    command = tuple(what) if is_command else ()
    words = Redactor.of(command).words(command)
    shared = dict(read_setting(one) for one in asked["setting"])
    if workload is not None:
        from pyrometer.collect.launch.launch import factors_of_workload

        shared = short_names(shared, factors_of_workload(workload))
    priors: list[Prior] = []
    earlier: list[Earlier] = []
    varied = knobs_of(asked["space"]) if asked["sources"] else set()
    for source in asked["sources"]:
        job = absolute(workload) if workload is not None else " ".join(words)
        known = known_from(source, job, asked["scale"], shared, asked["objective"], varied)
        priors += known[0]
        earlier += known[1]
    jobs = [found for source in asked["sources"] if (found := job_from_run(source)) is not None]
    trial = Trial(name=workload, command=command)
    root = output or Path("pyrometer-runs") / f"tune-{trial.label}"
    wanted = Wanted(
        workload=workload, command=command, space=asked["space"], objective=asked["objective"],
        conditions=tuple(asked["conditions"]), budget=asked["budget"], check=asked["check"],
        shared=shared, scale=asked["scale"], profile=asked["profile"],
        iterations=asked["iterations"], warmup=asked["warmup"], guard=asked["guard"],
        engine=asked["engine"],
        margin=parse_margin(asked["margin"]), seed=asked["seed"],
        prices=None if asked["price"] is None else read_prices(asked["price"]),
        priors=tuple(priors), earlier=tuple(earlier), sources=tuple(map(str, asked["sources"])),
        job=jobs[-1] if jobs else None, fidelities=tuple(asked["fidelities"]) or ("auto",),
        memory=folder_of(asked["memory"]), timeout=asked.get("timeout"),
        online=asked.get("online"),
    )  # fmt: skip
    start = started(wanted, root)
    check_measured(start.tuning)
    return start, root


def check_scale(workload: str, is_command: bool, scale: str) -> None:
    """Refuse a scale that a job does not have.

    Raises
    ------
    UsageError
        With those that it has.
    """
    from pyrometer.workloads import registry
    from pyrometer.workloads.contract import parse_scale

    if is_command:
        raise UsageError("--scale is for workloads: a command itself decides what it reads")
    parse_scale(registry.get(workload), scale)


def confirmed(folder: Path, report: TuningReport, *, unconfirmed: bool) -> dict[str, str]:
    """Give what is to be applied.

    Raises
    ------
    UsageError
        If a tuning has found nothing.
    Exit
        With code 1, if nothing was confirmed, or another scale refuted it, and nobody asked for
        what was not.
    """
    from pyrometer.compare.terminal import show_doubts
    from pyrometer.tune.judge.doubts import refuted
    from pyrometer.tune.judge.terminal import to_confirm

    found = report.confirmation
    if report.best is None or not report.best.configuration:
        raise UsageError(f"{folder}: there is nothing to apply: {report.told}")
    sure = found is not None and found.verdict.outcome == "confirmed"
    elsewhere = refuted(report.elsewhere)
    if (elsewhere or not sure) and not unconfirmed:
        err().print(report.told, markup=False, soft_wrap=True)
        more = to_confirm(report, folder)
        why = "nothing was confirmed"
        what = f"Confirm it: {more}" if more else "More trials would not confirm it: tune again"
        if sure:
            why = f"scale {elsewhere[0].scale} refutes it"
            what = f"Tune it at that scale: --scale {elsewhere[0].scale}"
        err().print(f"not applied: {why}. {what}; or --unconfirmed", markup=False, soft_wrap=True)
        raise typer.Exit(1)
    show_doubts(err(), report.doubts)
    return report.best.configuration


def incumbent(folder: Path) -> tuple[dict[str, str], str]:
    """Give what a recurring job runs with by now, and what is known of it.

    Raises
    ------
    UsageError
        If it is the job as it is.
    """
    from pyrometer.tune.online.report import online_report

    found = online_report(folder)
    if not found.incumbent:
        raise UsageError(f"{folder}: there is nothing to apply: {found.told}")
    return found.incumbent, found.told


def read_text(path: Path) -> str:
    """Read a file of the user.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {why}", "-o FILE") from error


def write_text(path: Path, text: str) -> None:
    """Write a file of the user at once, or not at all; one that is there keeps owner and rights.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    try:
        # A link of the user's own stays one.
        target = path.resolve()
        before = target.stat() if target.exists() else None
        with replacing(target, 0o666 if before is None else 0o600) as out:
            if before is not None:
                with suppress(PermissionError):
                    os.fchown(out.fileno(), before.st_uid, before.st_gid)
                os.fchmod(out.fileno(), stat.S_IMODE(before.st_mode))
            out.write(text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "-o FILE") from error


def resumed_by(folder: Path) -> str | None:
    """Give the command that goes on with the tuning that an experiment is part of."""
    from pyrometer.tune.place import is_tuning

    tuning = folder.resolve().parent
    return f"pyrometer tune resume {tuning}" if is_tuning(tuning) else None
