"""Split the text of a SQL file into statements, and find their parameters.

Only what hides a semicolon or a colon is understood: strings, quoted names and comments, as
Spark's lexer has them (``SqlBaseLexer.g4``). Scripts (``BEGIN … END``) are not: a semicolon in
one would end the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyrometer.errors import UsageError

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
    r"""Split `text` at semicolons; what holds nothing but comments is no statement.

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
        raise UsageError(f"{source} holds no SQL statement", "statements are separated by ;")
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
