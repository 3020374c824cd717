"""All that a folder holds, as text: what is compressed or encoded in its files is decoded."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

_PACK = re.compile(rb'<script type="application/octet-stream;base64"[^>]*>([^<]+)</script>')


def plaintext(folder: Path) -> dict[str, str]:
    """Give the decoded content of each file, by its path below the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): text_of(path) for path in files}


def text_of(path: Path) -> str:
    """Give what a file holds: its bytes, and below them what is encoded in them."""
    data = path.read_bytes()
    parts = [data]
    if path.suffix == ".parquet":
        parts += [repr(pq.read_table(path).to_pydict()).encode("utf-8", "replace")]
    elif path.suffix == ".arrows" and data:
        parts += [repr(ipc.open_stream(path).read_all().to_pydict()).encode("utf-8", "replace")]
    elif data.startswith(b"\x1f\x8b"):
        parts += [gzip.decompress(data)]
    elif data.startswith(b"\x28\xb5\x2f\xfd"):
        parts += [pa.CompressedInputStream(io.BytesIO(data), "zstd").read()]
    parts += [zlib.decompress(base64.b64decode(pack)) for pack in _PACK.findall(data)]
    text = b"\n".join(parts).decode("utf-8", "replace")
    # JSON may write any character by its number.
    return text + re.sub(r"\\u00([0-7][0-9a-f])", lambda found: chr(int(found[1], 16)), text)
