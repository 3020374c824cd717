"""``pyrometer simulate RUN``: the tasks of a run, scheduled on other clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.read.show import WindowOption
from pyrometer.cli.shared.run_named import run_path
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.core.doubt import Doubt
    from pyrometer.simulation.contention import Contention
    from pyrometer.simulation.intervals import Sized
    from pyrometer.simulation.measured import Measured
    from pyrometer.store import Run
    from pyrometer.window.windows import Window


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer simulate RUN
  pyrometer simulate application_1_0001.zstd --percent 50,100,200 --price prices.toml
  pyrometer simulate RUN --executors 4 --cores 8
  pyrometer simulate RUN --stretch 4=0.5 --percent 100
  pyrometer simulate RUN --contention 0.02,0.0005
  pyrometer simulate EXPERIMENT/trials/*
"""


@app.command(epilog=EXAMPLES)
def simulate(
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…",
            parser=run_path,
            help="A run directory, or a Spark event log. Several: the levels of a scaling"
            " experiment, each predicted from the others.",
            show_default=False,
        ),
    ],
    as_json: JsonOption = False,
    window: WindowOption = None,
    executors: Annotated[
        int | None,
        typer.Option(
            "--executors", metavar="N", min=1, max=10_000, help="Number of executors to simulate."
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores", metavar="N", min=1, max=10_000, help="Cores of each simulated executor."
        ),
    ] = None,
    percent: Annotated[
        str | None,
        typer.Option(
            "--percent",
            metavar="P,…",
            help="Sizes in per cent of the measured slots, with at most ten million more tasks."
            " Default: 10 … 500.",
        ),
    ] = None,
    tasks: Annotated[
        float | None,
        typer.Option(
            "--tasks",
            metavar="PERCENT",
            min=1,
            help="Number of tasks in each stage with several, drawn from the measured ones; at most"
            " ten million more in all.",
        ),
    ] = None,
    stretch: Annotated[
        list[str] | None,
        typer.Option(
            "--stretch", metavar="STAGE=FACTOR", help="Multiply the time of a stage's tasks."
        ),
    ] = None,
    contention: Annotated[
        str | None,
        typer.Option(
            "--contention",
            metavar="α,β",
            help="Slow-down of tasks side by side on a host: coefficients of a universal"
            " scalability law. Default: the CPU shares of the ledger, where known.",
        ),
    ] = None,
    cpus: Annotated[
        float | None,
        typer.Option("--cpus", metavar="N", min=0.01, help="CPUs of a simulated host."),
    ] = None,
    price: Annotated[
        Path | None,
        typer.Option(
            "--price", metavar="FILE", help="TOML file with currency, core_hour, gb_hour."
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the random draws."),
    ] = 0,
    application: Annotated[
        int | None,
        typer.Option(
            "--app", metavar="N", help="Application ID. Default: the one with most task time."
        ),
    ] = None,
) -> None:
    """Schedule the tasks of a run on other clusters: elapsed time, bounds, waste, cost, error."""
    from pyrometer.simulation import terminal
    from pyrometer.simulation.analysis import PERCENTS, Question, analyse, read_prices
    from pyrometer.store import Run
    from pyrometer.store.remote.opened import address

    _check_cpus(cpus)
    fit = None if contention is None else _fit(contention, cpus)
    if len(run) > 1:
        asked = (executors, cores, percent, tasks, stretch, cpus, price, seed or None)
        if any(option not in (None, []) for option in asked):
            raise UsageError(
                "several runs predict each other; only --contention, --window and --app apply",
                "give one run for the other options",
            )
        _levels(run, window, application, fit, as_json)
        return
    ask = Question(
        percents=PERCENTS if percent is None else _numbers("--percent", percent),
        executors=executors,
        cores=cores,
        tasks_ratio=None if tasks is None else tasks / 100,
        stretch=dict(_stage_factor(text) for text in stretch or ()),
        prices=None if price is None else read_prices(price),
        seed=seed,
    )
    with Run.open(run[0]) as opened, err().status("simulating"):
        chosen, measured = _measured(run[0], opened, window, application)
        _know_stages(measured, ask.stretch)
        law, doubts = _contention(opened, measured, chosen.name, fit, cpus)
        report = analyse(measured, chosen, address(run[0]), ask, law, [*opened.doubts, *doubts])
    if as_json:
        emit_json(report)
    else:
        terminal.simulation(human(as_json), report)


