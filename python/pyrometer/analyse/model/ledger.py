"""Rows, views and checks of the ledger."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Method = Literal["exact", "sampled", "apportioned", "by_complement", "unavailable"]


class Row(BaseModel):
    """One row of a ledger.

    Attributes
    ----------
    path : str
        Names from the top, separated by ``/``.
    parent : str or None
        Path of the row that this one is a part of.
    value_ns, low_ns, high_ns : int or None
        Time and its interval; an exact counter has no interval.
    n : int or None
        Readings, samples or attempts behind it.
    method : str
        ``exact``, ``sampled``, ``apportioned``, ``by_complement`` or ``unavailable``.
    source : str
        Where it comes from, or why it is missing.
    share : float or None
        Of the view's total.
    """

    path: str
    parent: str | None = None
    value_ns: int | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    n: int | None = None
    method: Method = "exact"
    source: str = ""
    share: float | None = None


class View(BaseModel):
    """One view of the ledger: every slot- or core-second of a window once.

    ``ended_by`` is a second breakdown of time asleep, by who ended it: beside the rows, never added
    to them.
    """

    window: str
    total_ns: int | None = None
    rows: list[Row] = Field(default_factory=list)
    memos: list[Row] = Field(default_factory=list)
    ended_by: list[Row] = Field(default_factory=list)
    closure_ratio: float | None = None
    unclassified_ratio: float | None = None
    sampling_error_ratio: float | None = None
    resolution_ns: int | None = None
    reason: str | None = None


class Check(BaseModel):
    """Two sources for the same quantity, side by side."""

    name: str
    left_ns: int | None
    right_ns: int | None
    difference_ratio: float | None
    ok: bool | None
    explanation: str


class Ledger(BaseModel):
    """Both views and the cross-checks."""

    slot_view: View
    core_view: View
    checks: list[Check] = Field(default_factory=list)
