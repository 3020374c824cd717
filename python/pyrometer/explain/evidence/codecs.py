"""CPU samples in codecs: of files or of Spark's own blocks, and of which codec.

Code that is unpacked from archives, native libraries that are copied out of them, and filters that
Parquet writes into a configuration go through `java.util.zip` too: they are no data, and left out.
"""

from __future__ import annotations

from pyrometer.explain.evidence.stack_shares import Shares, shares, with_frames
from pyrometer.explain.facts import Facts

_CODE = (
    r"^(jdk\.internal\.(loader|jimage)|java\.util\.(jar|zip\.(ZipFile|JarFile))"
    r"|java\.net\.URLClassLoader|java\.lang\.ClassLoader)\b|SerializationUtil\."
    r"|\.(SnappyLoader|Native)\.(load|extract|findNative)"
)
_FILES = (
    r"^(shaded\.)?(org\.)?(apache\.)?(parquet|orc|avro)\.|^org\.apache\.hadoop\.(io\.compress|mapred)"
    r"|^org\.apache\.spark\.sql\.execution\.datasources\.(parquet|orc|csv|json|text|v2\.\w+)\."
    r"|datasources\.(HadoopFileLinesReader|CodecStreams)"
)
_CODECS = {
    "zstd": r"zstd",
    "snappy": r"snappy",
    "lz4": r"lz4|jpountz",
    "gzip": r"java\.util\.zip|GzipCodec|[Gg]zip(De)?[Cc]ompress|DeflateCodec",
    "lzf": r"\.lzf\.",
}


def codec_shares(facts: Facts, category: str, of_files: bool) -> tuple[Shares, str | None]:
    """Give the samples of tasks in codecs, and the codec that most of them are in.

    Parameters
    ----------
    category : str
        ``compression`` or ``decompression``.
    of_files : bool
        Of files that are read or written; else of shuffles, spills, broadcasts and results.
    """
    mine = f"category = '{category}'"
    if facts.has("stacks") and facts.has("frames"):
        file = f"coalesce(java_stack IN ({with_frames(_FILES)}), false)"
        data = f"NOT coalesce(java_stack IN ({with_frames(_CODE)}), false)"
        mine += f" AND {data} AND {file if of_files else f'NOT {file}'}"
    elif of_files:
        return Shares({}, {}), None
    found = shares(facts, mine)
    return found, _codec(facts, mine) if found.found else None


def _codec(facts: Facts, mine: str) -> str | None:
    if not facts.has("stacks"):
        return None
    hits = ", ".join(
        f"coalesce(sum(hits) FILTER (java_stack IN ({with_frames(frames)})), 0)"
        for frames in _CODECS.values()
    )
    rows = facts.tables.query(
        f"SELECT {hits} FROM w_samples WHERE event = 'cpu' AND role = 'task' AND ({mine})"
    )
    counts = dict(zip(_CODECS, rows[0], strict=True))
    codec = max(counts, key=lambda name: counts[name])
    return codec if counts[codec] else None
