"""The notebook magic ``%%pyrometer``: measure a cell.

Load it with ``%load_ext pyrometer.notebook``.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from pyrometer.errors import UsageError
from pyrometer.live import measure


def load_ipython_extension(ipython: Any) -> None:
    """Register ``%%pyrometer`` (IPython calls this for ``%load_ext``)."""

    def pyrometer(line: str, cell: str) -> None:
        measure_cell(ipython, line, cell)

    ipython.register_magic_function(pyrometer, "cell", "pyrometer")


def measure_cell(ipython: Any, line: str, cell: str) -> None:
    """Run a cell under :func:`pyrometer.live.measure` and show the summary.

    The measurement is left in the variable ``measured``.

    Parameters
    ----------
    ipython : InteractiveShell
        The shell that runs the cell.
    line : str
        ``[-s NAME] [-o DIR]``: the variable that holds the session (``spark``), and where to
        write.
    cell : str
        Code.

    Raises
    ------
    UsageError
        If there is no such variable, or the line is wrong.
    """
    options = _parse(line)
    if options.session not in ipython.user_ns:
        raise UsageError(
            f"there is no variable {options.session!r} that holds a SparkSession",
            "%%pyrometer -s NAME names it",
        )
    with measure(ipython.user_ns[options.session], options.output) as measured:
        result = ipython.run_cell(cell)
        result.raise_error()
    ipython.user_ns["measured"] = measured
    measured.show()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"%%pyrometer: {message}", "%%pyrometer [-s SESSION] [-o DIR]")


def _parse(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%pyrometer", add_help=False)
    parser.add_argument("-s", "--session", default="spark")
    parser.add_argument("-o", "--output", default=None)
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"%%pyrometer: {error}", "%%pyrometer [-s SESSION] [-o DIR]") from error
