"""A longer way keeps all bytes in their order, and is as long as was asked."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.proxy import WINDOW_BYTES, Way, serve

CHUNKS = st.lists(st.tuples(st.floats(0, 10), st.integers(1, 1 << 16)), min_size=1)


@given(CHUNKS, st.floats(0, 5), st.none() | st.floats(1e3, 1e9), st.floats(0, 1))
def test_nothing_arrives_early_or_overtakes(
    chunks: list[tuple[float, int]], latency: float, rate: float | None, stalls: float
) -> None:
    way = Way(latency, rate, stalls, 0.2)
    now, arrivals = 0.0, []
    for gap, size in chunks:
        now += gap
        arrivals.append(way.arrival_s(now, size))
        assert arrivals[-1] >= now + latency
    assert arrivals == sorted(arrivals)
    if rate is not None:
        carried = sum(size for _, size in chunks)
        assert arrivals[-1] >= (carried / rate + latency) * (1 - 1e-9)


def test_as_many_chunks_stall_as_was_asked() -> None:
    way = Way(stall_ratio=0.25, stall_s=1.0, draw=random.Random(7))
    late = way.arrival_s(0.0, 1)
    for _ in range(3999):
        late = way.arrival_s(0.0, 1)
    assert late == pytest.approx(1000, rel=0.1)


async def _connected(listen: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(1000):
        with contextlib.suppress(ConnectionRefusedError):
            return await asyncio.open_connection(*listen)
        await asyncio.sleep(0.01)
    raise AssertionError("the proxy does not listen")


async def _free() -> tuple[str, int]:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    probe = await asyncio.start_server(nothing, "127.0.0.1", 0)
    host, port = probe.sockets[0].getsockname()[:2]
    probe.close()
    await probe.wait_closed()
    return host, port


async def _reset() -> bytes:
    """Give what a server reads of a client that was killed behind the proxy, until its end."""
    read: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    began = asyncio.Event()

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(2)
        began.set()
        read.set_result(first + await reader.read())
        writer.close()

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    listen = await _free()
    to = server.sockets[0].getsockname()[:2]
    serving = asyncio.create_task(serve(listen, to, Way(0.001), Way(0.001)))
    _, writer = await _connected(listen)
    writer.write(b"hi")
    await began.wait()
    # Closed like this, it is reset.
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()
    try:
        return await asyncio.wait_for(read, 10)
    finally:
        serving.cancel()
        server.close()


def test_a_connection_that_is_reset_ends_on_the_far_side_too() -> None:
    assert asyncio.run(_reset()) == b"hi"


async def _echoed(payload: bytes) -> bytes:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    target = server.sockets[0].getsockname()[:2]
    listen = await _free()
    serving = asyncio.create_task(serve(listen, target, Way(0.001), Way(0.001, None, 0.1, 0.001)))
    reader, writer = await _connected(listen)
    writer.write(payload)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    serving.cancel()
    server.close()
    return answer


def test_all_bytes_come_back_through_both_ways_and_ends_are_passed_on() -> None:
    payload = random.Random(3).randbytes(2 * WINDOW_BYTES)
    assert asyncio.run(_echoed(payload)) == payload
