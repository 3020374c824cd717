"""Rule: executors ran on hosts where no probe saw them."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.accounts.cpu import unseen_executors
from pyrometer.core.units import counted
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

SHOWN = 20
"""Hosts that the doubt names; the rest are counted."""


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    if not scope.has("thread_counters") and not scope.has("os_series"):
        # The views say that there was no probe at all.
        return
    ran, missing = unseen_executors(scope)
    if missing:
        named = [f"{host} ({counted(n, 'executor')})" for host, n in missing.items()]
        more = [counted(len(named) - SHOWN, "more host")] if len(named) > SHOWN else []
        hosts = ", ".join([*named[:SHOWN], *more])
        yield f"no probe saw {sum(missing.values())} of {ran} executors that ran tasks: {hosts}"


RULE = Rule(
    code="executors_unseen",
    severity="warning",
    meaning=(
        "Executors ran where no probe saw them: CPU, memory and I/O of processes, the core view of "
        "the ledger and what other processes took are those of the hosts that probes watched."
    ),
    remedy=(
        "What the event log says of tasks holds for all executors. For the rest, let executors "
        "send what they record (a run directory that all hosts see, or spark.pyrometer.ship.to), or"
        " attach to one where it runs: pyrometer attach PID."
    ),
    check=_check,
)
