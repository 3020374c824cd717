"""What tasks waited for, in words: by wait class where it is known."""

from __future__ import annotations

from typing import NamedTuple

from pyrometer.accounts.ledger.in_task import PATH
from pyrometer.accounts.ledger.schema import View

_WORDS = {
    "python_workers": "waited for their Python workers",
    "block_io": "waited for disks",
    "network": "waited for the network",
    "helper": "waited for threads that work for them (asynchronous reads, broadcasts, futures)",
    "shuffle_fetch": "waited for shuffle blocks",
    "memory_pool": "waited for a share of Spark's execution memory",
    "lock": "waited for locks",
    "kernel_lock": "waited for locks inside the kernel",
    "swap_in": "waited for pages to come back from swap",
    "reclaim": "waited for the kernel to free memory",
    "timed_sleep": "slept on purpose (Thread.sleep)",
    "idle": "waited on empty queues",
    "gc_or_safepoint": "stood still for the collector or a safepoint",
    "unclassified": "slept (no rule knows why)",
}
UNKNOWN = "slept (wall-clock samples would show why)"


class WaitWords(NamedTuple):
    """What tasks did instead of running (a predicate), its row, and its share of the view."""

    words: str
    path: str
    share: float


def waiting_words(view: View) -> list[WaitWords]:
    """Say what tasks asleep waited for, largest first.

    Where no wait class is known it is one entry, that they slept.

    Examples
    --------
    >>> from pyrometer.accounts.ledger.schema import Row
    >>> rows = [Row(path="task/waiting", parent="task", share=0.23),
    ...         Row(path="task/waiting/network", parent="task/waiting", share=0.01),
    ...         Row(path="task/waiting/python_workers", parent="task/waiting", share=0.22)]
    >>> waiting_words(View(window="application", rows=rows))[0].words
    'waited for their Python workers'
    >>> waiting_words(View(window="application", rows=rows[:1]))[0].words
    'slept (wall-clock samples would show why)'
    """
    found = [
        WaitWords(_words(row.path), row.path, row.share)
        for row in view.rows
        if row.parent == PATH and row.share
    ]
    if not found:
        found = [
            WaitWords(UNKNOWN, row.path, row.share)
            for row in view.rows
            if row.path == PATH and row.share
        ]
    return sorted(found, key=lambda one: (-one.share, one.path))


def _words(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return _WORDS.get(name, f"waited ({name.replace('_', ' ')})")
