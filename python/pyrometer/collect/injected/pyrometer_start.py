"""Which Pythons of an observed application are sampled: workers and driver, not the daemon.

Workers say what they work for as well, whether they are sampled or not.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import time
from typing import Any

# Variables that the JVM sets for a daemon or a worker that it starts.
OF_WORKERS = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR")
# More programs than these do not stand between a JVM and the Python that it starts.
MOST_WRAPPERS = 16
LIMITED = "memory of workers is limited (spark.executor.pyspark.memory): not sampled"


def begin(samples: str | None, contexts: str | None) -> None:
    """Begin what this process takes part in.

    Parameters
    ----------
    samples : str or None
        Folder for stacks, where they are wanted.
    contexts : str or None
        Folder for context slots, where they are wanted.
    """
    module = _module()
    by_jvm = any(name in os.environ for name in OF_WORKERS)
    works = by_jvm or module in ("pyspark.daemon", "pyspark.worker")
    if contexts and works:
        with contextlib.suppress(Exception):
            import pyrometer_context  # type: ignore[import-not-found]

            forks = not module.startswith("pyspark.") or module.endswith("daemon")
            pyrometer_context.begin(contexts, _jvm(), forks)
    if samples:
        import pyrometer_sampler  # type: ignore[import-not-found]

        _sample(pyrometer_sampler.Sampler, samples, module if works else None)


def _sample(sampler: Any, folder: str, module: str | None) -> None:
    """Sample this process; the daemon of workers stays without a thread, its children have one."""
    if module is None:
        _start(sampler, folder, "driver", None)
        return
    jvm = _jvm()
    if _is_limited():
        sampler(folder, "worker", jvm).give_up(LIMITED)
    elif module.startswith("pyspark.") and not module.endswith("daemon"):
        _start(sampler, folder, "worker", jvm)
    else:
        _start_in_children(sampler, folder, jvm)


def _jvm() -> int:
    """Give the JVM that this process works for; programs that wrap Python may stand below it."""
    parent = process = os.getppid()
    with contextlib.suppress(Exception):
        for _ in range(MOST_WRAPPERS):
            with open(f"/proc/{process}/stat", "rb") as file:
                # Number, name in brackets, state, parent; the name may hold anything.
                start, _, rest = file.read().rpartition(b")")
            if start.partition(b"(")[2].startswith(b"java") or _holds_jvm(process):
                return process
            process = int(rest.split()[1])
    return parent


def _holds_jvm(process: int) -> bool:
    """Whether a program of another name has a JVM inside; False where that cannot be seen."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/maps", "rb") as file:
        return b"/libjvm.so" in file.read()
    return False


def _module() -> str:
    """Give the module that runs as a program; the daemon's arguments name that of its workers."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""


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
        sampling = sampler(folder, kind, jvm)
        if daemon_ns:
            sampling.take_over(daemon_ns)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(sampling.run, ())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
