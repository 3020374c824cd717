"""Trials out of a CSV file that somebody has: one row a trial, columns by name."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer.errors import UsageError

MOST_ROWS = 1_000_000


def read_trials(
    path: Path, *, value: str, treatment: list[str], block: str | None = None
) -> Iterator[tuple[str, float, str | None]]:
    """Read treatment, value and block of each row, in the order of the file.

    Parameters
    ----------
    value, block : str
        Names of columns.
    treatment : list of str
        Columns whose values together name the treatment, joined by ``, ``.

    Raises
    ------
    UsageError
        If the file cannot be read, a column is missing, or a value is no number: with its line.
    """
    wanted = [value, *treatment, *([block] if block else [])]
    for where, row in _rows(path, wanted):
        try:
            number = float(row[value])
        except (TypeError, ValueError):
            raise UsageError(f"{where}: {value} is {row[value]!r}, no number") from None
        name = ", ".join(str(row[one]) for one in treatment)
        yield name, number, row[block] if block else None


def read_numbers(
    path: Path, columns: Mapping[str, str], *, needed: Sequence[str], unique: Sequence[str] = ()
) -> Iterator[dict[str, float]]:
    """Read positive numbers of each row, in the order of the file.

    Parameters
    ----------
    columns : mapping of str to str
        Columns by what they are called here.
    needed : sequence of str
        Those that no row may leave empty, nor be zero; others are left out where a cell is empty.
    unique : sequence of str
        Those whose cells together tell rows apart.

    Raises
    ------
    UsageError
        If the file cannot be read, a column is missing, a cell is no such number, or two rows are
        the same: with the line.
    """
    seen: dict[tuple[str, ...], str] = {}
    for where, row in _rows(path, list(columns.values())):
        key = tuple(str(row[columns[name]]).strip() for name in unique)
        if unique and key in seen:
            told = ", ".join(f"{columns[n]} {k}" for n, k in zip(unique, key, strict=True))
            raise UsageError(f"{where}: {told} stands in {seen[key]} already")
        seen[key] = where
        made = {}
        for name, column in columns.items():
            text = (row[column] or "").strip()
            if text or name in needed:
                made[name] = _number(f"{where}: {column}", text, zero=name not in needed)
        yield made


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
        raise UsageError(f"{what} is {text!r}, no number") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise UsageError(f"{what} is {text}: it must be {'at least' if zero else 'above'} zero")
    return number


def _rows(path: Path, wanted: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Read rows that have the columns wanted, each with its place."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            known = rows.fieldnames or []
            missing = [name for name in wanted if name not in known]
            if missing:
                raise UsageError(
                    f"{path}: no column {', '.join(missing)}",
                    f"its columns are: {', '.join(known) or 'none'}",
                )
            for count, row in enumerate(rows):
                if count == MOST_ROWS:
                    raise UsageError(f"{path}: more than {MOST_ROWS:,} rows")
                yield f"{path}:{rows.line_num}", row
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"{path}: no CSV: {error}") from error
