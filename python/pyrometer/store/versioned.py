"""Reading JSON of ours that says its version."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pyrometer.core.errors import UsageError
from pyrometer.core.installation import upgrade
from pyrometer.core.json_text import parse_json

Model = TypeVar("Model", bound=BaseModel)


def parse(text: bytes, path: Path, model: type[Model], version: int, what: str, cut: str) -> Model:
    """Make a model of the JSON of a file.

    Parameters
    ----------
    version : int
        The newest that this Pyrometer reads.
    what : str
        What the file is, for people: ``a manifest of a run``.
    cut : str
        What to do where it is no JSON, or something else.

    Raises
    ------
    UsageError
        If it is no JSON, a newer version wrote it, or it is something else.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise UsageError(f"{path}: not JSON ({error})", cut) from error
    found = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(found, int) and found > version:
        raise UsageError(
            f"{path}: schema version {found}; this Pyrometer reads up to {version}",
            upgrade(),
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "top level"
        raise UsageError(f"{path}: not {what}: {where}: {first['msg']}", cut) from error