def _levels(
    runs: list[Path],
    window: str | None,
    application: int | None,
    fit: Contention | None,
    as_json: bool,
) -> None:
    from pyrometer.simulation import terminal
    from pyrometer.simulation.intervals import leave_out

    sized, refused = [], []
    with err().status("simulating"):
        for path in runs:
            try:
                sized.append(_sized(path, window, application, fit))
            except UsageError as error:
                refused.append(error)
        report = leave_out(sized, refused)
    if as_json:
        emit_json(report)
    else:
        terminal.left_out(human(as_json), report)


def _sized(
    path: Path, window: str | None, application: int | None, fit: Contention | None
) -> Sized:
    """Read one run of several; that of a failed trial has no time to compare with."""
    from pyrometer.simulation.intervals import Sized
    from pyrometer.store import Run

    with Run.open(path) as opened:
        if opened.manifest is not None and opened.manifest.state != "finished":
            raise UsageError(f"{path}: {opened.manifest.ending}")
        chosen, measured = _measured(path, opened, window, application)
        law, doubts = _contention(opened, measured, chosen.name, fit, None)
        sized = Sized(measured, law, (*opened.doubts, *doubts))
    try:
        _ = sized.calibrated  # raises if it cannot be scheduled at its measured size
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.remedy) from error
    return sized


def _measured(
    path: Path, run: Run, window: str | None, application: int | None
) -> tuple[Window, Measured]:
    """Read what can be scheduled of a run; errors name the path as it was given."""
    from pyrometer.simulation.measured import measured_of
    from pyrometer.window.windows import choose

    try:
        chosen = choose(run, window)
        return chosen, measured_of(run, chosen, application)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.remedy) from error


def _contention(
    run: Run, measured: Measured, window: str, fit: Contention | None, cpus: float | None
) -> tuple[Contention | None, list[Doubt]]:
    from pyrometer.simulation.contention import of_ledger
    from pyrometer.simulation.scheduler import no_contention

    if fit is not None:
        return fit, []
    found, reason = of_ledger(run, measured, window, cpus)
    if found is not None:
        return found, []
    if cpus is not None:
        raise UsageError(
            f"--cpus: {reason}",
            "pyrometer run --profile light measures what it needs, on hosts of as many CPUs each",
        )
    return None, [no_contention(reason or "no CPU shares")]


def _check_cpus(cpus: float | None) -> None:
    from pyrometer.simulation.contention import MOST_CPUS

    if cpus is not None and not cpus <= MOST_CPUS:
        raise UsageError(f"--cpus {cpus:g}: expected a number up to {MOST_CPUS}", "--cpus 16")


def _fit(law: str, cpus: float | None) -> Contention:
    from pyrometer.simulation.contention import fitted

    if cpus is not None:
        raise UsageError("--cpus cannot be combined with --contention")
    numbers = _numbers("--contention", law, least=0.0)
    if len(numbers) != 2:
        raise UsageError(
            f"--contention {law}: expected two numbers, α and β", "--contention 0.02,0.001"
        )
    return fitted(*numbers)


def _know_stages(measured: Measured, stretch: dict[int, float]) -> None:
    unknown = sorted(set(stretch) - {stage.stage_id for stage in measured.stages})
    if unknown:
        known = ", ".join(str(stage.stage_id) for stage in measured.stages[:20])
        raise UsageError(
            f"--stretch: no stage {unknown[0]} in this window", f"choose from its stages: {known}"
        )


def _numbers(option: str, text: str, least: float = 1.0) -> list[float]:
    try:
        found = [float(part.removesuffix("%")) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(least <= number <= 1e5 for number in found):
        raise UsageError(
            f"{option} {text}: expected numbers from {least:g} up, separated by commas"
        )
    return found


def _stage_factor(text: str) -> tuple[int, float]:
    stage, _, factor = text.partition("=")
    try:
        found = int(stage), float(factor)
    except ValueError:
        found = -1, -1.0
    if found[0] < 0 or not 0 <= found[1] <= 1e6:
        raise UsageError(
            f"--stretch {text}: expected a stage's number and a factor", "--stretch 4=0.5"
        )
    return found
