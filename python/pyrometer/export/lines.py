"""Folded stacks, one a line, and what is made of them."""

from __future__ import annotations

from typing import BinaryIO

from pyrometer.export.stacks import Stacks, Sum


def write_folded(stacks: Stacks, out: BinaryIO) -> None:
    """Write ``frame;frame;frame weight`` lines, root first (Brendan Gregg's folded format).

    Stacks that differ only in lines or compilation have a line each; readers add them up. A
    semicolon or a line break in a name becomes a comma or a space.
    """
    plain = {number: _plain(frame.name) for number, frame in stacks.frames.items()}
    for row in stacks.sums():
        if row.weight:
            out.write(f"{_path(row, plain)} {row.weight}\n".encode())


def _path(row: Sum, plain: dict[int, str]) -> str:
    parts = [*map(_plain, row.groups), *(plain.get(i, "[frame missing]") for i in row.frames)]
    if row.leaf is not None:
        parts.append(_plain(row.leaf))
    return ";".join(parts)


def _plain(name: str) -> str:
    return " ".join(name.replace(";", ",").split()) or "[no name]"
