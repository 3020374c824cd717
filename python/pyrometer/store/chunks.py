"""Raw files of the chunks that agents shipped from the hosts of a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.native import native


class Stream(BaseModel):
    """A stream of which anything arrived, and the file that was made of it.

    Attributes
    ----------
    path : str
        The file, relative to the output folder.
    app, executor, attempt, host, file : str or None
        Whose stream it is, and its name on the host; None if no chunk of it is sound.
    kind : str or None
        How it was cut.
    problem : str or None
        Why no file could be made.
    bytes_count, chunks_count : int
        What the file has.
    damaged_count, missing_count, missing_bytes : int
        Chunks that are not sound or never arrived, and what they had as far as that is known.
    dropped_bytes : int
        What the host dropped, because too much was waiting for the store.
    repeated_bytes, left_out_bytes : int
        What arrived twice, and what cannot be used without what is missing.
    gap_at_byte : int or None
        Where in the file the first gap is.
    ended : bool
        Whether the end of the stream has arrived.
    last_wall_ns : int or None
        When the last chunk was cut.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    app: str | None = None
    executor: str | None = None
    attempt: str | None = None
    host: str | None = None
    file: str | None
    kind: Literal["lines", "messages", "recording", "bytes", "whole"] | None
    problem: str | None
    bytes_count: int
    chunks_count: int
    damaged_count: int
    damage: str | None
    missing_count: int
    missing_bytes: int
    dropped_bytes: int
    repeated_bytes: int
    left_out_bytes: int
    gap_at_byte: int | None
    ended: bool
    last_wall_ns: int | None


class Joined(BaseModel):
    """What was made of a store.

    Attributes
    ----------
    streams : list of Stream
        Every stream of which anything arrived.
    doubts : list of Doubt
        What is missing, and how much.
    others_count : int
        Files in the store that are no chunks.
    """

    model_config = ConfigDict(frozen=True)

    streams: list[Stream]
    doubts: list[Doubt]
    others_count: int


def join_chunks(store: str | Path, out: str | Path) -> Joined:
    """Make the raw files again of all chunks that have arrived in a folder.

    It may be done again and again while more arrive: files are replaced whole.

    Parameters
    ----------
    store : path
        The folder that agents ship to.
    out : path
        Where the files go: ``<application>/<executor>/<attempt>/<host>/<file>``.

    Returns
    -------
    Joined
        The streams, and what is missing of them.

    Raises
    ------
    UsageError
        If the store cannot be listed.
    """
    try:
        report = json.loads(native().join_chunks(str(store), str(out)))
    except OSError as error:
        raise UsageError(
            f"{store}: {error.strerror or error}", "give the folder that agents ship to (--to)"
        ) from error
    doubts = [
        schema.known_doubt(raised["code"], raised["severity"], _placed(raised))
        for raised in report["doubts"]
    ]
    return Joined(
        streams=report["stats"]["streams"],
        doubts=doubts,
        others_count=report["stats"]["others_count"],
    )


def _placed(raised: dict[str, str | None]) -> str:
    """Put the stream before the message of a doubt."""
    path, message = raised.get("file"), str(raised["message"])
    return f"{path}: {message}" if path else message
