"""What the models of files that users write in YAML have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import WithJsonSchema

Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Read as the text that stands there; editors that know YAML's own rules may see something else."""


def empty_is_default(cls: type, value: Any) -> Any:
    """Take a key with nothing after it, a null in YAML, as if it were not there."""
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if one is not None}
    return {} if value is None else value
