"""The room for compiled code is used up, and the JVM stops compiling.

What it is
    Compiled code lies in the code cache (240 MiB by default, in three parts). An application with
    many queries generates thousands of classes. When less than 500 KiB of a part is left, HotSpot
    stops compiling. Long before that, once half of a part is in use, it compiles later the less is
    free, and discards code that it needs again.

Mechanism
    New queries run interpreted or half compiled. The simulator removes what samples of tasks in
    such code would not have needed. Where a part is crowded but not full, that is interpreted code:
    at least that of methods that had been compiled before, at most all of it; and what tasks waited
    for a CPU behind compilers that compiled the same method again.

Evidence
    Bytes in use and room of each part of the code cache, samples by how their code was run. For a
    crowded part: methods that were compiled again at level 1, whose code only a lack of room
    invalidates, if more than one in a hundred are (`OVERLOADS`), and samples in methods that are
    interpreted after they were compiled. Code that Spark generates, which has the same names in all
    queries, counts for neither.

Remedy
    A larger `-XX:ReservedCodeCacheSize`.

When it is wrong
    A cache that fills in the last seconds has done no harm yet; code can be cold for other reasons,
    too (see `jit.interpreted`).

Source
    `CodeCacheMinimumFreeSpace` (500 KiB) and `ReservedCodeCacheSize` in OpenJDK's globals.hpp and
    codeCache.cpp; `IncreaseFirstTierCompileThresholdAt` (50 %) in compilationPolicy.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyrometer.core import units
from pyrometer.explain.catalogue.cpu.jit_interpreted import C1, INTERPRETED
from pyrometer.explain.change import Change
from pyrometer.explain.evidence.discarded_code import discarded
from pyrometer.explain.evidence.host_series import cpu_by_role
from pyrometer.explain.evidence.saying import factor, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, interpreted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, SAMPLES, Need, Rule, Suspect
from pyrometer.explain.schema import Evidence
from pyrometer.explain.what_if import Extent

LEAST_FREE_BYTES = 500 << 10
"""HotSpot's own limit: with less it stops compiling."""
CROWDED = 0.5
"""In use of a part: from there on HotSpot raises the thresholds of its quick compiler."""
OVERLOADS = 0.01
"""Of compilations at level 1, at most, that look repeated where nothing was discarded: the log has
no parameters of methods. In 13 jobs it was 0.05 to 0.14 % (2026-11-27); rounded up."""


def _missing(facts: Facts) -> str | None:
    cache = facts.summary.jvm.code_cache
    return None if cache.parts or cache.max_bytes else cache.reason or "no size of the code cache"


class Room(NamedTuple):
    """A part of the code cache."""

    part: str
    used: int
    most: int


def _suspects(facts: Facts) -> Iterator[Suspect]:
    cache = facts.summary.jvm.code_cache
    parts = [(one.part, one.used_bytes, one.max_bytes) for one in cache.parts] or [
        ("code cache", cache.used_bytes or 0, cache.max_bytes)
    ]
    rooms = [Room(part, used, most) for part, used, most in parts if most]
    if not rooms:
        return
    whole = cache.max_bytes or sum(one.most for one in rooms)
    full = [one for one in rooms if one.most - one.used < LEAST_FREE_BYTES]
    if full:
        yield from _full(facts, full[0], whole)
        return
    fullest = max(rooms, key=lambda one: one.used / one.most)
    if fullest.used > CROWDED * fullest.most:
        yield from _discards(facts, fullest, whole)


def _full(facts: Facts, room: Room, whole: int) -> Iterator[Suspect]:
    cold, quick = interpreted(facts, "interpreted"), interpreted(facts, "interpreted", "c1")
    if not cold.found:
        return
    share = cold.found / quick.found
    ends = [share * a + (1 - share) * b for a, b in zip(INTERPRETED, C1, strict=True)]
    yield _suspect(
        facts, room, whole, quick,
        f", and {units.percent(quick.estimate.value)} of the CPU of tasks went to code that was not"
        " compiled, or only quickly (C1)",
        change=(facts.less_cpu("interpreted", quick.by_stage),),
        extent=quick.extent(*ends),
        evidence=[
            shown_by("task CPU not or only quickly compiled", quick.estimate, "ratio", "samples",
                 "show --json: code.kinds", "/jvm"),
        ],
    )  # fmt: skip


def _discards(facts: Facts, room: Room, whole: int) -> Iterator[Suspect]:
    found = discarded(facts)
    if found is None or found.again_count <= OVERLOADS * found.compiled_count:
        return
    cold = interpreted(facts, "interpreted")
    if not found.samples.found:
        return
    before = found.samples.found / cold.found
    yield _suspect(
        facts, room, whole, cold,
        f": {units.count(found.again_count)} of"
        f" {units.counted(found.compiled_count, 'compilation')} at level 1 were of code that"
        f" had been discarded, and {units.percent(before)} of the interpreted CPU of tasks,"
        f" {units.percent(cold.estimate.value)} of all, went to methods that had been compiled",
        change=(
            facts.less_cpu("interpreted", cold.by_stage),
            facts.share_of_tasks("cpu_wait", _behind(facts, found.again_ratio)),
        ),
        extent=cold.extent(before * INTERPRETED[0], INTERPRETED[1]),
        evidence=[
            shown_by("compiled again at level 1", found.again_count, "count", "jit",
                 found.again_query, "/jvm", found.compiled_count),
            shown_by("task CPU interpreted after compilation", found.samples.estimate, "ratio",
                 "samples", "show --json: code.kinds", "/jvm"),
        ],
    )  # fmt: skip


def _suspect(
    facts: Facts,
    room: Room,
    whole: int,
    samples: Shares,
    says: str,
    *,
    change: Change,
    extent: Extent,
    evidence: list[Evidence],
) -> Suspect:
    cost = {n: share * facts.cpu_ns.get(n, 0.0) for n, share in samples.by_stage.items()}
    return Suspect(
        place=place(facts, "jvm", cost, setting="-XX:ReservedCodeCacheSize"),
        mechanism=(
            f"The part \"{room.part}\" of the code cache held {units.size(room.used)} of"
            f" {units.size(room.most)}{says}."
        ),
        change=change,
        extent=extent,
        evidence=[
            shown_by(f"in use of \"{room.part}\"", room.used, "bytes", "jvm.code_cache",
                 "show --json: jvm.code_cache.parts", "/jvm"),
            *evidence,
        ],
        remedies=[
            factor("jvm.options", f"-XX:ReservedCodeCacheSize={2 * whole >> 20}m",
                   "double the room for compiled code"),
        ],
    )  # fmt: skip


def _behind(facts: Facts, ratio: float) -> dict[int, float]:
    """Give what tasks waited behind compilers that did their work again, by number of the stage."""
    roles = cpu_by_role(facts)
    jit = roles.get("jit", {})
    busy = {n: sum(one.get(n, 0.0) for one in roles.values()) for n in jit}
    return {
        number: waited * ratio * jit[number] / busy[number]
        for number, waited in facts.ledger_ns("task/run_queue").items()
        if busy.get(number)
    }


RULE = Rule(
    code="jit.code-cache-full",
    title="The code cache is full",
    cause="code cache exhausted",
    suspects=_suspects,
    needs=(SAMPLES, Need(_missing, PROFILE)),
    explains=("jit.",),
    refute="Run with twice the ReservedCodeCacheSize: if as much code still runs interpreted, its"
    " room is not why.",
)
