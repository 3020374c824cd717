"""``pm.repeat(spark, block, name="nightly")``: a block of a live session as a workload.

The block runs a few times to warm up, then as often as asked for, each time an iteration of its
own. What it gives must be the same each time: that is all that can be known of its result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyrometer.core.errors import WorkloadError
from pyrometer.orchestrator.live import Measurement
from pyrometer.trial.trial import Trial
from pyrometer.workloads.results import checksum, differences
from pyrometer.workloads.values import Mismatch

Rows = list[tuple[Any, ...]]
_PLAIN = (bool, int, float, Decimal, str, bytes, date)


def repeat(
    spark: Any,
    block: Callable[[], object],
    run_dir: str | Path | None = None,
    *,
    name: str,
    iterations: int = 3,
    warmup: int = 1,
    probe: bool = True,
) -> Measurement:
    """Measure iterations of a block in a live session.

    Parameters
    ----------
    spark : SparkSession or SparkContext
        A classic session, whose JVM runs on this machine.
    block : callable
        What runs, without arguments. If it returns rows (what ``collect`` gives), a list of
        values, or one value, that is its result, and every iteration must give the first one's:
        in any order, floating point within 1e-9. Results of other types are not compared.
    run_dir : path, optional
        Where to write: new, or an empty folder. A new one under ``./pyrometer-runs`` by default.
    name : str
        What the workload is called.
    iterations, warmup : int
        How many are measured, and how many run before.
    probe : bool
        Whether the OS probe runs beside.

    Raises
    ------
    WorkloadError
        If an iteration gives another result than the first; it is the last one then.
    CapabilityError
        If the session has no JVM of its own (Spark Connect).
    UsageError
        If the run directory cannot be written, or a number is too small.

    Examples
    --------
    >>> import pyrometer as pm
    >>> m = pm.repeat(spark, lambda: spark.range(10**7).count(), name="count")  # doctest: +SKIP
    >>> m.show()  # doctest: +SKIP
    """
    where = Path(run_dir) if run_dir is not None else None
    trial = Trial(name=name, profile="live", iterations=iterations, warmup=warmup, run_dir=where)
    measured = Measurement(spark, trial, probe)
    first: Rows | None = None
    with measured.recorded():
        for number in range(warmup + iterations):
            with measured.iteration(number, warmup=number < warmup) as ended:
                rows = result_rows(block())
                ended.update(mono_ns=time.monotonic_ns(), wall_ns=time.time_ns())
                if rows is None:
                    continue
                ended.update(rows=len(rows), checksum=checksum(rows))
                first = rows if first is None else first
                wrong = unlike(first, rows)
                if wrong:
                    ended.update(status="wrong_result", error=str(wrong))
                    raise WorkloadError(f"iteration {number} of {name}, unlike the first: {wrong}")
    return measured


def result_rows(value: object) -> Rows | None:
    """Rows that a result consists of; ``None`` if there is none, or none that can be compared.

    Examples
    --------
    >>> result_rows([("a", 1), ("b", 2)])
    [('a', 1), ('b', 2)]
    >>> result_rows(7)
    [(7,)]
    >>> result_rows(object())
    """
    many = value if isinstance(value, (list, tuple)) else [value]
    rows = [tuple(one) if isinstance(one, (list, tuple)) else (one,) for one in many]
    return rows if value is not None and all(map(_is_plain, rows)) else None


def unlike(first: Rows, rows: Rows) -> Mismatch | None:
    """Tell where a result differs from the first, if it does; rows may come in any order."""
    return None if checksum(rows) == checksum(first) else differences(first, rows)


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, _PLAIN)
