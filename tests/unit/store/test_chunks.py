"""Chunks of a store to raw files: what the agent wrote is what a reader has."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.store.chunks import Stream, join_chunks

FIXTURE = Path(__file__).parents[2] / "fixtures" / "chunks"
FOLDER = "app-1/1/18f0/h"


def by_file(store: Path, out: Path) -> dict[str | None, Stream]:
    return {stream.file: stream for stream in join_chunks(store, out).streams}


def test_files_and_doubts_of_a_store(tmp_path: Path) -> None:
    joined = join_chunks(FIXTURE, tmp_path)
    streams = {stream.file: stream for stream in joined.streams}
    text = (tmp_path / FOLDER / "gc-7.log").read_text()
    assert text == "".join(f"line {number}\n" for number in [*range(20), *range(40, 60)])
    assert streams["gc-7.log"].missing_count == 1
    assert streams["gc-7.log"].missing_bytes == 160
    assert streams["gc-7.log"].ended
    assert (tmp_path / FOLDER / "probe-h.report.json").read_text() == '{"version": 2}'
    assert {doubt.code for doubt in joined.doubts} == {"chunks_missing"}
    (doubt,) = joined.doubts
    assert doubt.message.startswith(f"{FOLDER}/gc-7.log: 1 chunks never arrived; 160 bytes")
    assert "pyrometer ingest RUN" in doubt.remedy


def test_a_file_grows_as_chunks_arrive(tmp_path: Path) -> None:
    store = tmp_path / "store"
    chunks = sorted((FIXTURE / FOLDER / "gc-7.log").iterdir())
    (store / FOLDER / "gc-7.log").mkdir(parents=True)
    lengths = []
    for chunk in chunks:
        (store / FOLDER / "gc-7.log" / chunk.name).write_bytes(chunk.read_bytes())
        lengths.append(by_file(store, tmp_path / "out")["gc-7.log"].bytes_count)
    assert lengths == sorted(set(lengths))
    assert not by_file(store, tmp_path / "out")["gc-7.log"].problem


def test_no_store_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        join_chunks(tmp_path / "none", tmp_path / "out")
