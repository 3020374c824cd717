"""Whether the executors of a job run on this machine, and what applies to this machine alone."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import Level, find_factor
from pyrometer.trial.layout import is_layout

MASTER = "spark.master"
INSTEAD = (
    "leave it out: executors have what spark.executor.cores, spark.executor.memory and the"
    " manager's queue give them"
)
_HERE = re.compile(r"local|spark://(?:localhost|\[::1\]|127\.[0-9.]+)(?::|$)")
_OF_HOST = ("os", "host", "machine")
"""Scopes of factors that are a machine's, or limits of what is started there."""


def is_here(master: str) -> bool:
    """Whether tasks run on this host: a standalone master has the host's name unless told.

    Examples
    --------
    >>> is_here("local[4]"), is_here("spark://127.0.0.1:7077"), is_here("yarn")
    (True, True, False)
    """
    host = re.match(r"spark://([^:,]+)", master.lower())
    names = (socket.gethostname, socket.getfqdn)
    return _HERE.match(master) is not None or (
        host is not None and any(host[1] == name().lower() for name in names)
    )


def of_host(factors: Iterable[str]) -> list[str]:
    """Give the factors that would reach nothing on another host.

    Examples
    --------
    >>> of_host(["cpu.quota", "layout.tasks", "spark.executor.cores", "jvm.gc"])
    ['cpu.quota', 'layout.tasks']
    """
    return [one for one in factors if is_layout(one) or find_factor(one).scope in _OF_HOST]


def alone(master: str) -> str:
    """Say why a factor of this host says nothing of executors."""
    return f"executors run elsewhere (master {master}), and it would apply to this host alone"


def check_master(said: str | None, levels: Mapping[str, Level]) -> None:
    """Refuse another master than a command's own words name.

    Parameters
    ----------
    said : str or None
        The master that the command names.
    levels : mapping
        A treatment.

    Raises
    ------
    UsageError
        If one of both is a cluster's: by its words `spark-submit` decides what it starts.
    """
    asked = levels.get(MASTER)
    if said is None or asked in (None, said) or {said[:5], str(asked)[:5]} == {"local"}:
        return
    raise UsageError(
        f"{MASTER}={asked}: the command itself names the master {said}, by which spark-submit"
        " decides before it reads settings",
        "make masters levels of a variant, which has --master in its words"
        " (docs/how-to/clusters/experiments.md)",
    )
