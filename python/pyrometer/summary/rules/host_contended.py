"""Rule: other processes, or the hypervisor, took CPUs that the run could have used."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.summary.contention import MOST_NAMED, contention, contention_words, graded
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    found = contention(summary)
    if found is None:
        return
    said = contention_words(found)
    named = [f"{t.comm} ({t.pid}) {units.duration(t.cpu_ns)}" for t in found.takers[:MOST_NAMED]]
    if named:
        said += f"; most over the whole run: {', '.join(named)}"
    yield said[0].upper() + said[1:]


RULE = Rule(
    code="host_contended",
    severity="warning",
    meaning=(
        "Other processes used the host's CPUs during the run, and its times include their effect. "
        "The severity depends on how much they used."
    ),
    remedy=(
        "Measure on a quiet machine: stop what else runs there. If you cannot, give the run CPUs "
        "of its own (--set host.cpus=NUMBERS, and a cpuset for the others), and compare by an "
        "experiment: canaries show what the host did, and design.kind: duet exposes both "
        "treatments to it at the same time."
    ),
    check=_check,
    graded=graded,
)
