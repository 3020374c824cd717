"""CPUs run below their nominal clock.

What it is
    Heat, a power cap, a power-saving governor or a neighbour with wide vector code lowers the
    clock. Time on a CPU counts as before; less work is done in it.

Mechanism
    Cycles of tasks over their time on CPUs is their clock. Below the nominal one (turbo is a bonus
    that nobody can count on), the same cycles would need less time at that clock. The simulator
    removes that difference, stage by stage.

Evidence
    Counters `cycles` and `task-clock` of task threads; the nominal clock in the CPU's name.

Remedy
    Governor `performance`, a higher power cap, cooling; another host.

When it is wrong
    Where a task waits for memory, a lower clock does not lengthen it in proportion: the low end
    counts half.

Source
    perf_event counters of threads; Intel's and AMD's product names give the base clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import machine, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.what_if import Extent


def nominal_hz(model: str | None) -> float | None:
    """Give the nominal clock that a CPU's name tells.

    Examples
    --------
    >>> nominal_hz("Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz"), nominal_hz("AMD EPYC")
    (2200000000.0, None)
    """
    found = re.search(r"@\s*([0-9.]+)\s*GHz", model or "")
    return float(found[1]) * 1e9 if found else None


def _model(facts: Facts) -> str | None:
    manifest = facts.scope.run.manifest
    return manifest.host.cpu_model if manifest else None


def _missing(facts: Facts) -> str | None:
    if not any(one.cycles_count for one in facts.summary.hardware.stages):
        return facts.summary.hardware.reason or "no counter of cycles"
    return None if nominal_hz(_model(facts)) else "the CPU's name does not say its nominal clock"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    nominal = nominal_hz(_model(facts))
    parts, cycles, clock = {}, 0.0, 0.0
    for one in facts.summary.hardware.stages:
        number = facts.number(one.stage_id, one.stage_attempt)
        ns = one.counts.get("task-clock", 0.0)
        if number is None or not one.cycles_count or ns <= 0 or nominal is None:
            continue
        cycles, clock = cycles + one.cycles_count, clock + ns
        part = 1 - one.cycles_count / (ns / 1e9) / nominal
        if part > 0:
            parts[number] = part
    if not parts or nominal is None:
        return
    cost = {number: part * facts.cpu_ns.get(number, 0.0) for number, part in parts.items()}
    where = place(facts, "host", cost)
    ghz = cycles / clock
    yield Suspect(
        place=where,
        mechanism=(
            f"CPUs ran tasks at {units.short(ghz)} GHz where {units.short(nominal / 1e9)} GHz is"
            f" nominal, in {units.counted(len(parts), 'stage')}."
        ),
        change=(facts.less_cpu("clock", parts),),
        extent=Extent(1.0, 0.5, 1.0, len(parts)),
        evidence=[
            shown_by("clock of tasks over the nominal one", ghz * 1e9 / nominal, "ratio",
                 "perf_counts", "show --json: hardware.stages", page(where), len(parts)),
        ],
        remedies=[machine("governor performance, a higher power cap, or another host")],
    )  # fmt: skip


RULE = Rule(
    code="throttled.frequency",
    title="CPUs run below their nominal clock",
    cause="frequency throttling",
    suspects=_suspects,
    needs=(
        Need(
            _missing,
            "run with --profile full on a machine with hardware counters that names its clock",
        ),
    ),
    refute="Run on a host at its nominal clock: if tasks still need as much CPU time, it is not the"
    " clock.",
)
