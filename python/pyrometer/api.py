"""The notebook magic ``%%pyrometer``: measure a cell.

Load it with ``%load_ext pyrometer.api``.

The report of whatever a path is: a run, an event log, or an experiment.
"""

from __future__ import annotations

import argparse
import ast
import linecache
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import is_experiment, read_plan
from pyrometer.orchestrator.session import measure, repeat
from pyrometer.store.remote.opened import place_of
from pyrometer.tune.place import is_tuning

USAGE = "%%pyrometer [-n NAME] [-i ITERATIONS] [-w WARMUP] [-s SESSION] [-o DIR]"
ITERATIONS, WARMUP = 3, 1
CELL = "<%%pyrometer cell>"


def load_ipython_extension(ipython: Any) -> None:
    """Register ``%%pyrometer`` (IPython calls this for ``%load_ext``)."""

    def pyrometer(line: str, cell: str) -> object:
        try:
            return measure_cell(ipython, line, cell)
        except PyrometerError as error:
            if error.remedy:
                error.add_note(error.remedy)
            raise

    ipython.register_magic_function(pyrometer, "cell", "pyrometer")


def measure_cell(ipython: Any, line: str, cell: str) -> object:
    """Run a cell, measured, and show the summary.

    Without options it runs once, under :func:`~pyrometer.orchestrator.session.measure`. With a
    name, or a number of iterations, it is a workload:
    :func:`~pyrometer.orchestrator.session.repeat` runs it again and again in the same variables,
    and its value must repeat. The measurement is left in the variable ``measured``.

    Parameters
    ----------
    ipython : InteractiveShell
        The shell whose variables the cell sees and sets.
    line : str
        Options: ``-n NAME``, ``-i ITERATIONS`` (3), ``-w WARMUP`` (1), ``-s SESSION`` (the
        variable that holds it: ``spark``), ``-o DIR`` (where to write).
    cell : str
        Code.

    Returns
    -------
    object
        Value of the cell: of its last line, if that is an expression.

    Raises
    ------
    UsageError
        If there is no such variable, or the line or the cell is wrong.
    WorkloadError
        If the value does not repeat.
    """
    options = _parse(line)
    if options.session not in ipython.user_ns:
        raise UsageError(
            f"there is no variable {options.session!r} that holds a SparkSession",
            "%%pyrometer -s NAME names it",
        )
    session, block = ipython.user_ns[options.session], _compiled(ipython, cell)
    last: list[object] = [None]

    def once() -> object:
        last[0] = block()
        return last[0]

    if options.name or options.iterations is not None or options.warmup is not None:
        measured = repeat(
            session,
            once,
            options.output,
            name=options.name or "cell",
            iterations=ITERATIONS if options.iterations is None else options.iterations,
            warmup=WARMUP if options.warmup is None else options.warmup,
        )
    else:
        with measure(session, options.output) as measured:
            once()
    ipython.user_ns["measured"] = measured
    measured.show()
    return last[0]


def _compiled(ipython: Any, cell: str) -> Callable[[], object]:
    """Compile a cell once: its statements, and what its last line says if it is an expression."""
    code = ipython.transform_cell(cell)
    # Where a traceback looks for the lines of a file that is none.
    linecache.cache[CELL] = (len(code), None, code.splitlines(keepends=True), CELL)
    try:
        body = ast.parse(code).body
        last = body.pop().value if body and isinstance(body[-1], ast.Expr) else None
        statements = compile(ast.Module(body, []), CELL, "exec")
        value = compile(ast.Expression(last), CELL, "eval") if last else None
    except SyntaxError as error:
        raise UsageError(
            f"%%pyrometer: line {error.lineno} of the cell: {error.msg}",
            "correct it: the cell is Python, without await outside of functions",
        ) from error
    variables = ipython.user_ns

    def block() -> object:
        exec(statements, variables)  # noqa: S102 - running the cell is what is asked for
        return eval(value, variables) if value else None  # noqa: S307

    return block


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"%%pyrometer: {message}", USAGE)


def _parse(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%pyrometer", add_help=False)
    parser.add_argument("-n", "--name")
    parser.add_argument("-i", "--iterations", type=int)
    parser.add_argument("-w", "--warmup", type=int)
    parser.add_argument("-s", "--session", default="spark")
    parser.add_argument("-o", "--output")
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"%%pyrometer: {error}", USAGE) from error


def write_report(run: str | Path, path: str | Path | None = None) -> Path:
    """Summarise a run, or judge an experiment or a tuning, and write its report.

    Parameters
    ----------
    run : str or Path
        A run directory or an event log, here or at an address, or the folder of an experiment
        or a tuning.
    path : str or Path, optional
        The file to write. Default: ``report.html`` in the run directory; for an event log
        ``<log>.report.html`` in the current directory, as for a run at an address.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    UsageError
        If there is no run at ``run``, or the file cannot be written.
    """
    run = place_of(run)
    if is_experiment(run):
        return _write_experiment(run, None if path is None else Path(path))
    if is_tuning(run):
        return _write_tuning(run, None if path is None else Path(path))
    from pyrometer.report.page import write_run_report

    return write_run_report(run, path)


def _write_tuning(folder: Path, path: Path | None) -> Path:
    from pyrometer.tune.trials.folder import read_tuning

    if read_tuning(folder).online is not None:
        from pyrometer.tune.online.page import write_online

        return write_online(folder, path)
    from pyrometer.tune.judge.page import write_tuning

    return write_tuning(folder, path)


def _write_experiment(folder: Path, path: Path | None) -> Path:
    # What a run's report does not need: its import takes longer than that report.
    if read_plan(folder).kind == "corun":
        from pyrometer.corun.page import write_corun

        return write_corun(folder, path)
    from pyrometer.experiments.judge.page import write_experiment

    return write_experiment(folder, path)
