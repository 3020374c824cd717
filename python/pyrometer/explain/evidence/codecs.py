"""CPU samples in codecs: of files or of Spark's own blocks, and of which codec.

Code that is unpacked from archives, native libraries that are copied out of them, and filters that
Parquet writes into a configuration go through `java.util.zip` too: they are no data, and left out.
"""

from __future__ import annotations

from typing import Any

from pyrometer.explain.evidence.stack_shares import Shares, shares
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


_STACKS = """
SELECT stack_id, any_value(hits), bool_or(regexp_matches(name, $1)),
  bool_or(regexp_matches(name, $2)), {codecs}
FROM (SELECT s.stack_id, m.hits, unnest(s.frame_ids) AS frame_id FROM stacks s JOIN (
    SELECT java_stack, sum(hits)::BIGINT AS hits FROM w_samples WHERE event = 'cpu'
      AND role = 'task' AND category = $3 AND java_stack IS NOT NULL GROUP BY 1
  ) m ON m.java_stack = s.stack_id)
JOIN (SELECT frame_id, coalesce(class_name || '.', '') || method AS name FROM frames)
  USING (frame_id)
GROUP BY 1
"""


def codec_shares(facts: Facts, category: str, of_files: bool) -> tuple[Shares, str | None]:
    """Give the samples of tasks in codecs, and the codec that most of them are in.

    Parameters
    ----------
    category : str
        ``compression`` or ``decompression``.
    of_files : bool
        Of files that are read or written; else of shuffles, spills, broadcasts and results.
    """
    hits: dict[str, int] = dict.fromkeys(_CODECS, 0)
    mine, others = [], []
    for stack, found, is_code, is_file, *codecs in _stacks(facts, category):
        if is_code or bool(is_file) is not of_files:
            others.append(stack)
            continue
        mine.append(stack)
        codec = next((name for name, is_it in zip(_CODECS, codecs, strict=True) if is_it), None)
        if codec is not None:
            hits[codec] += found
    if of_files:
        where = f"java_stack IN ({_list(mine)})"
    else:  # also those without a stack
        where = f"coalesce(java_stack NOT IN ({_list(others)}), true)"
    if of_files and not mine:
        return Shares({}, {}), None
    first = max(hits, key=lambda name: hits[name])
    return shares(facts, f"category = '{category}' AND {where}"), first if hits[first] else None


def _stacks(facts: Facts, category: str) -> list[tuple[Any, ...]]:
    if not (facts.has("stacks") and facts.has("frames")):
        return []
    codecs = ", ".join(f"bool_or(regexp_matches(name, '{frames}'))" for frames in _CODECS.values())
    return facts.tables.query(_STACKS.format(codecs=codecs), [_CODE, _FILES, category])


def _list(stacks: list[int]) -> str:
    return ", ".join(map(str, stacks or [-1]))
