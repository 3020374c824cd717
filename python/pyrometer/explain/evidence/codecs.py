"""CPU samples in codecs: of files or of Spark's own blocks, of which codec and which format.

Code that is unpacked from archives, native libraries that are copied out of them, and filters that
Parquet writes into a configuration go through `java.util.zip` too: they are no data, and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
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
_FORMATS = {
    "parquet": r"\bparquet\.",
    "orc": r"\borc\.",
    "avro": r"\bavro\.",
    "text": r"\bdatasources\.((v2\.)?(csv|json|text)\.|HadoopFileLinesReader|CodecStreams)"
    r"|^org\.apache\.hadoop\.mapred",
}
"""Frames of the code of formats; where several are in a stack, the first here."""


# Names are looked at once for each frame of these stacks, not for each of their places in them.
_STACKS = """
WITH m AS (
  SELECT java_stack AS stack_id, sum(hits)::BIGINT AS hits FROM w_samples WHERE event = 'cpu'
    AND role = 'task' AND category = $3 AND java_stack IS NOT NULL
    AND coalesce(app_index, $4) = $4 GROUP BY 1),
s AS (SELECT s.stack_id, m.hits, unnest(s.frame_ids) AS frame_id
  FROM stacks s JOIN m USING (stack_id)),
f AS (SELECT frame_id, regexp_matches(name, $1) AS is_code, regexp_matches(name, $2) AS is_file,
    {matches}
  FROM (SELECT frame_id, coalesce(class_name || '.', '') || method AS name FROM frames
    WHERE frame_id IN (SELECT frame_id FROM s)))
SELECT stack_id, any_value(hits), bool_or(is_code), bool_or(is_file), {any_of}
FROM s JOIN f USING (frame_id) GROUP BY 1
"""


@dataclass(frozen=True)
class Codec:
    """Samples of tasks in codecs.

    Attributes
    ----------
    name, format : str or None
        The codec, and the format of files, that most of them are in.
    """

    shares: Shares
    name: str | None = None
    format: str | None = None


def codec_shares(facts: Facts, category: str, of_files: bool) -> Codec:
    """Give the samples of tasks in codecs.

    Parameters
    ----------
    category : str
        ``compression`` or ``decompression``.
    of_files : bool
        Of files that are read or written; else of shuffles, spills, broadcasts and results.
    """
    codecs, formats = Counter[str](), Counter[str]()
    mine, others = [], []
    for stack, found, is_code, is_file, *matched in _stacks(facts, category):
        if is_code or bool(is_file) is not of_files:
            others.append(stack)
            continue
        mine.append(stack)
        _count(codecs, _CODECS, matched[: len(_CODECS)], found)
        _count(formats, _FORMATS, matched[len(_CODECS) :], found)
    if of_files and not mine:
        return Codec(Shares({}, {}))
    if of_files:
        where = f"java_stack IN ({_list(mine)})"
    else:  # also those without a stack
        where = f"coalesce(java_stack NOT IN ({_list(others)}), true)"
    found_in = shares(facts, f"category = '{category}' AND {where}")
    return Codec(found_in, _first(codecs), _first(formats))


def _count(hits: Counter[str], names: Iterable[str], matched: Iterable[object], n: int) -> None:
    """Count samples for the first name that matched."""
    name = next((name for name, is_it in zip(names, matched, strict=True) if is_it), None)
    if name is not None:
        hits[name] += n


def _first(hits: Counter[str]) -> str | None:
    return hits.most_common(1)[0][0] if hits else None


def _stacks(facts: Facts, category: str) -> list[tuple[Any, ...]]:
    if not (facts.has("stacks") and facts.has("frames")):
        return []
    known: dict[str, list[tuple[Any, ...]]] = facts.kept.setdefault("codec stacks", {})
    if category not in known:
        patterns = [*_CODECS.values(), *_FORMATS.values()]
        sql = _STACKS.format(
            matches=", ".join(
                f"regexp_matches(name, '{frames}') AS m{n}" for n, frames in enumerate(patterns)
            ),
            any_of=", ".join(f"bool_or(m{n})" for n in range(len(patterns))),
        )
        app = 0 if facts.measured is None else facts.measured.app_index
        known[category] = facts.tables.query(sql, [_CODE, _FILES, category, app])
    return known[category]


def _list(stacks: list[int]) -> str:
    return ", ".join(map(str, stacks or [-1]))
