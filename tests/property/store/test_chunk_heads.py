"""Whatever bytes stand where a chunk should be: no error, and never taken for an end."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.services.chunk_files import is_last, part

HEAD = b"PYROCHNK\x01\0\0\0"


def taken_for_an_end(content: bytes) -> bool:
    with TemporaryDirectory() as folder:
        chunk = Path(folder, "000000000000.chunk")
        chunk.write_bytes(content)
        return is_last(chunk)


@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_chunk_end_no_stream(rest: bytes, begun: bool) -> None:
    assert not taken_for_an_end(HEAD + rest if begun else rest)


@given(st.booleans(), st.binary(max_size=50))
def test_a_header_says_whether_it_is_the_end(last: bool, payload: bytes) -> None:
    header = json.dumps({"app": "a", "last": last}).encode()
    content = HEAD + len(header).to_bytes(4, "little") + header + payload
    assert taken_for_an_end(content) == last
    assert not taken_for_an_end(content[: 16 + len(header) - 1])


@given(st.text(min_size=1, max_size=40))
def test_names_lead_nowhere(name: str) -> None:
    written = part(name)
    assert "/" not in written
    assert written not in (".", "..")
    assert written.isascii()
