"""Files read in parts: every read gives the bytes there, and nothing is fetched twice or torn."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.remote.blocks import BLOCK_BYTES, Blocks
from pyrometer.store.remote.objects import inert

SIZE = 3 * BLOCK_BYTES + 1234
CONTENT = bytes(at * 7 % 251 for at in range(SIZE))
READS = st.lists(st.tuples(st.integers(0, SIZE + 10), st.integers(0, SIZE)), max_size=8)


@given(READS, st.sets(st.integers(0, 3)))
def test_every_read_gives_the_bytes_there(reads: list[tuple[int, int]], torn: set[int]) -> None:
    fetched: list[tuple[int, int]] = []

    def fetch(start: int, end: int) -> bytes:
        fetched.append((start, end))
        return CONTENT[start:end]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tasks.parquet")
        blocks = Blocks(path, SIZE, fetch)
        for start, count in reads:
            assert blocks.read(start, count) == CONTENT[start : start + count]
        places = [at for start, end in fetched for at in range(start, end, BLOCK_BYTES)]
        assert len(places) == len(set(places))
        blocks.close()
        for at in torn:
            with path.open("r+b") as file:
                file.seek(at * BLOCK_BYTES + 5)
                file.write(b"\xff")
        fetched.clear()
        again = Blocks(path, SIZE, fetch)
        assert again.read(0, SIZE) == CONTENT
        missing = torn | {at for at in range(4) if at * BLOCK_BYTES not in places}
        assert {
            at // BLOCK_BYTES for start, end in fetched for at in range(start, end, BLOCK_BYTES)
        } == missing
        again.close()
    assert max(CONTENT) < 255


@given(
    st.lists(st.sampled_from(["..", ".", "", "a", "b c", "\0", "\n", "x" * 300, "é"])).map("/".join)
)
def test_names_that_are_let_in_stay_below_their_folder(name: str) -> None:
    if inert(name):
        path = os.path.normpath(os.path.join("/cache/run", name))
        assert path == f"/cache/run/{name}"
        assert name.isprintable()
