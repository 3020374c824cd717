"""Columns of a query (numpy arrays, masked where null) as the types that the report works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
