from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import beside, holds, job, samples, stack
from tests.support.tables import HOST, PID, World, mono

from pyrometer.accounts.jvm.schema import CodeCache, CodeCachePart
from pyrometer.accounts.window import open_scope
from pyrometer.explain.catalogue.cpu.jit_code_cache_full import RULE
from pyrometer.explain.findings import explained
from pyrometer.explain.schema import Findings
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

ROOM = 120 << 20


def judged(folder: Path, world: World, used: int) -> Findings:
    """Judge with a code cache: what a JVM prints of it has no table of its own in this world."""
    with Run.open(world.write(folder)) as run:
        scope = open_scope(run, None)
        summary = summarise(scope)
        part = CodeCachePart(part="profiled nmethods", used_bytes=used, max_bytes=ROOM)
        summary.jvm.code_cache = CodeCache(used_bytes=used, max_bytes=2 * ROOM, parts=[part])
        return explained(scope, summary, rules=[RULE])


def cold() -> World:
    world = job()
    samples(world, 1.0, java_stack=stack(world, "a.Task.run", kind="c2"))
    samples(world, 0.5, java_stack=stack(world, "a.Cold.run", kind="interpreted"))
    return world


def test_no_room_is_left(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, cold(), ROOM - 100_000).findings
    assert found.shown
    assert holds(found, 4 * 0.8 * 0.5 * 0.725)
    assert found.remedies[0].level == "-XX:ReservedCodeCacheSize=480m"


def test_a_megabyte_is_left(tmp_path: Path) -> None:
    assert judged(tmp_path, cold(), ROOM - (1 << 20)).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job()
    samples(world, 1.0, java_stack=stack(world, "a.Task.run", kind="c2"))
    assert judged(tmp_path, world, ROOM - 100_000).findings == []


def discarding(
    compiled_ms: int = 0, times: int = 2, method: str = "a.Cold.run", small: int = 1
) -> World:
    """Interpret a method in half of the CPU; it, and one small one of some, were compiled often."""
    world = job()
    samples(world, 1.0, java_stack=stack(world, "a.Task.run", kind="c2"))
    samples(world, 0.5, java_stack=stack(world, method, kind="interpreted"))
    again = [(1, "a.Small0.get"), (3, method)]
    once = [(1, f"a.Small{number}.get") for number in range(1, small)]
    for number in range(times):
        for level, name in again + (once if number == 0 else []):
            world.add(
                "jit", host=HOST, pid=PID, start_mono_ns=mono(compiled_ms + number), duration_ns=1,
                compiler="c1", level=level, method=name, succeeded=True, osr=False,
                compile_id=2 * number + level,
            )  # fmt: skip
    return world


def test_a_crowded_part_discards_what_is_needed_again(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, discarding(), ROOM * 8 // 10).findings
    assert found.shown
    assert holds(found, 4 * 0.8 * 0.5 * 0.725)
    assert "1 of 2 compilations at level 1 were of code that had been discarded" in found.mechanism
    assert "100 % of the interpreted CPU" in found.mechanism
    assert found.remedies[0].level == "-XX:ReservedCodeCacheSize=480m"


@pytest.mark.parametrize(
    ("world", "used"),
    [
        (discarding(), ROOM * 4 // 10),  # there is room
        (discarding(times=1), ROOM * 8 // 10),  # nothing was compiled again
        (discarding(compiled_ms=60_000), ROOM * 8 // 10),  # interpreted before it was compiled
        (discarding(small=200), ROOM * 8 // 10),  # one of two hundred has another of its name
        (discarding(method="o.a.s.GeneratedClass$Projection.apply"), ROOM * 8 // 10),
    ],
    ids=["room", "once", "before", "overload", "generated"],
)
def test_near_miss_code_that_is_cold_for_other_reasons(
    tmp_path: Path, world: World, used: int
) -> None:
    assert judged(tmp_path, world, used).findings == []


def test_code_that_another_application_compiles_again(tmp_path: Path) -> None:
    world = discarding(times=1)
    world.rows["jit"] += [{**row, "pid": PID + 1} for row in discarding().rows["jit"]]
    beside(world, "jit", pid=PID + 1)
    assert judged(tmp_path, world, ROOM * 8 // 10).findings == []
