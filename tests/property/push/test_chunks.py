"""However a recording grows, its chunks are given whole, in order, and each once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.support.growing_run import CHUNK, chunk, growing_run

from pyrometer.push.recording import Recording

PID = 7
WHOLE = b"".join(map(chunk, range(3)))


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12), st.integers(1, 8_000_000_000))
def test_chunks_of_a_recording_that_grows(cuts: list[int], length_ns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = growing_run(Path(folder) / "run")
        recording = Recording(run.recording(PID))
        offsets: list[int] = []
        written = 0
        for cut in [*sorted(cuts), len(WHOLE)]:
            run.grow(PID, WHOLE[written:cut])
            written = max(written, cut)
            chunks, whole = recording.ready(length_ns)
            complete = (written - recording.offset) // len(CHUNK)
            assert len(chunks) <= complete
            assert whole or len(chunks) == complete
            if whole:
                offsets += [each.offset for each in chunks]
                recording.offset = chunks[-1].end
            assert recording.reason is None
        offsets += [each.offset for each in recording.upto(len(WHOLE))]
        assert offsets == [0, len(CHUNK), 2 * len(CHUNK)]


@given(st.integers(0, len(CHUNK) - 1), st.binary(max_size=200))
def test_whatever_follows_a_chunk_is_no_error(cut: int, rest: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = growing_run(Path(folder) / "run")
        run.grow(PID, CHUNK + CHUNK[:cut] + rest)
        recording = Recording(run.recording(PID))
        chunks = recording.upto(1 << 40)
        assert [each.offset for each in chunks][:1] == [0]
        complete, left = recording.left_bytes()
        assert complete + left == len(CHUNK) + cut + len(rest)
