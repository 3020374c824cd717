"""Models of what is read, kept and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError

Nanoseconds = Annotated[int, Field(ge=-8_000_000_000_000_000_000, le=8_000_000_000_000_000_000)]
"""A moment that is a date (1716 to 2223), and fits into a column."""


class Model(BaseModel):
    """A model that is made ready when it is first used, and not when its module is imported.

    A verb imports some two hundred models and uses few of them; of those that are parts of others
    most are never made ready for themselves. It is a tenth of a second of each verb.
    """

    model_config = ConfigDict(defer_build=True)


def in_json(
    model: BaseModel,
    *,
    exclude: set[str] | None = None,
    exclude_none: bool = False,
    indent: int | None = None,
) -> str:
    r"""Write a model as JSON that UTF-8 can hold.

    Bytes of an argument or of a file's name that are not UTF-8 are half surrogate pairs in Python:
    where there is one, all letters beyond ASCII are escaped.

    Parameters
    ----------
    exclude, exclude_none, indent
        As of ``model_dump_json``.

    Examples
    --------
    >>> class Named(Model):
    ...     name: str
    >>> in_json(Named(name="caf\udce9"))
    '{"name": "caf\\udce9"}'
    """
    try:
        return model.model_dump_json(
            by_alias=True, exclude=exclude, exclude_none=exclude_none, indent=indent
        )
    except PydanticSerializationError:
        data = model.model_dump(
            mode="json", by_alias=True, exclude=exclude, exclude_none=exclude_none
        )
        return json.dumps(data, indent=indent)


def make_ready(model: type[BaseModel]) -> None:
    """Make a model ready now, and every model that is a part of it."""
    found, new = {model}, [model]
    while new:
        one = new.pop()
        one.model_rebuild()
        for field in one.model_fields.values():
            parts = [part for part in _parts(field.annotation) if part not in found]
            found.update(parts)
            new += parts


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)
