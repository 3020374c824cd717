"""Interrupt time: a row where the kernel takes it out of the threads' time, else inside them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrometer.analyse.counters import growth
from pyrometer.analyse.model import Row
from pyrometer.analyse.scope import Scope

TICKS = "/proc/stat, in ticks of 10 ms"


@dataclass(frozen=True)
class Interrupts:
    """Interrupt time of the host.

    Attributes
    ----------
    rows : list of Row
        Where it is no thread's time.
    memos : list of Row
        Where it is inside the time of the threads it interrupted.
    """

    rows: list[Row] = field(default_factory=list)
    memos: list[Row] = field(default_factory=list)

    @property
    def apart_ns(self) -> int:
        """Time that is no thread's."""
        return sum(row.value_ns or 0 for row in self.rows)

    @classmethod
    def of(cls, scope: Scope, host: dict[str, int]) -> Interrupts:
        """Tell by the pressure of interrupts whether the kernel accounts them apart.

        Linux has that pressure only where it was built with ``CONFIG_IRQ_TIME_ACCOUNTING``
        (kernel/sched/psi.c), which takes interrupts out of the time of threads
        (``update_rq_clock_task`` in kernel/sched/core.c). Kernels before 6.1 have neither file:
        there it is a memo.
        """
        apart = scope.tables.scalar(
            "SELECT count(*) > 0 FROM os_series WHERE scope = 'host' AND name = 'psi_irq_full_ns'"
        )
        source = "no thread's time: this kernel accounts interrupts apart"
        if not apart:
            source = "it is inside the time of the threads it interrupted"
        rows = [
            Row(path=path, value_ns=host[f"cpu_{path}_ns"], source=f"{TICKS}; {source}")
            for path in ("irq", "softirq")
            if f"cpu_{path}_ns" in host
        ]
        if not apart:
            return cls(memos=rows)
        # The kernel counts what ksoftirqd does as soft interrupts and as that thread's time
        # (irqtime_account_process_tick in kernel/sched/cputime.c).
        threads = growth(scope, "scope = 'kernel/ksoftirqd'").get("cpu_ns")
        for row in rows:
            if row.path == "softirq" and threads is not None:
                row.value_ns = max(0, (row.value_ns or 0) - threads)
                row.source += "; without ksoftirqd, a kernel thread"
        return cls(rows=rows)
