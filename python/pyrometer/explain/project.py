"""What a project says of its findings: ``.pyrometer.toml``, looked for upward from a folder.

::

    [explain.mute]
    "gc.heap-too-small" = "the cluster has no more memory; agreed on 3 March"
    "config.*" = "settings are the platform team's"
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.core.toml_text import parse_toml
from pyrometer.core.user_files import user_text

NAME = ".pyrometer.toml"
NOT_NEEDED = "correct it, or go on without it: --no-mute"


def project_file(start: Path) -> Path | None:
    """Find the file of the project: in a folder, or the nearest above it."""
    start = start.absolute()
    return next((at / NAME for at in (start, *start.parents) if (at / NAME).is_file()), None)


def muted_in(start: Path, codes: Collection[str]) -> dict[str, str]:
    """Read what the project mutes: reasons by code.

    Raises
    ------
    UsageError
        If its file cannot be read, or names what there is not.
    """
    path = project_file(start)
    if path is None:
        return {}
    return muted_by(user_text(path, NOT_NEEDED), codes, str(path))


def muted_by(text: str, codes: Collection[str], name: str = NAME) -> dict[str, str]:
    r"""Read the text of such a file.

    Raises
    ------
    UsageError
        If it mutes what there is not, or without a reason.

    Examples
    --------
    >>> muted_by('[explain.mute]\n"gc.*" = "known"', ["gc.young", "gc.full", "skew.bytes"])
    {'gc.young': 'known', 'gc.full': 'known'}
    """
    data = parse_toml(text, name, NOT_NEEDED)
    section = _table(_table(data, "explain", name, ""), "mute", name, "explain.")
    families: dict[str, str] = {}
    single: dict[str, str] = {}
    for key, reason in section.items():
        if isinstance(reason, dict):
            raise UsageError(
                f"{name}: explain.mute: a code has a dot in it: write it in quotes",
                f'"{key}.{next(iter(reason), "")}" = "why"',
            )
        if not isinstance(reason, str) or not reason.strip():
            raise UsageError(
                f"{name}: explain.mute: {key!r} needs a reason, which is shown", f'"{key}" = "why"'
            )
        family = key.removesuffix(".*")
        if key in codes:
            single[key] = reason.strip()
        elif key.endswith(".*") and any(code.startswith(f"{family}.") for code in codes):
            families[family] = reason.strip()
        else:
            known = {*codes, *(f"{code.split('.', 1)[0]}.*" for code in codes)}
            near = get_close_matches(key, known, 1)
            raise UsageError(
                f"{name}: explain.mute: no rule or family {key!r}",
                f"did you mean {near[0]!r}?" if near else "pyrometer rules lists them",
            )
    whole = {
        code: reason
        for family, reason in families.items()
        for code in codes
        if code.startswith(f"{family}.")
    }
    # A code of its own is more exact than its family.
    return {**whole, **single}


def _table(data: Mapping[str, Any], wanted: str, name: str, above: str) -> Mapping[str, Any]:
    for key in data:
        if key != wanted:
            raise UsageError(f"{name}: unknown: {above}{key}", f"write [{above}{wanted}]")
    found = data.get(wanted, {})
    if not isinstance(found, dict):
        raise UsageError(f"{name}: {above}{wanted} is not a table", "write [explain.mute]")
    return found
