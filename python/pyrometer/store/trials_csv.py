"""Trials out of a CSV file that somebody has: one row a trial, columns by name."""

from __future__ import annotations

import csv
from collections.abc import Iterator
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
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            known = rows.fieldnames or []
            wanted = [value, *treatment, *([block] if block else [])]
            missing = [name for name in wanted if name not in known]
            if missing:
                raise UsageError(
                    f"{path}: no column {', '.join(missing)}",
                    f"its columns are: {', '.join(known) or 'none'}",
                )
            for count, row in enumerate(rows):
                if count == MOST_ROWS:
                    raise UsageError(f"{path}: more than {MOST_ROWS:,} rows")
                try:
                    number = float(row[value])
                except (TypeError, ValueError):
                    raise UsageError(
                        f"{path}:{rows.line_num}: {value} is {row[value]!r}, no number"
                    ) from None
                yield (
                    ", ".join(str(row[name]) for name in treatment),
                    number,
                    row[block] if block else None,
                )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"{path}: no CSV: {error}") from error
