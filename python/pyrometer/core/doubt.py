"""Doubt: a reason not to trust a number, stored with it."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from pyrometer.core.model import Model

Severity = Literal["info", "warning", "error"]


class Doubt(Model):
    """One doubt. Codes are declared in ``schema/doubts.toml``.

    Attributes
    ----------
    code : str
        Stable identifier; values stand in the message.
    severity : {"info", "warning", "error"}
        How much it matters.
    message : str
        What was seen and where.
    remedy : str
        What to do about it.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    severity: Severity
    message: str
    remedy: str
