"""Which workloads there are, and turning words of a user into a `WorkloadSpec`."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Iterable, Mapping
from importlib import metadata

from rapidfuzz import process

from pyrometer.core.errors import UsageError
from pyrometer.workloads import custom
from pyrometer.workloads.contract import Workload, load, parse_scale
from pyrometer.workloads.values import WorkloadSpec

GROUP = "pyrometer.workloads"
"""Entry-point group in which other packages offer workloads (``name = module:class``)."""

BUILTIN = {
    "bucket-join": "pyrometer.workloads.catalogue.bucket_join:BucketJoin",
    "interval-join": "pyrometer.workloads.catalogue.interval_join:IntervalJoin",
    "kmeans": "pyrometer.workloads.catalogue.kmeans:KMeans",
    "logistic-regression": "pyrometer.workloads.catalogue.classifiers:LogisticRegression",
    "pagerank": "pyrometer.workloads.catalogue.pagerank:PageRank",
    "parquet-scan": "pyrometer.workloads.catalogue.parquet_scan:ParquetScan",
    "random-read": "pyrometer.workloads.catalogue.random_read:RandomRead",
    "sort-text": "pyrometer.workloads.catalogue.sort_text:SortText",
    "svdpp": "pyrometer.workloads.catalogue.svdpp:SvdPlusPlus",
    "svm": "pyrometer.workloads.catalogue.classifiers:Svm",
    "tpcds": "pyrometer.workloads.catalogue.tpc:Tpcds",
    "tpch": "pyrometer.workloads.catalogue.tpc:Tpch",
    "truth-allocation": "pyrometer.testing.truth.memory:Allocation",
    "truth-broadcast": "pyrometer.testing.truth.shuffles:BroadcastTooBig",
    "truth-cartesian": "pyrometer.testing.truth.shuffles:CartesianProduct",
    "truth-cast": "pyrometer.testing.truth.calibrated:Cast",
    "truth-collect": "pyrometer.testing.truth.tasks:LargeResult",
    "truth-decompression": "pyrometer.testing.truth.calibrated:Decompression",
    "truth-driver": "pyrometer.testing.truth.tasks:DriverOnly",
    "truth-executor-loss": "pyrometer.testing.truth.failures:ExecutorLoss",
    "truth-gc": "pyrometer.testing.truth.memory:Gc",
    "truth-huge-method": "pyrometer.testing.truth.engine:HugeMethod",
    "truth-lock": "pyrometer.testing.truth.calibrated:Lock",
    "truth-page-faults": "pyrometer.testing.truth.memory:PageFaults",
    "truth-pandas-udf": "pyrometer.testing.truth.engine:PandasUdf",
    "truth-python-udf": "pyrometer.testing.truth.engine:PythonUdf",
    "truth-recomputation": "pyrometer.testing.truth.shuffles:Recomputation",
    "truth-run-queue": "pyrometer.testing.truth.calibrated:RunQueue",
    "truth-serialisation": "pyrometer.testing.truth.calibrated:Serialisation",
    "truth-shuffle-blocks": "pyrometer.testing.truth.shuffles:ShuffleBlocks",
    "truth-skewed-key": "pyrometer.testing.truth.tasks:SkewedKey",
    "truth-sleep": "pyrometer.testing.truth.calibrated:Sleep",
    "truth-slow-disk": "pyrometer.testing.truth.host:SlowDisk",
    "truth-small-files": "pyrometer.testing.truth.shuffles:SmallFiles",
    "truth-spill": "pyrometer.testing.truth.engine:Spill",
    "truth-straggler": "pyrometer.testing.truth.tasks:Straggler",
    "truth-swap": "pyrometer.testing.truth.host:Swap",
    "truth-task-failures": "pyrometer.testing.truth.failures:TaskFailures",
    "truth-tiny-tasks": "pyrometer.testing.truth.tasks:TinyTasks",
    "truth-too-few-tasks": "pyrometer.testing.truth.tasks:TooFewTasks",
    "truth-udf": "pyrometer.testing.truth.calibrated:Udf",
}


def entries() -> dict[str, str]:
    """``module:class`` of every registered workload by name; a built-in's name cannot be taken."""
    found = {point.name: point.value for point in metadata.entry_points(group=GROUP)}
    return dict(sorted({**found, **BUILTIN}.items()))


def get(name: str) -> Workload:
    """Instantiate a registered workload by name, or the one that a file or folder is.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    if entry := _entry(name):
        return load(entry)
    if found := custom.workload(name):
        return found
    raise _unknown(name, entries())


def _entry(name: str) -> str | None:
    """``module:class`` of a registered workload; packages are searched for what may be theirs."""
    if name in BUILTIN:
        return BUILTIN[name]
    return None if "/" in name else entries().get(name)


def _unknown(name: str, known: Iterable[str]) -> UsageError:
    if "/" not in name and not name.endswith((custom.PYTHON_SUFFIX, ".jar")):
        return UsageError(f"unknown workload {name!r}{_hint(name, known)}", "pyrometer workloads")
    if os.path.isfile(name):
        run = f"to run it as a program: pyrometer run -- spark-submit {shlex.quote(name)}"
        return UsageError(f"{name} is no workload", run)
    if os.path.isdir(name):
        return UsageError(f"{name} holds no workload.yaml", "pyrometer workloads new NAME")
    return UsageError(f"{name}: no such file", "give its path, or a name: pyrometer workloads")


def resolve(name: str, levels: Mapping[str, str], scale: str = "default") -> WorkloadSpec:
    """Check what a user asked for and fill in the defaults.

    Parameters
    ----------
    name : str
        Registered workload, SQL file, or ``workload.yaml`` (or its folder).
    levels : Mapping[str, str]
        Levels by factor (``workload.variant``) or by its last word (``variant``).
    scale : str
        ``test``, ``default``, ``seed`` or a number.

    Raises
    ------
    UsageError
        Unknown workload, variant, level or scale; the message lists what there is.
    """
    workload = get(name)
    decided = {factor: variant.default for factor, variant in workload.variants.items()}
    for word, level in levels.items():
        factor = variant_named(workload, word)
        if factor is None:
            raise UsageError(
                f"{name} has no variant {word!r}{_hint(word, workload.variants)}",
                _choices(workload.variants),
            )
        variant = workload.variants[factor]
        if not variant.accepts(level):
            raise UsageError(
                f"{factor} of {name} has no level {level!r}{_hint(level, variant.levels)}",
                _choices(variant.levels) + (", or a positive integer" if variant.integer else ""),
            )
        decided[factor] = level
    return WorkloadSpec(
        name=name,
        entry=_entry(name) or f"{type(workload).__module__}:{type(workload).__qualname__}",
        levels=decided,
        scale=scale,
        size=parse_scale(workload, scale),
    )


def variant_named(workload: Workload, word: str) -> str | None:
    """Factor of `workload` that `word` means (itself, or its last word); ``None`` if no such."""
    if word in workload.variants:
        return word
    short = [factor for factor in workload.variants if factor.rpartition(".")[2] == word]
    return short[0] if len(short) == 1 else None


def _choices(known: Iterable[str]) -> str:
    names = ", ".join(known)
    return f"use one of: {names}" if names else "leave it out: it has none"


def _hint(word: str, known: Iterable[str]) -> str:
    # One or two letters, such as `ls`, are near to a part of anything.
    best = process.extractOne(word, list(known), score_cutoff=60) if len(word) > 2 else None
    return f", did you mean {best[0]!r}?" if best else ""
