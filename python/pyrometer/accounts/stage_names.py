"""What people call a stage: one rule for terminal, page and JSON.

Spark names a stage after the first frame outside its own code. Where a thread of Spark submitted
it, or Python called through reflection, that frame is of the JVM and says nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

MOST = 300
"""Characters of a name: descriptions of queries may be long texts of SQL."""

_SITE = re.compile(r"(?P<what>\S.*?) at (?P<file>\S+\.\w+|<[^>\s]+>):(?P<line>\d+)")
_OWN_CODE = re.compile(r"\$anonfun\b|\blambda\$|\$\$Lambda")
_THREADS = re.compile(
    r"(CompletableFuture|ThreadPoolExecutor|ScheduledThreadPoolExecutor|ForkJoin\w+|FutureTask"
    r"|Executors|Thread|Unsafe|VirtualThread|AccessController)\.java|<unknown>"
)
_REFLECTION = re.compile(
    r"((Native|Delegating|Generated)MethodAccessor\w*|DirectMethodHandleAccessor|Method"
    r"|GeneratedConstructorAccessor\w*)\.java"
)


@lru_cache(4096)
def stage_name(name: str | None, description: str | None) -> str | None:
    """Choose what says most of where a stage comes from.

    The user's line first (or what the user called it with ``setCallSite``), then what its query is
    described as, then Spark's name of the stage. Frames of threads and of reflection are no name if
    there is another; of a method that Python called, its name alone remains.

    Parameters
    ----------
    name : str or None
        Spark's name of the stage.
    description : str or None
        Of its SQL execution: what the user said, or the call site.

    Examples
    --------
    >>> own = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"
    >>> stage_name(own, "collect at /jobs/q.py:3"), stage_name(own, "nightly prices")
    ('collect at /jobs/q.py:3', 'nightly prices')
    >>> stage_name("count at Main.scala:4", "nightly prices")
    'count at Main.scala:4'
    >>> stage_name(own, "parquet at NativeMethodAccessorImpl.java:0"), stage_name(own, None) == own
    ('parquet', True)
    """
    texts = [_line(text) for text in (name, description) if text and text.strip()]
    for text in texts:
        if not _is_internal(text):
            return text
    for text in texts:
        found = _SITE.fullmatch(text)
        if found and not _OWN_CODE.search(text) and _REFLECTION.fullmatch(found["file"]):
            return found["what"]
    return texts[0] if texts else None


def _is_internal(text: str) -> bool:
    found = _SITE.fullmatch(text)
    if _OWN_CODE.search(found["what"] if found else text.split(" ", 1)[0]):
        return True
    return found is not None and any(
        frames.fullmatch(found["file"]) for frames in (_THREADS, _REFLECTION)
    )


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST else line[: MOST - 1] + "…"


def at_file(text: str) -> str:
    """Leave out the folders of a call site.

    Examples
    --------
    >>> at_file("collect at /home/me/jobs/q.py:3")
    'collect at q.py:3'
    """
    return re.sub(r" at /\S*/(?=[^/\s]+$)", " at ", text)
