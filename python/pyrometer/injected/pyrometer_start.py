"""Which Pythons of an observed application are sampled: workers and driver, not the daemon."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import time
from typing import Any

# What the JVM tells a daemon or a worker that it starts.
OF_WORKERS = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR")
LIMITED = "memory of workers is limited (spark.executor.pyspark.memory): not sampled"


def begin(sampler: Any, folder: str) -> None:
    """Sample this process; the daemon of workers stays without a thread, its children have one.

    Parameters
    ----------
    sampler : type
        Makes what samples a process: ``pyrometer_sampler.Sampler``.
    folder : str
        Where the samples go.
    """
    module = _module()
    by_jvm = any(name in os.environ for name in OF_WORKERS)
    if not by_jvm and module not in ("pyspark.daemon", "pyspark.worker"):
        _start(sampler, folder, "driver", None)
        return
    jvm = os.getppid()
    if _is_limited():
        sampler(folder, "worker", jvm).give_up(LIMITED)
    elif module.startswith("pyspark.") and not module.endswith("daemon"):
        _start(sampler, folder, "worker", jvm)
    else:
        _start_in_children(sampler, folder, jvm)


def _module() -> str:
    """Give the module that runs as a program; the daemon's arguments name that of its workers."""
    with open("/proc/self/cmdline", "rb") as words:
        told = words.read().decode("utf-8", "replace").split("\0")
    return told[told.index("-m") + 1] if "-m" in told[:-1] else ""


def _start_in_children(sampler: Any, folder: str, jvm: int) -> None:
    daemon = os.getpid()
    used = [0, 0]

    def before() -> None:
        # A worker may fork, too: what it used is in its own samples.
        used[:] = [used[1], time.process_time_ns()] if os.getpid() == daemon else [0, 0]

    def in_child() -> None:
        # What the daemon used since the fork before, it used for this worker.
        _start(sampler, folder, "worker", jvm, used[1] - used[0])

    os.register_at_fork(before=before, after_in_child=in_child)


def _is_limited() -> bool:
    """Whether workers may have so much address space only: a thread more takes of it."""
    limits = (v for k, v in os.environ.items() if k.startswith("PYSPARK_") and "MEMORY_MB" in k)
    return any(limit != "-1" for limit in limits)


def _start(sampler: Any, folder: str, kind: str, jvm: int | None, daemon_ns: int = 0) -> None:
    """Start the thread, deaf to signals: they belong to the application's main thread."""
    with contextlib.suppress(Exception):
        made = sampler(folder, kind, jvm)
        if daemon_ns:
            made.take_over(daemon_ns)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(made.run, ())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
