"""Whether a process still runs: by the kernel's record of it, zombies left out."""

from __future__ import annotations

from pathlib import Path

__all__ = ["runs", "start_ticks"]


def start_ticks(pid: int) -> int | None:
    """Clock ticks after boot at which a process started; with its id, they identify it.

    Parameters
    ----------
    pid : int
        Process id.

    Returns
    -------
    int or None
        Field 22 of ``/proc/PID/stat`` (proc(5)); None where the process is gone, or has ended
        and nobody has read its exit status. In a container whose first process reads none,
        such zombies stay for good.

    Examples
    --------
    >>> import os
    >>> start_ticks(os.getpid()) > 0
    True
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command name may hold spaces and parentheses: fields start after the last ')'.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in b"ZX" else int(fields[19])


def runs(pid: int) -> bool:
    """Whether a process exists and has not ended.

    Parameters
    ----------
    pid : int
        Process id.

    Examples
    --------
    >>> import os
    >>> runs(os.getpid()), runs(2**22 + 1)
    (True, False)
    """
    return start_ticks(pid) is not None
