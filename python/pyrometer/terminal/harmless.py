"""Keeps what logs, paths and other programs say from steering the terminal.

What the encoding of a terminal lacks is written in other signs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

REPLACEMENT = "\ufffd"
# For terminals that do not know Unicode.
PLAIN = str.maketrans(
    {"–": "-", "−": "-", "±": "~", "·": "|", "×": "x", "∩": "&", "Σ": "S", "→": ">", "›": ">",
     "…": ".", "µ": "u", "✗": "!", "✓": "+", "\ufffd": "?"}
)  # fmt: skip


def harmless(text: str) -> str:
    r"""Replace what a terminal takes for orders: control characters, and those that turn the text.

    Line feeds and tabs stay. Controls are Unicode's category Cc (ESC, and C1's one-byte CSI, among
    them); those of direction are bidirectional embeddings, overrides and isolates, which let a text
    read other than it is (CVE-2021-42574). Bytes of names and arguments that are not UTF-8 (Cs)
    are replaced too: they cannot be printed.

    Examples
    --------
    >>> harmless("a\x1b[2J\u202eb\n")
    'a\ufffd[2J\ufffdb\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(REPLACEMENT if _orders(one) else one for one in text)


def _orders(one: str) -> bool:
    if one in "\n\t":
        return False
    return (
        unicodedata.category(one) in ("Cc", "Cs")
        or "\u202a" <= one <= "\u202e"
        or ("\u2066" <= one <= "\u2069")
    )


def encodable(text: str, encoding: str) -> str:
    """Replace what an encoding lacks: by signs that look alike, or by question marks.

    Examples
    --------
    >>> encodable("3 → 4 … ☃", "ascii"), encodable("3 → 4", "utf-8")
    ('3 > 4 . ?', '3 → 4')
    """
    if encoding.startswith("utf"):
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_in(encoding, sign) for sign in text)
    return text


def _in(encoding: str, sign: str) -> str:
    try:
        sign.encode(encoding)
    except UnicodeEncodeError:
        return sign.translate(PLAIN).encode(encoding, "replace").decode(encoding)
    return sign


class Harmless(RenderHook):
    """Makes all text of a console harmless; the console's colours and cursor moves stay."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap what is to be printed."""
        return [_Harmless(one) for one in renderables]


class _Harmless:
    def __init__(self, what: ConsoleRenderable) -> None:
        self._what = what

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._what, options):
            if segment.control:
                yield segment
            else:
                text = encodable(harmless(segment.text), options.encoding)
                yield Segment(text, segment.style)
