"""Columns of numbers for the page: typed arrays, compressed, in base64.

A pack is a list of named columns laid one after the other, zlib-compressed and base64-encoded; its
directory (name, type, offset, length; of a column of one value the value) is stored with it in the
page's JSON. The page inflates it
with ``DecompressionStream`` and lays typed arrays over the bytes without a copy or a parse, so the
cost in the browser does not depend on how many numbers there are in any way but their bytes.

Columns of a query (numpy arrays, masked where null) as the types that the report works with.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# numpy type -> JavaScript typed array of the same layout (little endian).
_TYPES = {
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "int32": "i32",
    "float32": "f32",
    "float64": "f64",
}


# A longer column of one value is stored as that value.
_FEW = 64


@dataclass
class Pack:
    """Collects columns; ``directory`` and ``encoded`` are what the page needs."""

    _parts: list[bytes] = field(default_factory=list)
    _directory: dict[str, dict[str, Any]] = field(default_factory=dict)
    _offset: int = 0

    def add(self, name: str, values: npt.NDArray[Any]) -> str:
        """Append a column and return its name.

        Parameters
        ----------
        name : str
            Unique within the pack.
        values : numpy.ndarray
            One-dimensional; unsigned 8/16/32 bit, int32, float32 or float64.
        """
        if name in self._directory:
            raise ValueError(f"column {name!r} is there already")
        data = np.ascontiguousarray(values)
        kind = _TYPES[data.dtype.name]
        if data.size > _FEW and (data == data[0]).all():
            self._directory[name] = {"type": kind, "length": int(data.size), "fill": data[0].item()}
            return name
        raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
        self._directory[name] = {"type": kind, "offset": self._offset, "length": int(data.size)}
        # Typed arrays must start at a multiple of their item size.
        raw += b"\0" * (-len(raw) % 8)
        self._parts.append(raw)
        self._offset += len(raw)
        return name

    def add_text(self, name: str, strings: list[str]) -> str:
        """Append a table of strings: UTF-8 bytes and the offset of each string's end."""
        encoded = [text.encode("utf-8", "replace") for text in strings]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.uint32)
        self.add(f"{name}.ends", ends.astype(np.uint32))
        self.add(f"{name}.bytes", np.frombuffer(b"".join(encoded), dtype=np.uint8))
        return name

    @property
    def directory(self) -> dict[str, dict[str, Any]]:
        """Name to type, number of items, and byte offset or the value of all of them."""
        return self._directory

    def encoded(self) -> str:
        """Give the columns, zlib-compressed, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 6)).decode("ascii")


def smallest_uint(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give the same non-negative integers in the narrowest unsigned type that holds them."""
    top = int(values.max()) if values.size else 0
    for kind in (np.uint8, np.uint16, np.uint32):
        if top <= int(np.iinfo(kind).max):
            return values.astype(kind)
    raise ValueError(f"{top} does not fit into 32 bits")


Column = npt.NDArray[Any]


def floats(values: Column) -> npt.NDArray[np.float64]:
    """Numbers as float64, null as NaN."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, values.data.astype(np.float64))
    if values.dtype == object:
        return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    return values.astype(np.float64)


def integers(values: Column, missing: int = -1) -> npt.NDArray[np.int64]:
    """Numbers as int64, null as ``missing``."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), missing, values.data.astype(np.int64))
    if values.dtype == object:
        return np.array([missing if v is None else int(v) for v in values], dtype=np.int64)
    return values.astype(np.int64)


def texts(values: Column, missing: str = "") -> list[str]:
    """Strings, null as ``missing``."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return [
            missing if gone or v is None else str(v)
            for v, gone in zip(values.data, mask, strict=True)
        ]
    return [missing if v is None else str(v) for v in values]
