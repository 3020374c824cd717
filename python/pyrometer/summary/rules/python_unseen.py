"""Rule: CPU of Python processes that none of their stacks shows."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.attribution.python_workers import asked
from pyrometer.core import units
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

_SEEN = 0.8
_WORTH_NS = 500_000_000


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    workers = summary.python
    counted, seen = workers.counted_ns or 0, workers.seen_ratio or 0
    if asked(scope) and counted > _WORTH_NS and seen < _SEEN:
        yield (
            f"stacks show {units.percent(seen)} of the {units.duration(workers.counted_ns)} of CPU"
            " that Python processes used"
        )


RULE = Rule(
    code="python_unseen",
    severity="warning",
    meaning=("Python processes used much more CPU than their stacks show: some were not sampled."),
    remedy=(
        "Workers must inherit PYTHONPATH from the launch: python -E and -I prevent that, and "
        "so do executors that a cluster manager starts on other hosts. For these, put "
        "pyrometer/injected on spark.executorEnv.PYTHONPATH, and set "
        "spark.executorEnv.PYROMETER_PYTHON_DIR. Where spark.python.worker.reuse is false, each "
        "worker ends with its task, before its last samples are written: set it to true."
    ),
    check=_check,
)
