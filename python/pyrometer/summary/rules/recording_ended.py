"""Rule: recordings of JVMs ended before the window did."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.recordings import recordings_ended
from pyrometer.window.scope import Scope

SHOWN = 5
"""JVMs that the doubt names; the rest are counted."""


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    ended = recordings_ended(scope.tables)
    if ended:
        named = [
            f"{one.whose} ({units.duration(one.recorded_ns)} of {units.duration(one.lived_ns)})"
            for one in ended
        ]
        more = [units.counted(len(named) - SHOWN, "more JVM")] if len(named) > SHOWN else []
        yield (
            f"{units.counted(len(ended), 'JVM')} recorded only the beginning of this window:"
            f" {', '.join([*named[:SHOWN], *more])}"
        )


RULE = Rule(
    code="recording_ended",
    severity="warning",
    meaning=(
        "JVMs ended their recording before the window did, as nothing shipped what they kept and "
        "that had reached its bound (ship.kept.mib). Collections, compilations, allocation and "
        "waits of tasks are unknown, and so is what samples show where more than a tenth of the "
        "JVMs' time has none. The slot view is from the event log alone."
    ),
    remedy=(
        "Take a window that ended before (pyrometer show RUN --window iteration/0). For the next "
        "run let executors ship what they record (docs/how-to/clusters/executors.md), or raise the"
        " bound: `--conf spark.pyrometer.ship.kept.mib=1024`."
    ),
    check=_check,
)
