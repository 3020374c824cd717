"""Options of the JVM: what a treatment asks for, and what is pinned where the host is limited.

Published sets of JVM options in the words of HotSpot (``schema/option_sets.toml``).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyrometer.collect.launch.option_text import (
    Reader,
    join_options,
    options_in,
    split_options,
)
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import schema_folder
from pyrometer.trial.factors import Level
from pyrometer.trial.layout import mib


@dataclass(frozen=True)
class Word:
    """An option of another JVM, and what it is on HotSpot.

    Attributes
    ----------
    word : str
        As it was published.
    options : tuple of str
        HotSpot's; empty where it has none.
    until : int or None
        The last Java that has them.
    why : str or None
        Why there is no equivalent, or it is not the same.
    """

    word: str
    options: tuple[str, ...]
    until: int | None = None
    why: str | None = None


@cache
def option_sets() -> dict[str, tuple[Word, ...]]:
    """Every set by its name."""
    text = (schema_folder() / "option_sets.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    words = {one["word"]: Word(**{**one, "options": tuple(one["options"])}) for one in data["word"]}
    return {one["name"]: tuple(words[word] for word in one["words"]) for one in data["set"]}


def expressed(name: str, tasks: int, java: int | None) -> tuple[list[str], list[str]]:
    """Express a set for a JVM.

    Parameters
    ----------
    name : str
        Of the set.
    tasks : int
        Task slots of the JVM.
    java : int or None
        Its feature number; ``None`` where it is not known: it is taken for a present one.

    Returns
    -------
    tuple of (list of str, list of str)
        Options, and sentences on what has no equivalent or only a near one.

    Examples
    --------
    >>> expressed("tpch-5", 4, 17)[0][1:3]
    ['-XX:ParallelGCThreads=4', '-XX:NewRatio=1']
    """
    options, notes = [], []
    for word in option_sets()[name]:
        gone = word.until is not None and (java is None or java > word.until)
        if not gone:
            options += [option.replace("{tasks}", str(tasks)) for option in word.options]
        if word.why:
            none = gone or not word.options
            notes.append(f"{word.word} {'has no equivalent' if none else 'is near'}: {word.why}")
    return options, notes


COLLECTORS = {
    "g1": "-XX:+UseG1GC",
    "parallel": "-XX:+UseParallelGC",
    "serial": "-XX:+UseSerialGC",
    "z": "-XX:+UseZGC",
    "shenandoah": "-XX:+UseShenandoahGC",
}
MIB = 1 << 20
SERVER_BYTES = 1792 * MIB
"""Memory below which HotSpot takes a machine for a small one (``os::is_server_class_machine``)."""

_COLLECTOR = re.compile(
    r"-XX:\+Use(G1|Parallel|ParallelOld|Serial|Z|Shenandoah|Epsilon|ConcMarkSweep)GC\b"
)
_REPEATED = frozenset(
    ("CompileCommand", "CompileOnly", "OnError", "OnOutOfMemoryError", "StartFlightRecording")
)
"""Options that add to each other."""
_SETS = re.compile(r"-XX:[-+]?(\w+)|(-X(?:mn|ms|ss))|(-D[^=]+)")
_COUNTS = {
    "gc": re.compile(r"-XX:(ParallelGCThreads|ConcGCThreads)="),
    "jit": re.compile(r"-XX:CICompilerCount=|-Xint\b|-XX:[-+]TieredCompilation|TieredStopAtLevel"),
}


@dataclass(frozen=True)
class Limited:
    """How far a treatment limits a JVM.

    Attributes
    ----------
    cpus : int or None
        CPUs that it sees; ``None``: all.
    memory : int or None
        Bytes that it sees; ``None``: all.
    """

    cpus: int | None = None
    memory: int | None = None

    def __bool__(self) -> bool:
        return self.cpus is not None or self.memory is not None


def limited(treatment: Mapping[str, Level], cpus: int | None) -> Limited:
    """Say how far a JVM is limited by a treatment.

    Parameters
    ----------
    treatment : mapping
        Levels, those that a workload brings among them.
    cpus : int or None
        CPUs that it is pinned to; ``None``: to none.

    Examples
    --------
    >>> limited({"cpu.quota": 1.5}, 4)
    Limited(cpus=2, memory=None)
    """
    seen = [] if cpus is None else [cpus]
    if "cpu.quota" in treatment:
        # HotSpot rounds a quota up (CgroupSubsystem::active_processor_count).
        seen.append(max(1, math.ceil(float(treatment["cpu.quota"]))))
    memory = treatment.get("cgroup.memory")
    return Limited(min(seen, default=None), None if memory is None else int(memory))


def pinned(limits: Limited, host_cpus: int, said: Iterable[str]) -> list[str]:
    """Give the options that pin what a JVM would choose again under limits.

    The collector is the one that HotSpot takes on the whole host; numbers of threads are those
    that HotSpot takes for as many CPUs as remain.

    Parameters
    ----------
    limits : Limited
        The limits.
    host_cpus : int
        CPUs of the host.
    said : iterable of str
        All that says something of options already: what it settles is not pinned.

    Examples
    --------
    >>> pinned(Limited(cpus=1), 64, ["-XX:CICompilerCount=3"])
    ['-XX:+UseG1GC', '-XX:ParallelGCThreads=1', '-XX:ConcGCThreads=1']
    >>> pinned(Limited(), 64, [])
    []
    """
    if not limits:
        return []
    text = " ".join(said)
    options = []
    collector = _COLLECTOR.search(text)
    if collector is None and host_cpus > 1:
        options.append(COLLECTORS["g1"])
    cpus = host_cpus if limits.cpus is None else min(limits.cpus, host_cpus)
    name = collector[1] if collector else "G1"
    if name != "Serial" and not _COUNTS["gc"].search(text) and (collector or host_cpus > 1):
        options.append(f"-XX:ParallelGCThreads={gc_threads(cpus)}")
        if name == "G1":
            options.append(f"-XX:ConcGCThreads={max(1, (gc_threads(cpus) + 2) // 4)}")
    if not _COUNTS["jit"].search(text):
        options.append(f"-XX:CICompilerCount={jit_threads(cpus)}")
    return options


def described(limits: Limited, options: Iterable[str]) -> str:
    """Say what was pinned, and against what."""
    small = (limits.cpus is not None and limits.cpus < 2) or (
        limits.memory is not None and limits.memory < SERVER_BYTES
    )
    instead = "; HotSpot would silently take its Serial collector" if small else ""
    seen = []
    if limits.cpus is not None:
        seen.append(f"{limits.cpus} CPU{'s' if limits.cpus > 1 else ''}")
    seen += [f"{limits.memory // MIB} MiB of memory"] if limits.memory is not None else []
    return f"A JVM sees {' and '.join(seen)}{instead}. Pinned: {' '.join(options)}."


def gc_threads(cpus: int) -> int:
    """Threads that HotSpot takes for pauses (``WorkerPolicy::nof_parallel_worker_threads``).

    Examples
    --------
    >>> gc_threads(8), gc_threads(64)
    (8, 43)
    """
    return cpus if cpus <= 8 else 8 + (cpus - 8) * 5 // 8


def jit_threads(cpus: int) -> int:
    """Compiler threads that HotSpot takes with tiers (``CompilationPolicy::initialize``).

    Examples
    --------
    >>> jit_threads(1), jit_threads(16), jit_threads(64)
    (2, 12, 18)
    """
    log = cpus.bit_length() - 1
    return max(2, log * (max(log, 1).bit_length() - 1) * 3 // 2)


def options_of(
    treatment: Mapping[str, Level], tasks: int, java: int | None
) -> tuple[list[str], list[str]]:
    """Give the options that a treatment asks for, and what of an option set is not the same.

    Parameters
    ----------
    treatment : mapping
        Levels.
    tasks : int
        Task slots of a JVM.
    java : int or None
        Feature number of the JVM, where it is known.

    Raises
    ------
    UsageError
        If levels contradict each other.
    """
    options: list[str] = []
    partial: list[str] = []
    if "jvm.option_set" in treatment:
        name = str(treatment["jvm.option_set"])
        options, partial = expressed(name, tasks, java)
        partial = [f"{name}: {sentence}." for sentence in partial]
    if "jvm.gc" in treatment:
        options = [one for one in options if not _COLLECTOR.match(one)]
        options.append(COLLECTORS[str(treatment["jvm.gc"])])
    young = _young(treatment)
    if young is not None:
        options.append(f"-Xmn{young}m")
    if "jvm.gc_threads" in treatment:
        if treatment.get("jvm.gc") == "serial":
            raise UsageError("jvm.gc_threads: the Serial collector has one thread", "leave it out")
        options.append(f"-XX:ParallelGCThreads={treatment['jvm.gc_threads']}")
    if "jvm.jit_threads" in treatment:
        options.append(f"-XX:CICompilerCount={treatment['jvm.jit_threads']}")
    options += _PAGES[str(treatment.get("jvm.pages", "plain"))]
    options += [
        f"-XX:{option}={treatment[factor]}"
        for factor, option in _NUMBERS.items()
        if factor in treatment
    ]
    return options + _further(str(treatment.get("jvm.options", ""))), partial


def with_more(theirs: str, ours: Sequence[str], reader: Reader) -> str:
    r"""Put options of ours behind a text of them, which loses what ours say otherwise.

    All else in it stays as it is written. A JVM with two collectors does not start.

    Parameters
    ----------
    reader : Reader
        Who will split the text.

    Examples
    --------
    >>> with_more("-XX:+UseG1GC -Dmine='a b'", ["-XX:+UseParallelGC"], "launcher")
    "-Dmine='a b' -XX:+UseParallelGC"
    >>> with_more("-XX:ParallelGCThreads=16", ["-XX:ParallelGCThreads=1"], "launcher")
    '-XX:ParallelGCThreads=1'
    """
    found = options_in(theirs, reader)
    if not ours or [one.word for one in found[-len(ours) :]] == list(ours):
        return theirs
    said = {_flag(one) for one in ours} - {None}
    chosen = any(map(_COLLECTOR.match, ours))
    kept, end = "", 0
    for one in found:
        if _flag(one.word) not in said and not (chosen and _COLLECTOR.match(one.word)):
            kept += theirs[end if kept else one.start : one.end]
        end = one.end
    return " ".join(filter(None, [kept, join_options(ours)]))


def _flag(option: str) -> str | None:
    """Name what an option sets, to whatever; ``None``: nothing that another one sets, too."""
    found = _SETS.match(option)
    name = None if found is None else next(filter(None, found.groups()))
    return None if name in _REPEATED else name


_PAGES = {
    "plain": [],
    "transparent": ["-XX:+UseTransparentHugePages"],
    "touched": ["-XX:+UseTransparentHugePages", "-XX:+AlwaysPreTouch"],
}
_NUMBERS = {
    "jvm.string_table": "StringTableSize",
    "jvm.code_cache": "ReservedCodeCacheSize",
    "jvm.inline_level": "MaxInlineLevel",
}


# Spark ends an application that has them among the options of executors.
_SPARKS_OWN = {
    "-Xmx": "set the heap with --set jvm.heap=2g",
    "-Dspark": "set it with --set spark.<key>=<value>",
}


def _further(text: str) -> list[str]:
    words = split_options(text)
    for word in words:
        for start, remedy in _SPARKS_OWN.items():
            if start in word:
                raise UsageError(
                    f"jvm.options holds {word}: Spark refuses {start} for executors", remedy
                )
    return words


def _young(treatment: Mapping[str, Level]) -> int | None:
    given = [name for name in ("jvm.young", "jvm.young_share") if name in treatment]
    if not given:
        return None
    if len(given) == 2:
        raise UsageError("jvm.young and jvm.young_share say the same", "leave one out")
    if treatment.get("jvm.gc") in ("z", "shenandoah"):
        raise UsageError(
            f"{given[0]}: jvm.gc={treatment['jvm.gc']} sizes its generations itself, if it has any",
            "choose jvm.gc=g1, parallel or serial",
        )
    if given == ["jvm.young"]:
        return mib(int(treatment["jvm.young"]))
    if "jvm.heap" not in treatment:
        raise UsageError("jvm.young_share needs jvm.heap", "for example --set jvm.heap=2g")
    return mib(int(int(treatment["jvm.heap"]) * float(treatment["jvm.young_share"])))
