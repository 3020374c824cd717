"""Whatever bytes stand where a chunk should be: no error, and never taken for an end."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.services.chunk_files import is_last, part
from pyrometer.store.services.executors import TICK_NS, Found, read_record

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


def record_of(content: bytes) -> Found | None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "executor-1-2.json")
        file.write_bytes(content)
        return read_record(file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)
FIELDS = ("app", "executor", "role", "pid", "pid_inside", "start_ticks", "pod")


@given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_record_of_an_executor_names_none(content: bytes) -> None:
    assert record_of(content) is None


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_any_value_anywhere_in_a_record_of_an_executor(changed: dict[str, object]) -> None:
    sound = {"app": "a", "executor": "1", "role": "executor", "pid": 7, "pid_inside": 8,
             "start_ticks": 9, "pod": None}  # fmt: skip
    found = record_of(json.dumps({"found": {**sound, **changed}}).encode())
    if not changed:
        assert found is not None
        assert (found.pid, found.start_ns, found.is_apart) == (7, 9 * TICK_NS, True)
    if found is not None:
        numbers = [found.pid, found.pid_inside or 1, found.start_ns or 1]
        assert all(0 < number < 1 << 63 for number in numbers)
        assert all(isinstance(one, str) for one in (found.app, found.executor, found.role))
