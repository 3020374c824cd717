"""A TCP proxy with the latency, bandwidth and losses of a longer way, in user space.

    python proxy.py --listen 198.18.7.11:7078 --to 198.18.7.11:7077 --latency-ms 20

What is simulated: bytes arrive later and more slowly, and now and then all that follows waits for a
while, as after a packet that is sent again. Packets are not lost, reordered or marked, and ends of
connections and TCP's own acknowledgements travel at once. Connections to other ports are untouched.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
from dataclasses import dataclass, field

CHUNK_BYTES = 64 << 10
WINDOW_BYTES = 4 << 20
"""Most that is under way in one direction of a connection; beyond it the sender has to wait."""


@dataclass
class Way:
    """One direction of a link, which all its connections share.

    Parameters
    ----------
    latency_s : float
        From one end to the other.
    bytes_per_s : float or None
        What fits through; ``None``: all.
    stall_ratio, stall_s : float
        Share of chunks after which nothing goes on for so long.
    draw : random.Random
        Which chunks these are.
    """

    latency_s: float = 0.0
    bytes_per_s: float | None = None
    stall_ratio: float = 0.0
    stall_s: float = 0.2
    draw: random.Random = field(default_factory=lambda: random.Random(1))
    _free_s: float = 0.0

    def arrival_s(self, now_s: float, size: int) -> float:
        """Say when the last byte of a chunk arrives that is sent now; later chunks never overtake.

        Examples
        --------
        >>> way = Way(latency_s=1.0, bytes_per_s=100.0)
        >>> way.arrival_s(0.0, 200), way.arrival_s(0.5, 100), way.arrival_s(9.0, 100)
        (3.0, 4.0, 11.0)
        """
        self._free_s = max(self._free_s, now_s)
        if self.bytes_per_s is not None:
            self._free_s += size / self.bytes_per_s
        if self.draw.random() < self.stall_ratio:
            self._free_s += self.stall_s
        return self._free_s + self.latency_s


async def carry(way: Way, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Carry bytes one way until the source ends."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(WINDOW_BYTES // CHUNK_BYTES)

    async def send() -> None:
        while True:
            try:
                data = await source.read(CHUNK_BYTES)
            except OSError:
                # Whoever was killed resets its connections: for the far side that is an end.
                data = b""
            await under_way.put((way.arrival_s(loop.time(), len(data)), data))
            if not data:
                return

    sending = asyncio.create_task(send())
    try:
        while True:
            due_s, data = await under_way.get()
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            if not data:
                target.write_eof()
                return
            target.write(data)
            await target.drain()
    finally:
        sending.cancel()


async def serve(listen: tuple[str, int], to: tuple[str, int], there: Way, back: Way) -> None:
    """Serve until cancelled."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*to)
            ways = (carry(there, reader, far_writer), carry(back, far_reader, writer))
            try:
                await asyncio.gather(*ways)
            finally:
                far_writer.close()
        writer.close()

    server = await asyncio.start_server(connected, *listen)
    print(f"listening at {listen[0]}:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=address, required=True)
    parser.add_argument("--to", type=address, required=True)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--bytes-per-s", type=float)
    parser.add_argument("--stall-ratio", type=float, default=0.0)
    parser.add_argument("--stall-ms", type=float, default=200.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    ways = [
        Way(
            asked.latency_ms / 1e3,
            asked.bytes_per_s,
            asked.stall_ratio,
            asked.stall_ms / 1e3,
            random.Random(asked.seed + number),
        )
        for number in range(2)
    ]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(asked.listen, asked.to, *ways))


if __name__ == "__main__":
    main()
