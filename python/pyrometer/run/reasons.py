"""How a run ended, and why, in words."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from pyrometer.run.launch import Launch
from pyrometer.run.process import TIMEOUT, Ending
from pyrometer.store.manifest import Result, State

LONGEST_ERROR = 400
"""Characters of an error that are told; the workload's own output has the rest."""


def state(ending: Ending, expected: int = 0) -> State:
    """Tell the final state of the run, where `expected` is the exit code of success."""
    if ending.interrupted_by:
        return "interrupted"
    return "finished" if ending.code == expected else "failed"


def wrong(found: Sequence[Result]) -> str | None:
    """Say which iteration gave a wrong result, and where it differs; ``None`` if none did.

    Examples
    --------
    >>> wrong([Result(iteration=2, status="wrong_result", error="rows: expected 1, got 2")])
    'wrong result in iteration 2: rows: expected 1, got 2'
    """
    for result in found:
        if result.status == "wrong_result":
            return f"wrong result in iteration {result.iteration}: {result.error}"
    return None


def broken(found: Sequence[Result]) -> str | None:
    r"""Say which iteration failed, and of what, without the stack; ``None`` if none did.

    Examples
    --------
    >>> told = "Py4JJavaError: in o1.collect.\n: java.lang.OutOfMemoryError: full\n\tat a.B"
    >>> broken([Result(iteration=0, status="failed", error=told)])
    'iteration 0 failed: Py4JJavaError: in o1.collect. : java.lang.OutOfMemoryError: full'
    """
    for result in found:
        if result.status == "failed" and result.error:
            what = " ".join(result.error.partition("\n\tat ")[0].split())
            cut = f"{what[:LONGEST_ERROR]} …" if len(what) > LONGEST_ERROR else what
            return f"iteration {result.iteration} failed: {cut}"
    return None


def starved(group: Mapping[str, int] | None, ending: Ending) -> str | None:
    """Say that the memory limit ended the application; ``None`` if it did not.

    Examples
    --------
    >>> starved({"oom_kills_count": 1}, Ending(1, None, None, 0, 0))
    'the kernel killed 1 process(es) for want of memory: cgroup.memory was too small'
    """
    kills = (group or {}).get("oom_kills_count", 0)
    if not kills or ending.code == 0:
        return None
    return f"the kernel killed {kills} process(es) for want of memory: cgroup.memory was too small"


def reason(ending: Ending, launch: Launch, spark_seen: bool) -> str | None:
    """Say in a sentence why the application ended, where its code does not tell.

    Parameters
    ----------
    ending : Ending
        How it ended.
    launch : Launch
        What was started.
    spark_seen : bool
        Whether a JVM of Spark appeared.
    """
    if ending.interrupted_by == TIMEOUT:
        return "ended by us: its time was up"
    if ending.interrupted_by:
        return f"ended by {ending.interrupted_by} to Pyrometer"
    if ending.signal == "SIGKILL":
        return "killed by SIGKILL: by someone, or by the kernel for want of memory (dmesg tells)"
    if ending.signal in ("SIGABRT", "SIGSEGV", "SIGBUS"):
        return (
            f"crashed with {ending.signal}; a JVM leaves hs_err_pid<pid>.log where it was started"
        )
    if ending.signal:
        return f"ended by {ending.signal}"
    if ending.code == 0:
        return None
    if ending.code == 127:
        return "exit code 127: a shell did not find a command"
    if not spark_seen and launch.kind == "python" and not _has_pyspark(launch):
        return f"{launch.argv[0]} has no pyspark: pip install pyspark with that Python"
    if ending.code == 3 and "-XX:+ExitOnOutOfMemoryError" in f"{launch.argv} {launch.env}":
        return "exit code 3: the JVM ended on OutOfMemoryError"
    return None


def _has_pyspark(launch: Launch) -> bool:
    program = "import importlib.util as u, sys; sys.exit(u.find_spec('pyspark') is None)"
    try:
        return (
            subprocess.run(
                [launch.argv[0], "-c", program],
                env=dict(launch.env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20,
                check=False,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
