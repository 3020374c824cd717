"""Keeps what logs, paths and other programs say from steering the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

REPLACEMENT = "\ufffd"


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
                yield Segment(harmless(segment.text), segment.style)
