"""A file of SQL statements as a workload: ``pyrometer run query.sql --set sql.day=2024-01-01``.

Split the text of a SQL file into statements, and find their parameters.

Only what can hide a semicolon or a colon is parsed: strings, quoted names and comments, as
Spark's lexer has them (``SqlBaseLexer.g4``). Scripts (``BEGIN … END``) are not: a semicolon in
one would end the statement.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import UsageError
from pyrometer.core.user_files import MOST_BYTES, user_text
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.results import checksum, holds_floats
from pyrometer.workloads.rounding import rounded_checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    PartResult,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


_TOKEN = re.compile(
    r"""
      (?P<string> (?<![\w])[rR] (?: '[^']*' | "[^"]*" )
                | ' (?: [^'\\] | \\. | '' )* ' | " (?: [^"\\] | \\. | "" )* "
                | ` (?: [^`] | `` )* ` )
    | (?P<open> ['"`] )
    | (?P<line> --[^\n]* )
    | (?P<block> /\* )
    | (?P<parameter> (?<![\w:\])]) : (?P<name> [A-Za-z_]\w* ) )
    | (?P<end> ; )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Statement:
    """One statement: its text, the line it starts in (from 1), the names of its parameters."""

    text: str
    line: int
    parameters: tuple[str, ...]


def statements(text: str, source: str) -> list[Statement]:
    r"""Split `text` at semicolons; parts with only comments are omitted.

    Parameters
    ----------
    text : str
        Contents of the file.
    source : str
        Its name, for messages.

    Raises
    ------
    UsageError
        If a string, a quoted name or a comment does not end, or there is no statement.

    Examples
    --------
    >>> [s.text for s in statements("select ';' ; -- two; \n select :day", "q.sql")]
    ["select ';'", '-- two; \n select :day']
    """
    found = list(_split(text, source))
    if not found:
        raise UsageError(f"{source} holds no SQL statement", "write statements, separated by ;")
    return found


def _split(text: str, source: str) -> Iterator[Statement]:
    start, at, code, names = 0, 0, False, dict[str, None]()
    for position, end, kind, name in _tokens(text, source):
        code = code or bool(text[at:position].strip()) or kind in ("string", "parameter")
        at = end
        if name:
            names[name] = None
        if kind == "end":
            if code:
                yield _statement(text, start, position, tuple(names))
            start, code, names = end, False, {}
    if code or text[at:].strip():
        yield _statement(text, start, len(text), tuple(names))


def _statement(text: str, start: int, end: int, parameters: tuple[str, ...]) -> Statement:
    first = start + len(text[start:end]) - len(text[start:end].lstrip())
    return Statement(text[start:end].strip(), text.count("\n", 0, first) + 1, parameters)


def _tokens(text: str, source: str) -> Iterator[tuple[int, int, str, str | None]]:
    at = 0
    while match := _TOKEN.search(text, at):
        kind, at = match.lastgroup or "", match.end()
        if kind == "name":
            kind = "parameter"
        if kind == "open":
            raise _unended(text, match.start(), source, f"the quote {match[0]}")
        if kind == "block":
            at = _block_end(text, match.start(), source)
        yield match.start(), at, kind, match["name"]


def _block_end(text: str, start: int, source: str) -> int:
    # Spark nests bracketed comments.
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise _unended(text, start, source, "the comment /*")


def _unended(text: str, at: int, source: str, what: str) -> UsageError:
    line = text.count("\n", 0, at) + 1
    return UsageError(f"{source}, line {line}: {what} does not end", "close it")


SUFFIX = ".sql"

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
MOST_HELD_ROWS = 1_000_000
"""With more rows held, checksums come before the next statement: it frees those without floats."""


