"""``pyrometer fit``: laws of scaling for anybody's numbers, the knee, and what may be predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pyrometer.cli.shared.typed import refuse
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, human

if TYPE_CHECKING:
    from pyrometer.statistics.scaling.levels import Kind, Observation


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer fit times.csv --predict 16,32
  pyrometer fit rates.csv --kind throughput --workers threads --value "rows/s"
  pyrometer fit runs.csv --workers tasks --value seconds --cpu cpu_s --run-time run_s --gc gc_s
  pyrometer fit runs.csv --up-to 8 --predict 16,32   # beside what was measured there
"""


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def fit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="CSV", help="CSV file, one row per run.")],
    workers: Annotated[str, typer.Option(metavar="COLUMN", help="Number of workers.")] = "p",
    value: Annotated[
        str, typer.Option(metavar="COLUMN", help="Elapsed time, or throughput.")
    ] = "value",
    kind: Annotated[
        Literal["elapsed", "throughput"],
        typer.Option(help="Whether values are elapsed times or throughput."),
    ] = "elapsed",
    run: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that distinguishes runs of a level; default: run, if present.",
        ),
    ] = None,
    work: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the amount of work, in any unit."),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the CPU time of tasks, in the time's unit."
        ),
    ] = None,
    run_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the run time of tasks, in the time's unit."
        ),
    ] = None,
    gc: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the time of garbage collection during tasks."
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the memory throughput, in any unit."),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="CSV file with the --bandwidth column; its first column is the number of workers.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Attainable memory throughput in that unit, or 'card': this host's, in bytes/s.",
        ),
    ] = None,
    cpus: Annotated[float | None, typer.Option(min=0, help="CPUs that workers may use.")] = None,
    cores: Annotated[
        float | None, typer.Option(min=0, help="Number of physical cores behind these CPUs.")
    ] = None,
    up_to: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Fit only levels up to this one; the others are shown next to the predictions.",
        ),
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="P,…", help="Levels to leave out of the fit.")
    ] = None,
    predict: Annotated[
        str | None, typer.Option(metavar="P,…", help="Numbers of workers to predict.")
    ] = None,
    predict_work: Annotated[
        float | None,
        typer.Option(
            min=0, help="Amount of work to predict for, in --work's unit. Default: the largest."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit Amdahl, Gustafson, USL and Ernest side by side; find the knee; predict with intervals."""
    from pyrometer.scaling.analysis import Question, analyse
    from pyrometer.scaling.terminal import show

    if predict is None:
        refuse(context, "predict_work", of="--predict P,…", where="without it")
    columns = {
        "p": workers, "value": value, "work": work, "cpu": cpu, "run_time": run_time, "gc": gc,
        "bandwidth": None if beside else bandwidth,
    }  # fmt: skip
    rows = _observations(file, columns, run, kind)
    if beside is not None:
        rows = _joined(rows, beside, bandwidth)
    attainable, error = _limit(limit, bandwidth)
    analysis = analyse(
        rows,
        kind,
        Question(
            predict=numbers("--predict", predict), without=numbers("--without", without),
            predict_work=predict_work or None, up_to=up_to, cpus=cpus, cores=cores,
            limit=attainable, limit_sd=error,
        ),
        source=file.name, workers=workers, what=value,
    )  # fmt: skip
    show(human(as_json), analysis)
    if as_json:
        emit_json(analysis)


def _observations(
    file: Path, columns: dict[str, str | None], run: str | None, kind: Kind
) -> list[Observation]:
    from pyrometer.compare.lists import header, read_numbers
    from pyrometer.statistics.scaling.levels import FACTS, Observation

    named = {name: column for name, column in columns.items() if column is not None}
    run = run or ("run" if "run" in header(file) else None)
    # A run's number distinguishes rows, whatever else it means.
    unique = ["p", *(["work"] if "work" in named else []), *(["run"] if run else [])]
    if run:
        named["run"] = run
    rows = read_numbers(
        file, named, needed=["p", "value", *(["work"] if "work" in named else [])],
        unique=unique if run else (),
    )  # fmt: skip
    observations = [
        Observation(
            row["p"], row["value"], row.get("work", 1.0),
            {name: row[name] for name in FACTS if name in row},
        )
        for row in rows
    ]  # fmt: skip
    if not observations:
        raise UsageError(f"{file} has no rows", "give one row per run: p,value")
    if kind == "throughput" and "work" not in named and {"cpu", "run_time", "gc"} & named.keys():
        raise UsageError(
            f"{file}: --cpu, --run-time or --gc is compared with the time of a run, which"
            " throughput alone does not give",
            "--work COLUMN, or give elapsed times",
        )
    return observations


def _joined(rows: list[Observation], beside: Path, column: str | None) -> list[Observation]:
    """Give rows the memory throughput that another file has for their workers."""
    from dataclasses import replace

    from pyrometer.compare.lists import header, read_numbers

    if column is None:
        raise UsageError("--beside gives memory throughput: name its column", "--bandwidth COLUMN")
    first = next(iter(header(beside)), "p")
    found = {
        one["p"]: one["bandwidth"]
        for one in read_numbers(
            beside, {"p": first, "bandwidth": column}, needed=["p", "bandwidth"], unique=["p"]
        )
    }
    return [
        replace(one, facts={**one.facts, "bandwidth": found[one.p]}) if one.p in found else one
        for one in rows
    ]


def _limit(text: str | None, bandwidth: str | None) -> tuple[float | None, float]:
    """Read the attainable memory throughput, and its standard error."""
    if text is None:
        return None, 0.0
    if bandwidth is None:
        raise UsageError("--limit needs the memory throughput of levels", "--bandwidth COLUMN")
    if text == "card":
        from pyrometer.accounts.hardware.bandwidth import AGAIN, attainable, fewer_threads
        from pyrometer.collect.host.card import this_host

        card = this_host().card
        if fewer := fewer_threads(card):
            raise UsageError(fewer, AGAIN)
        best, _ = attainable(card)
        if best is None or best.value is None:
            raise UsageError("this host has no card", "pyrometer doctor --card measures it once")
        spread = 0.0 if best.low is None or best.high is None else (best.high - best.low) / 4
        return best.value, spread
    found = numbers("--limit", text)
    if len(found) != 1:
        raise UsageError(f"--limit {text}: one number, or 'card'", "--limit 156")
    return found[0], 0.0


def numbers(option: str, text: str | None) -> list[float]:
    """Read positive numbers, separated by commas.

    Raises
    ------
    UsageError
        If they are none.
    """
    try:
        found = [float(word) for word in (text or "").split(",") if text]
    except ValueError:
        raise UsageError(
            f"{option} {text}: expected numbers separated by commas", "16,32"
        ) from None
    wrong = [one for one in found if not 0 < one < float("inf")]
    if wrong:
        raise UsageError(f"{option} {text}: {wrong[0]:g} must be above zero")
    return found
