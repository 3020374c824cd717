"""Options of a JVM in one text, as Spark reads them.

Spark has two readers, which part over a backslash: that of its launcher, which starts drivers of
client mode and in pods, and that of whatever else starts a JVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pyrometer.core.errors import UsageError

Reader = Literal["launcher", "managers"]
"""``CommandBuilderUtils.parseOptionString``, or ``Utils.splitCommandString``."""

_SPACES: dict[Reader, str] = {
    # Character.isWhitespace
    "launcher": "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000",
    "managers": " \t\r\n",
}


@dataclass(frozen=True)
class Option:
    """A word of a text of options.

    Attributes
    ----------
    word : str
        As a JVM is given it.
    start, end : int
        Where it stands in the text, quotes included.
    """

    word: str
    start: int
    end: int


def reader_of(setting: str, master: str | None = None) -> Reader:
    """Say who reads the options of a setting.

    Parameters
    ----------
    master : str or None
        That a driver in cluster mode is started by; ``None``: in client mode.

    Examples
    --------
    >>> reader_of("spark.executor.extraJavaOptions"), reader_of("spark.driver.extraJavaOptions")
    ('managers', 'launcher')
    """
    by_launcher = master is None or master.startswith("k8s://")
    return "launcher" if setting.startswith("spark.driver.") and by_launcher else "managers"


def join_options(options: Iterable[str]) -> str:
    r"""Write JVM options so that both readers give them back.

    Examples
    --------
    >>> print(join_options(["-Da=b", '-Xlog:gc:file="/a b/c"']))
    -Da=b "-Xlog:gc:file=\"/a b/c\""
    """
    return " ".join(_quoted(option) for option in options)


def split_options(text: str, reader: Reader = "launcher") -> list[str]:
    r"""Split a text of JVM options into words.

    Raises
    ------
    UsageError
        If a quote is not closed, or a backslash protects nothing.

    Examples
    --------
    >>> split_options("-Da='b c'  --add-opens x --add-opens y")
    ['-Da=b c', '--add-opens', 'x', '--add-opens', 'y']
    >>> split_options(r"-Da=b\.c"), split_options(r"-Da=b\.c", "managers")
    (['-Da=b.c'], ['-Da=b\\.c'])
    """
    return [one.word for one in options_in(text, reader)]


def options_in(text: str, reader: Reader) -> list[Option]:
    """Find the words of a text of JVM options; errors as of :func:`split_options`."""
    found: list[Option] = []
    word: list[str] | None = None
    start, quote = 0, ""
    places = iter(range(len(text)))
    for at in places:
        char = text[at]
        if not quote and char in _SPACES[reader]:
            found += [] if word is None else [Option("".join(word), start, at)]
            word = None
            continue
        if word is None:
            word, start = [], at
        if char == "\\" and (quote == '"' or (not quote and reader == "launcher")):
            protected = next(places, None)
            if protected is None:
                raise UsageError(f"nothing follows the last backslash: {text}", "leave it out")
            word.append(text[protected])
        elif char == quote:
            quote = ""
        elif not quote and char in ("'", '"'):
            quote = char
        else:
            word.append(char)
    if quote:
        raise UsageError(f"a quote is not closed: {text}", f"end it with {quote}")
    return found if word is None else [*found, Option("".join(word), start, len(text))]


def _quoted(option: str) -> str:
    # Of the launcher's spaces some are none to Python.
    if option and not re.search(rf"""[\s{_SPACES["launcher"]}"'\\]""", option):
        return option
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
