"""Files of settings as ``java.util.Properties`` reads them, and so Spark."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

_ESCAPED = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
_IN_VALUES = str.maketrans(_ESCAPED)
_IN_NAMES = str.maketrans({**_ESCAPED, **{sign: f"\\{sign}" for sign in " =:#!"}})
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BLANK = " \t\f"
_LINE = re.compile(
    r"(?P<name>(?:\\.|[^\\=: \t\f])*)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+|$)(?P<value>.*)", re.DOTALL
)


@dataclass(frozen=True)
class Entry:
    """A setting of a file, or what is none.

    Attributes
    ----------
    name : str or None
        ``None``: a comment, or an empty line.
    value : str
        As it is meant, without escapes.
    lines : tuple of str
        As it is written.
    """

    name: str | None
    value: str
    lines: tuple[str, ...]


def written(name: str, value: str, between: str = "  ") -> str:
    r"""Write a setting as a line.

    Examples
    --------
    >>> print(written("spark.a", r'-Da="b c" -De=f\.g'))
    spark.a  -Da="b c" -De=f\\.g
    >>> print(written("a:b", "=c", "="))
    a\:b=\=c
    """
    text = value.translate(_IN_VALUES)
    # What follows the blank that ends a name may still be a sign of equality.
    protected = f"\\{text}" if text.startswith((" ", "=", ":")) else text
    return f"{name.translate(_IN_NAMES)}{between}{protected}"


def entries(text: str) -> list[Entry]:
    r"""Read a file, the lines that go on in others joined.

    Examples
    --------
    >>> [(one.name, one.value) for one in entries("# a\nspark.a 1,\\\n  2\nspark.b=c\\\\d\n")]
    [(None, ''), ('spark.a', '1,2'), ('spark.b', 'c\\d')]
    """
    found: list[Entry] = []
    whole, parts = "", list[str]()
    for line in io.StringIO(text, newline=None):
        part = line.removesuffix("\n")
        whole += part.lstrip(_BLANK)
        parts.append(part)
        # Two backslashes are one that is meant.
        goes_on = (len(part) - len(part.rstrip("\\"))) % 2
        if goes_on and not _is_comment(parts[0]):
            whole = whole[:-1]
            continue
        found.append(_entry(whole, parts))
        whole, parts = "", []
    return [*found, _entry(whole, parts)] if parts else found


def _is_comment(line: str) -> bool:
    return line.lstrip(_BLANK).startswith(("#", "!"))


def _entry(whole: str, parts: list[str]) -> Entry:
    found = None if not whole or _is_comment(parts[0]) else _LINE.fullmatch(whole)
    if found is None:
        return Entry(None, "", tuple(parts))
    return Entry(_meant(found["name"]), _meant(found["value"]), tuple(parts))


def _meant(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _MEANT.get(found[2], found[2])

    # Java writes a character beyond the first 65 536 as two.
    return _ESCAPE.sub(one, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
