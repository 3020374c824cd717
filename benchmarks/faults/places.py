"""Where causes are planted, as their authors name it, and codes that several cases share."""

from __future__ import annotations

MAIN_STAGE = {"stage_id": "main"}
DRIVER = ({"layer": "driver"}, {"source": r".*_causes\.py.*"})
PYTHON = ({"layer": "python"}, {"operator": ".*(Python|Pandas|Arrow).*"})
PYTHON_CODES = ("python.instead-of-builtin", "python.function", "python.instead-of-arrow")


def operators(*names: str) -> tuple[dict[str, str], ...]:
    """Give places at operators with some names in theirs.

    Examples
    --------
    >>> operators("Sort")
    ({'operator': '.*Sort.*'},)
    """
    return tuple({"operator": f".*{name}.*"} for name in names)


def expressions(*names: str) -> tuple[dict[str, str], ...]:
    """Give places at expressions with some names in them, in any case."""
    return tuple({"expression": f"(?i).*{name}.*"} for name in names)


def settings(*names: str) -> tuple[dict[str, str], ...]:
    """Give places at settings with some names in theirs."""
    return tuple({"setting": f".*{name}.*"} for name in names)
