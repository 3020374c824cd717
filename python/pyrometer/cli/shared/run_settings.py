"""Option ``--set`` of studies: levels of single runs."""

from __future__ import annotations

from pyrometer.core.errors import UsageError


def parse_settings(settings: list[str]) -> dict[str, dict[str, str]]:
    """Read ``RUN.FACTOR=LEVEL``.

    Raises
    ------
    UsageError
        If one is not of this form.
    """
    levels: dict[str, dict[str, str]] = {}
    for setting in settings:
        words, equals, level = setting.partition("=")
        name, dot, factor = words.partition(".")
        if not (equals and dot and name and factor):
            raise UsageError(
                f"--set {setting!r} is not of the form RUN.FACTOR=LEVEL",
                "for example --set warm.jvm.heap=2g",
            )
        levels.setdefault(name, {})[factor] = level
    return levels
