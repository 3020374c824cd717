"""Instructions per cycle of operators, from the CPU samples between two readings of a thread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pyrometer.accounts.hardware.counters import CYCLES, INSTRUCTIONS, THREAD, each_steps
from pyrometer.accounts.hardware.schema import OperatorIpc
from pyrometer.attribution.samples import attribution
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import LEVEL, Z
from pyrometer.window.scope import Scope


def operators(scope: Scope) -> list[OperatorIpc]:
    """Instructions per cycle by operator, from the CPU samples between two readings of a thread.

    Cycles and instructions of such an interval are split between the operators sampled in it, by
    the weight of their samples. An interval in which several ran gives all of them the same ratio:
    differences between operators that alternate faster than readings come out too small.
    """
    if not scope.tables.scalar(f"SELECT count(*) FROM w_perf WHERE event = '{CYCLES}'"):
        return []
    attribution(scope)
    return operator_ipc(_added(scope.tables.query(_BY_OPERATOR) for _ in each_steps(scope)))


def _added(groups: Iterable[Sequence[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Add up the sums of operators over groups of hosts, most cycles first."""
    found: dict[str, tuple[Any, ...]] = {}
    for rows in groups:
        for operator, *sums in rows:
            before = found.get(operator, (0,) * len(sums))
            found[operator] = tuple(a + b for a, b in zip(before, sums, strict=True))
    rows = [(operator, *sums) for operator, sums in found.items()]
    return sorted(rows, key=lambda row: (-row[3], row[0]))


_BY_OPERATOR = f"""
    WITH steps AS (
      SELECT c.pid, c.tid, c.t0, c.t1, c.value::DOUBLE AS cycles, i.value::DOUBLE AS instructions
      FROM perf_steps c JOIN perf_steps i USING (pid, tid, t0, t1)
      WHERE c.scope = '{THREAD}' AND c.event = '{CYCLES}' AND i.event = '{INSTRUCTIONS}'
        AND c.value > 0),
    hit AS (
      SELECT b.*, s.operator, s.weight FROM task_samples s ASOF JOIN steps b
        ON b.pid = s.pid AND b.tid = s.tid AND b.t0 <= s.t_ns
      WHERE s.event = 'cpu' AND s.t_ns <= b.t1),
    shares AS (
      SELECT operator, cycles, instructions, hits,
        weight / sum(weight) OVER (PARTITION BY pid, tid, t0) AS share
      FROM (SELECT pid, tid, t0, operator, cycles, instructions, sum(weight)::DOUBLE AS weight,
          count(*) AS hits FROM hit GROUP BY ALL))
    SELECT operator, count(*), sum(hits)::BIGINT, sum(cycles * share), sum(instructions * share),
      sum((instructions * share) ** 2), sum(cycles * instructions * share ** 2),
      sum((cycles * share) ** 2)
    FROM shares WHERE operator IS NOT NULL GROUP BY operator ORDER BY 4 DESC, 1
"""


def operator_ipc(rows: Iterable[tuple[Any, ...]]) -> list[OperatorIpc]:
    """Compute ratios with confidence intervals from sums over intervals between readings.

    Parameters
    ----------
    rows : iterable of tuple
        Operator, intervals, samples, Σc, Σi, Σi², Σic, Σc², with i instructions and c cycles.

    Notes
    -----
    Ratio estimator over n intervals with linearised variance, Σ(i - Rc)² n / ((n - 1) (Σc)²):
    Cochran, Sampling Techniques, 3rd ed., §2.11 and 6.4.
    """
    ratios = []
    for operator, n, samples, cycles, instructions, ii, ic, cc in rows:
        value = instructions / cycles
        rest = max(0.0, ii - 2 * value * ic + value * value * cc)
        half = Z * math.sqrt(rest * n / (n - 1)) / cycles if n > 1 else None
        ipc = Estimate(
            value=value,
            low=None if half is None else max(0.0, value - half),
            high=None if half is None else value + half,
            level=LEVEL,
            n=n,
            method="ratio over intervals between readings, split by CPU samples",
        )
        ratios.append(
            OperatorIpc(operator=operator, ipc=ipc, cycles_count=cycles, samples_count=samples)
        )
    return ratios
