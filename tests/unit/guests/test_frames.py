"""Frames between machine and host: whole in any portions, and refused where they are damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.guests.frames import MOST_BYTES, DamagedError, Decoder, Piece, piece, say

MESSAGES = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=4)
PIECES = st.builds(
    Piece, st.text(max_size=20).filter(lambda name: name.isprintable()),
    st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.binary(max_size=40),
)  # fmt: skip


@given(st.lists(MESSAGES | PIECES, max_size=8), st.integers(1, 30))
def test_what_was_written_is_read_in_whatever_portions_it_comes(
    sent: list[dict[str, object] | Piece], portion: int
) -> None:
    data = b"".join(piece(one) if isinstance(one, Piece) else say(one) for one in sent)
    decoder = Decoder()
    found = [
        one for at in range(0, len(data), portion) for one in decoder.feed(data[at : at + portion])
    ]
    assert found == sent
    assert decoder.rest_bytes == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_damaged(data: bytes) -> None:
    try:
        for one in Decoder().feed(data):
            assert isinstance(one, dict | Piece)
    except DamagedError:
        pass


@given(st.binary(min_size=1, max_size=60), st.data())
def test_one_changed_byte_is_never_another_frame(content: bytes, data: st.DataObject) -> None:
    sent = bytearray(piece(Piece("raw/a", 0, 0, content)))
    at = data.draw(st.integers(0, len(sent) - 1))
    sent[at] ^= data.draw(st.integers(1, 255))
    try:
        found = [*Decoder().feed(bytes(sent))]
    except DamagedError:
        return
    assert found == []


def test_a_frame_that_says_it_is_too_long_is_refused_at_its_head() -> None:
    head = b"PyG1\x01" + (MOST_BYTES + 1).to_bytes(4, "little") + bytes(4)
    with pytest.raises(DamagedError, match="not begin a frame"):
        list(Decoder().feed(head))


@pytest.mark.parametrize("text", [b"[]", b"7", b"{", b"\xff", b'{"a":' * 3000])
def test_a_message_is_a_json_object(text: bytes) -> None:
    sent = say({"x": 1})
    import struct
    import zlib

    frame = sent[:4] + struct.pack("<BII", 1, len(text), zlib.crc32(text)) + text
    with pytest.raises(DamagedError, match="message"):
        list(Decoder().feed(frame))
