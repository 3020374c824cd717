"""The format of a profile that another tool made, told by its content."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from pyrometer.errors import UsageError

FORMATS = ("folded", "perf-script", "jfr", "pprof", "speedscope")
"""Formats that can be imported."""

_HEAD_BYTES = 64 << 10
# `comm pid/tid [cpu] time: [count] event:`, the line above the frames of a sample.
_PERF_HEAD = re.compile(rb"^\S.*?\s+\d+(/\d+)?\s.*\d+\.\d+:\s", re.MULTILINE)
_PERF_FRAME = re.compile(rb"^\s+[0-9a-f]{4,}\s+\S", re.MULTILINE)
_FOLDED = re.compile(rb"^[^\n]*\S[ \t]+-?\d+(\.\d+)?\r?$", re.MULTILINE)
# Wire type of each field of pprof's message Profile; comments (13) may be packed or not.
_MESSAGE, _TYPE_BYTES = 2, 20
_PROFILE_KINDS = dict.fromkeys((1, 2, 3, 4, 5, 6, 11, 13), _MESSAGE)
_PROFILE_KINDS |= dict.fromkeys((7, 8, 9, 10, 12, 14, 15), 0)
_KNOWN = (
    (b"PERFILE2", "a recording of perf", "perf script -i FILE > FILE.txt, and import that"),
    (b"<?xml", "a drawing or other XML", "import what it was drawn from: folded stacks"),
    (b"<svg", "a drawing", "import what it was drawn from: folded stacks"),
    (b"<!DOCTYPE", "a page", "import what it was made from: a .jfr file or folded stacks"),
)


def detect(path: Path) -> str:
    """Tell the format of a profile by its content.

    Raises
    ------
    UsageError
        If it cannot be read or is of no known format: what it seems to be, and what to do.
    """
    try:
        with path.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "give files of profiles") from error
    for magic, what, remedy in _KNOWN:
        if head.lstrip().startswith(magic):
            raise UsageError(f"{path}: {what}, not a profile that can be imported", remedy)
    packed = head.startswith(b"\x1f\x8b")
    found = _of_content(_unpacked(head) if packed else head)
    if found is None or (packed and found not in ("pprof", "speedscope")):
        what = "gzip of" if packed else "of"
        raise UsageError(
            f"{path}: {what} {'an unknown format' if found is None else found}"
            f" (it begins with {head[:12]!r})",
            f"gunzip {path.name} first" if packed and found else f"--format {'|'.join(FORMATS)}",
        )
    return found


def _of_content(head: bytes) -> str | None:
    if head.startswith(b"FLR\x00"):
        return "jfr"
    if head.lstrip()[:1] == b"{":
        known = b"speedscope" in head or (b'"profiles"' in head or b'"shared"' in head)
        return "speedscope" if known else None
    if _is_pprof(head):
        return "pprof"
    if b"\x00" in head:
        return None
    if _PERF_FRAME.search(head) and _PERF_HEAD.search(head):
        return "perf-script"
    return "folded" if _FOLDED.search(head) else None


def _is_pprof(head: bytes) -> bool:
    """Whether bytes are fields of message Profile: types of values, and then samples or no end.

    Writers differ in the order of fields: Go's begin with the time.
    """
    seen: set[int] = set()
    at = 0
    while at < len(head):
        key, at = _varint(head, at)
        field, kind = key >> 3, key & 7
        if kind != _PROFILE_KINDS.get(field):
            break
        value, at = _varint(head, at)
        if field == 1 and (value > _TYPE_BYTES or head[at : at + 1] not in (b"\x08", b"\x10")):
            break  # no type and unit, which are two small numbers
        at += value if kind == _MESSAGE else 0
        seen.add(field)
    return {1, 2} <= seen or (1 in seen and at >= len(head))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at
    return value, at


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except zlib.error:
        return b""
