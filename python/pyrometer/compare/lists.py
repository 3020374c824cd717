"""Times of runs: one value per run, or per iteration where there is one run on each side.

Trials from a CSV file: one row per trial, columns by name.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import doubt
from pyrometer.statistics.treatments import Trial
from pyrometer.store import Run
from pyrometer.store.lives import LIVES

_TIMES = """
    SELECT (end_wall_ns - start_wall_ns)::BIGINT FROM iterations
    WHERE NOT warmup AND status = 'success' AND end_wall_ns IS NOT NULL ORDER BY iteration
"""
_WHOLE = """
    SELECT CASE WHEN bool_and(coalesce(start_wall_ns, 0) <> 0 AND coalesce(end_wall_ns, 0) <> 0)
      THEN (max(end_wall_ns) - min(start_wall_ns))::BIGINT END
    FROM apps
"""
# Of a log that was cut: up to its last event. This reads all tasks.
_SEEN = f"SELECT (max(gone_wall_ns) - min(born_wall_ns))::BIGINT FROM ({LIVES})"


def times_of(run: Run) -> list[int]:
    """Return the times of the measured iterations in ns; of the application where none are known.

    An application whose log ends before it did counts up to the last event.

    Raises
    ------
    UsageError
        If neither is known.
    """
    found = [row[0] for row in run.tables.query(_TIMES)] if run.tables.has("iterations") else []
    if not found and run.tables.has("apps"):
        whole = run.tables.scalar(_WHOLE)
        if whole is None:
            whole = run.tables.scalar(_SEEN)
        found = [] if whole is None else [int(whole)]
    if not found:
        raise UsageError(
            f"{run.paths.address}: no measured iteration succeeded and no application was seen",
            f"pyrometer show {run.paths.address}",
        )
    return found


def trials_of(
    a: Sequence[list[int]], b: Sequence[list[int]], names: tuple[str, str] = ("A", "B")
) -> tuple[list[Trial], list[Doubt]]:
    """Build trials of two sides from the times of their runs.

    A run is a trial: its value is the mean of its iterations, which share one JVM. Only if each
    side has one run do its iterations count as trials, with a doubt.
    """
    if len(a) == len(b) == 1:
        trials = [
            Trial(name, ns / 1e9) for name, one in zip(names, (a, b), strict=True) for ns in one[0]
        ]
        what = "Iterations of one run" if len(trials) > 2 else "One run"
        return trials, [
            doubt(
                "one_run_each",
                f"{what} on each side: how much runs differ among themselves is not known",
            )
        ]
    return [
        Trial(name, statistics.fmean(times) / 1e9)
        for name, one in zip(names, (a, b), strict=True)
        for times in one
    ], []


MOST_ROWS = 1_000_000
_MOST_NAMES = 3


def read_trials(
    path: Path, *, value: str, treatment: list[str], block: str | None = None
) -> tuple[list[tuple[str, float, str | None]], list[Doubt]]:
    """Read treatment, value and block of each row, in the order of the file.

    Rows whose value is empty, as that of a trial that failed is, are left out, with a doubt.

    Parameters
    ----------
    value, block : str
        Names of columns.
    treatment : list of str
        Columns whose values together name the treatment, joined by ``, ``.

    Raises
    ------
    UsageError
        If the file cannot be read, a column is missing, a row is too short or its value is not a
        number (the message has the line), or all are empty.
    """
    wanted = [value, *treatment, *([block] if block else [])]
    found: list[tuple[str, float, str | None]] = []
    without: Counter[str] = Counter()
    for where, row in _rows(path, wanted):
        short = [one for one in wanted if row[one] is None]
        if short:
            raise UsageError(f"{where}: the row ends before column {short[0]}")
        name = ", ".join(row[one] for one in treatment)
        if not row[value].strip():
            without[name] += 1
            continue
        try:
            number = float(row[value])
        except ValueError:
            raise UsageError(f"{where}: {value} is {row[value]!r}, not a number") from None
        found.append((name, number, row[block] if block else None))
    if not without:
        return found, []
    if not found:
        raise UsageError(f"{path}: {value} is empty in every row")
    count = without.total()
    names = ", ".join(f"{name}: {n}" for name, n in without.most_common(_MOST_NAMES))
    more = ", …" if len(without) > _MOST_NAMES else ""
    message = f"{count} of {count + len(found)} rows have no {value} and are left out"
    return found, [doubt("trials_censored", f"{message} ({names}{more})")]


def read_numbers(
    path: Path, columns: Mapping[str, str], *, needed: Sequence[str], unique: Sequence[str] = ()
) -> Iterator[dict[str, float]]:
    """Read positive numbers of each row, in the order of the file.

    Parameters
    ----------
    columns : mapping of str to str
        Columns of the file, by name in the result.
    needed : sequence of str
        Columns that must be above zero in every row; others are omitted where a cell is empty.
    unique : sequence of str
        Columns whose cells together identify a row.

    Raises
    ------
    UsageError
        If the file cannot be read, a column is missing, a cell is not such a number, or two rows
        are the same; the message has the line.
    """
    seen: dict[tuple[str, ...], str] = {}
    for where, row in _rows(path, list(columns.values())):
        key = tuple(str(row[columns[name]]).strip() for name in unique)
        if unique and key in seen:
            same = ", ".join(f"{columns[n]} {k}" for n, k in zip(unique, key, strict=True))
            raise UsageError(f"{where}: {same} is already in {seen[key]}")
        seen[key] = where
        values = {}
        for name, column in columns.items():
            text = (row[column] or "").strip()
            if text or name in needed:
                values[name] = _number(f"{where}: {column}", text, zero=name not in needed)
        yield values


def header(path: Path) -> list[str]:
    """Read the names of a file's columns; none where it cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file).fieldnames or [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def _number(what: str, text: str, *, zero: bool) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{what} is {text!r}, not a number") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise UsageError(f"{what} is {text}: it must be {'at least' if zero else 'above'} zero")
    return number


def _rows(path: Path, wanted: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Read rows with the wanted columns, each with its line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            known = rows.fieldnames or []
            missing = [name for name in wanted if name not in known]
            if missing:
                raise UsageError(
                    f"{path}: no column {', '.join(missing)}",
                    f"choose from its columns: {', '.join(known) or 'none'}",
                )
            for count, row in enumerate(rows):
                if count == MOST_ROWS:
                    raise UsageError(f"{path}: more than {MOST_ROWS:,} rows")
                yield f"{path}:{rows.line_num}", row
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}", "--csv takes a file with a row per trial"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"{path}: not CSV: {error}") from error
