from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, judged, only
from tests.support.generated import add_plan, add_samples, add_source
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.cpu.codegen_method_too_large import RULE


def world(method_bytes: int, kind: str) -> World:
    made = World([StageSpec([1000] * 8)])
    add_plan(made, 40)
    add_samples(made, [(10, "cast", None), (12, "operator", None)])
    add_source(made, 0, max_method_bytes=method_bytes)
    for row in made.rows["frames"]:
        row["kind"] = kind
    return made


def test_an_interpreted_method_of_9001_bytes(tmp_path: Path) -> None:
    found = only(world(9001, "interpreted").write(tmp_path), RULE)
    # All of the CPU, 80 % of 4 s, and compiled code needs between half and a fiftieth.
    assert holds(found, 4 * 0.8 * 0.74)
    assert (found.place.sql_id, found.place.node_id, found.place.stage_id) == (0, 0, 0)
    assert found.remedies[0].level == "-XX:-DontCompileHugeMethods"
    assert "9 001 bytes" in found.mechanism


def test_where_the_time_is_in_compiled_methods_that_it_calls(tmp_path: Path) -> None:
    assert judged(world(9001, "c2").write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(world(900, "interpreted").write(tmp_path), RULE).findings == []
