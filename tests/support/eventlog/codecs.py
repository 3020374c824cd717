"""Frames of Spark's event-log codecs, written by hand from their formats.

Each function compresses in small blocks, so that a short log has many of them.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import pyarrow as pa

BLOCK = 700


def _blocks(data: bytes) -> list[bytes]:
    return [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]


def _raw(codec: str, data: bytes) -> bytes:
    return bytes(pa.Codec(codec).compress(data, asbytes=True))


def xxhash32(data: bytes, seed: int) -> int:
    """Compute xxHash32."""
    primes = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
    mask = 0xFFFFFFFF

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    at = 0
    if len(data) >= 16:
        lanes = [(seed + primes[0] + primes[1]) & mask, (seed + primes[1]) & mask]
        lanes += [seed, (seed - primes[0]) & mask]
        while at <= len(data) - 16:
            for i, word in enumerate(struct.unpack_from("<4I", data, at)):
                lane = (lanes[i] + word * primes[1]) & mask
                lanes[i] = rotate(lane, 13) * primes[0] & mask
            at += 16
        total = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        total = seed + primes[4]
    total = (total + len(data)) & mask
    while at <= len(data) - 4:
        (word,) = struct.unpack_from("<I", data, at)
        total = rotate((total + word * primes[2]) & mask, 17) * primes[3] & mask
        at += 4
    for byte in data[at:]:
        total = rotate((total + byte * primes[4]) & mask, 11) * primes[0] & mask
    total = (total ^ total >> 15) * primes[1] & mask
    total = (total ^ total >> 13) * primes[2] & mask
    return total ^ total >> 16


def lz4(data: bytes) -> bytes:
    """Frame as lz4-java's ``LZ4BlockOutputStream``: two streams one after the other."""
    out = b""
    blocks = _blocks(data)
    for part in (blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]):
        for i, block in enumerate(part):
            packed = block if i % 5 == 4 else _raw("lz4_raw", block)
            token = (0x10 if i % 5 == 4 else 0x20) | 5
            check = xxhash32(block, 0x9747B28C) & 0x0FFFFFFF
            out += b"LZ4Block" + struct.pack("<BIII", token, len(packed), len(block), check)
            out += packed
        out += b"LZ4Block" + struct.pack("<BIII", 0x15, 0, 0, 0)
    return out


def snappy(data: bytes) -> bytes:
    """Frame as snappy-java's ``SnappyOutputStream``: two streams one after the other."""
    out = b""
    blocks = _blocks(data)
    for part in (blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]):
        out += b"\x82SNAPPY\0" + struct.pack(">II", 1, 1)
        for block in part:
            packed = _raw("snappy", block)
            out += struct.pack(">I", len(packed)) + packed
    return out


def lzf(data: bytes) -> bytes:
    """Frame as ning's compress-lzf: stored and compressed chunks in turn."""
    out = b""
    for i, block in enumerate(_blocks(data)):
        if i % 5 == 4:
            out += b"ZV\0" + struct.pack(">H", len(block)) + block
        else:
            packed = _lzf_block(block)
            out += b"ZV\1" + struct.pack(">HH", len(packed), len(block)) + packed
    return out


def _lzf_block(data: bytes) -> bytes:
    out = bytearray()
    literal = bytearray()
    seen: dict[bytes, int] = {}

    def flush() -> None:
        for i in range(0, len(literal), 32):
            run = literal[i : i + 32]
            out.append(len(run) - 1)
            out.extend(run)
        literal.clear()

    at = 0
    while at < len(data):
        key = data[at : at + 3]
        before = seen.get(key) if len(key) == 3 else None
        seen[key] = at
        if before is None:
            literal.append(data[at])
            at += 1
            continue
        flush()
        length = 3
        while (
            at + length < len(data) and length < 264 and data[before + length] == data[at + length]
        ):
            length += 1
        distance = at - before - 1
        if length - 2 < 7:
            out.append((length - 2) << 5 | distance >> 8)
        else:
            out.extend((7 << 5 | distance >> 8, length - 2 - 7))
        out.append(distance & 255)
        at += length
    flush()
    return bytes(out)


def zstd(data: bytes) -> bytes:
    """Compress into several zstd frames."""
    return b"".join(_raw("zstd", block) for block in _blocks(data))


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "lz4": lz4,
    "lzf": lzf,
    "snappy": snappy,
    "zstd": zstd,
}