class SqlFile(Workload):
    """The statements of one file, each a part of every iteration.

    Parameters
    ----------
    path : str
        The file; not needed in the runner process, which gets the statements.

    Raises
    ------
    UsageError
        If the file cannot be read or split into statements.
    """

    name = "sql"
    summary = "The statements of a SQL file, one after the other"
    description = (
        "Each statement runs by spark.sql and its result is collected: rows and checksum are kept "
        "by statement. Nothing is known about the right result, so every iteration must give "
        "what the first one gave; numbers of floating point may differ by a relative 1e-9. The "
        "checksum of an iteration has six significant digits of them."
    )
    source = "Your own file."
    expectation = "The same rows in every iteration."
    scales: ClassVar = {"test": 1, "default": 1, "seed": 1}
    scale_unit = "runs of the file (the tables it reads are yours)"
    repeats = True

    def __init__(self, path: str = "") -> None:
        if path:
            self.name = path  # type: ignore[misc]
            self.variants = {  # type: ignore[misc]
                f"sql.{name}": Variant({}, "", f"Parameter :{name} of {path}.", text=True)
                for name in parameters(path)
            }

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Read the file: statements and values of parameters are passed on as facts."""
        return Prepared(facts={"statements": with_values(spec.name, spec.levels)})

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Run every statement; its number is the description of its jobs.

        Checksums are computed when all have ended, outside of the iteration's time; with more than
        `MOST_HELD_ROWS`, those of statements that have ended, before the next one.
        """
        parts: list[PartResult] = []
        held: list[tuple[str, list[Any], int, int]] = []
        context = spark.sparkContext
        for number, statement in enumerate(prepared.facts["statements"], 1):
            if sum(len(rows) for _, rows, *_ in held) > MOST_HELD_ROWS:
                parts += [_part(*one) for one in held]
                held.clear()
            name = f"statement-{number}"
            context.setJobDescription(name)
            started = time.monotonic_ns()
            try:
                rows = spark.sql(statement["text"], statement["arguments"] or None).collect()
            finally:
                context.setJobDescription(None)
            held.append((name, rows, started, time.monotonic_ns()))
        ended = time.monotonic_ns()
        parts += [_part(*one) for one in held]
        return IterationResult(
            rows=sum(part.rows for part in parts),
            checksum=checksum((part.name, part.rows, _compared(part)) for part in parts),
            parts=parts,
            ended_mono_ns=ended,
        )

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Accept: the runner checks that results repeat (`repeats`)."""
        expected = len(prepared.facts["statements"])
        if len(result.parts) != expected:
            return Mismatch("statements", str(expected), str(len(result.parts)))
        return None


def _part(name: str, rows: list[Any], started: int, ended: int) -> PartResult:
    """Give a statement's result, with its rows where only they say whether another is the same."""
    answer = rows if holds_floats(rows) else ()
    return PartResult(name, len(rows), checksum(rows), started, ended, answer)


def _compared(part: PartResult) -> str:
    """Give the checksum that trials are compared by: other partitions add floats in another order.

    Iterations of a trial are compared by the rows themselves.
    """
    return rounded_checksum(part.answer) if part.answer else part.checksum


def parameters(path: str) -> list[str]:
    """Names of the parameters of a SQL file, each once."""
    return list(dict.fromkeys(name for found in read(path) for name in found.parameters))


def with_values(path: str, levels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Read a SQL file: each statement's text, line and values of its parameters, as JSON values.

    Raises
    ------
    UsageError
        If the file cannot be read, or a parameter has no value.
    """
    for name in parameters(path):
        if not levels.get(f"sql.{name}"):
            raise UsageError(f"{path}: parameter :{name} has no value", f"--set sql.{name}=VALUE")
    return [
        {
            "text": statement.text,
            "line": statement.line,
            "arguments": {name: argument(levels[f"sql.{name}"]) for name in statement.parameters},
        }
        for statement in read(path)
    ]


def read(path: str) -> list[Statement]:
    """Read and split a SQL file.

    Raises
    ------
    UsageError
        If it cannot be read, or a quote or comment does not end.
    """
    text = user_text(Path(path), "give the path of a SQL file in UTF-8", MOST_BYTES)
    return statements(text, path)


def argument(text: str) -> int | str:
    """Value of a parameter: an integer where the text is one, else the text itself."""
    return int(text) if _INTEGER.fullmatch(text) else text
