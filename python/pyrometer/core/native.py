"""The native module, where it is built."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import reinstall


def native() -> Any:
    """Give the native module.

    Raises
    ------
    CapabilityError
        If it is not built.
    """
    try:
        return import_module("pyrometer._core")
    except ImportError as error:
        raise CapabilityError(
            f"the native part of Pyrometer cannot be loaded: {error}",
            reinstall(),
        ) from error
