"""Models of what is read, kept and told."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A model that is made ready when it is first used, and not when its module is imported.

    A verb imports some two hundred models and uses few of them; of those that are parts of others
    most are never made ready for themselves. It is a tenth of a second of each verb.
    """

    model_config = ConfigDict(defer_build=True)
