"""Values written into the text of SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyrometer.core.errors import UsageError

NO_PARTITIONS = "hive_partitioning=false"
"""Of whatever reads files: otherwise a folder ``a=b`` above them gives each row its own ``a``."""

# Texts and names in quotes and comments, where a question mark is no parameter.
_PARTS = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?|\$[0-9]+)""")


def with_parameters(sql: str, parameters: Sequence[object]) -> str | None:
    """Write the parameters of a query into its text.

    Returns
    -------
    str or None
        The query with constants; ``None`` if one of them has a type that is not written here.

    Raises
    ------
    ValueError, IndexError
        If there are not as many parameters as question marks, or no parameter of that number.

    Examples
    --------
    >>> with_parameters("SELECT '?', a FROM t WHERE b = ? LIMIT ?", ["it's", 3])
    "SELECT '?', a FROM t WHERE b = 'it''s'::VARCHAR LIMIT 3"
    >>> with_parameters("SELECT ?", [[1, "a"]])
    "SELECT [1, 'a'::VARCHAR]"
    >>> with_parameters("SELECT $2 + $1 + $2", [1, 2])
    'SELECT 2 + 1 + 2'
    """
    constants = [_constant(value) for value in parameters]
    if None in constants:
        return None
    parts = _PARTS.split(sql)
    numbered = [at for at, part in enumerate(parts) if part.startswith("$")]
    for at in numbered:
        parts[at] = str(constants[int(parts[at][1:]) - 1])
    if not numbered:
        holes = [at for at, part in enumerate(parts) if part == "?"]
        for at, constant in zip(holes, constants, strict=True):
            parts[at] = str(constant)
    return "".join(parts)


def _constant(value: object) -> str | None:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if type(value) is int and -(2**63) <= value < 2**63:
        return str(value) if value >= 0 else f"({value})"
    if type(value) is float:
        return f"'{value!r}'::DOUBLE"
    if isinstance(value, list):
        written = [_constant(one) for one in value]
        return None if None in written else f"[{', '.join(one for one in written if one)}]"
    # The text of a query ends at a zero byte.
    if type(value) is str and "\0" not in value:
        return f"{literal(value)}::VARCHAR"
    return None


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def from_parquet(*files: str | Path, more: str = "") -> str:
    """Write the reading of Parquet files.

    A folder on the way that is called ``a=b`` is no column ``a`` of theirs.

    Parameters
    ----------
    *files : str or Path
        Where they are.
    more : str
        Further arguments of ``read_parquet``.

    Examples
    --------
    >>> from_parquet("x/a=1/tasks.parquet")
    "read_parquet(['x/a=1/tasks.parquet'], hive_partitioning=false)"

    Raises
    ------
    UsageError
        If no pattern stands for one of the paths alone, or it is not UTF-8.
    """
    names = ", ".join(map(file_literal, files))
    return f"read_parquet([{names}], {NO_PARTITIONS}{more and f', {more}'})"


def check_utf8(path: str | Path) -> None:
    """Refuse a path that DuckDB cannot be told.

    Raises
    ------
    UsageError
        If it is not UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{path}: a path that is not UTF-8 cannot be read", "rename the folder"
        ) from error


def file_literal(path: str | Path) -> str:
    """Quote the path of one file for ``read_parquet`` and the like, which take it for a pattern.

    Examples
    --------
    >>> file_literal("st*r/g[1].parquet")
    "'st[*]r/g[[]1].parquet'"

    Raises
    ------
    UsageError
        If no pattern stands for that path alone, or it is not UTF-8.
    """
    check_utf8(path)
    text = str(path)
    special = set(text) & set("*?[")
    if special and "\\" in text:
        raise UsageError(
            f"{text}: a path with a backslash and {' '.join(sorted(special))} cannot be read",
            "rename the folder",
        )
    return literal("".join(f"[{letter}]" if letter in special else letter for letter in text))
