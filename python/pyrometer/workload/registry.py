"""Which workloads there are, and turning words of a user into a `WorkloadSpec`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata

from rapidfuzz import process

from pyrometer.errors import UsageError
from pyrometer.workload import own
from pyrometer.workload.contract import Workload, WorkloadSpec, load, parse_scale

GROUP = "pyrometer.workloads"
"""Entry-point group in which other packages offer workloads (``name = module:class``)."""

BUILTIN = {
    "bucket-join": "pyrometer.workload.builtin.bucket_join:BucketJoin",
    "interval-join": "pyrometer.workload.builtin.interval_join:IntervalJoin",
    "kmeans": "pyrometer.workload.builtin.kmeans:KMeans",
    "logistic-regression": "pyrometer.workload.builtin.logistic_regression:LogisticRegression",
    "pagerank": "pyrometer.workload.builtin.pagerank:PageRank",
    "parquet-scan": "pyrometer.workload.builtin.parquet_scan:ParquetScan",
    "random-read": "pyrometer.workload.builtin.random_read:RandomRead",
    "sort-text": "pyrometer.workload.builtin.sort_text:SortText",
    "svdpp": "pyrometer.workload.builtin.svdpp:SvdPlusPlus",
    "svm": "pyrometer.workload.builtin.svm:Svm",
    "tpcds": "pyrometer.workload.builtin.tpcds:Tpcds",
    "tpch": "pyrometer.workload.builtin.tpch:Tpch",
    "truth-allocation": "pyrometer.workload.truth.memory:Allocation",
    "truth-broadcast": "pyrometer.workload.truth.joins:BroadcastTooBig",
    "truth-cartesian": "pyrometer.workload.truth.joins:CartesianProduct",
    "truth-cast": "pyrometer.workload.truth.calibrated:Cast",
    "truth-collect": "pyrometer.workload.truth.driver:LargeResult",
    "truth-decompression": "pyrometer.workload.truth.calibrated:Decompression",
    "truth-driver": "pyrometer.workload.truth.driver:DriverOnly",
    "truth-executor-loss": "pyrometer.workload.truth.failures:ExecutorLoss",
    "truth-gc": "pyrometer.workload.truth.memory:Gc",
    "truth-huge-method": "pyrometer.workload.truth.engine:HugeMethod",
    "truth-lock": "pyrometer.workload.truth.contention:Lock",
    "truth-page-faults": "pyrometer.workload.truth.memory:PageFaults",
    "truth-pandas-udf": "pyrometer.workload.truth.python_functions:PandasUdf",
    "truth-python-udf": "pyrometer.workload.truth.python_functions:PythonUdf",
    "truth-recomputation": "pyrometer.workload.truth.shuffles:Recomputation",
    "truth-run-queue": "pyrometer.workload.truth.contention:RunQueue",
    "truth-serialisation": "pyrometer.workload.truth.calibrated:Serialisation",
    "truth-shuffle-blocks": "pyrometer.workload.truth.shuffles:ShuffleBlocks",
    "truth-skewed-key": "pyrometer.workload.truth.tasks:SkewedKey",
    "truth-sleep": "pyrometer.workload.truth.calibrated:Sleep",
    "truth-slow-disk": "pyrometer.workload.truth.host:SlowDisk",
    "truth-small-files": "pyrometer.workload.truth.small_files:SmallFiles",
    "truth-spill": "pyrometer.workload.truth.engine:Spill",
    "truth-straggler": "pyrometer.workload.truth.tasks:Straggler",
    "truth-swap": "pyrometer.workload.truth.host:Swap",
    "truth-task-failures": "pyrometer.workload.truth.failures:TaskFailures",
    "truth-tiny-tasks": "pyrometer.workload.truth.tasks:TinyTasks",
    "truth-too-few-tasks": "pyrometer.workload.truth.tasks:TooFewTasks",
    "truth-udf": "pyrometer.workload.truth.calibrated:Udf",
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
    known = entries()
    if name not in known:
        if found := own.workload(name):
            return found
        raise UsageError(f"unknown workload {name!r}{_hint(name, known)}", _choices(known))
    return load(known[name])


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
        entry=entries().get(name, f"{type(workload).__module__}:{type(workload).__qualname__}"),
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
    return f"use one of: {names}" if names else "it has none"


def _hint(word: str, known: Iterable[str]) -> str:
    best = process.extractOne(word, list(known), score_cutoff=60)
    return f", did you mean {best[0]!r}?" if best else ""
