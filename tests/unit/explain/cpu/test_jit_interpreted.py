from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.explain.planted import beside, holds, job, judged, samples, stack
from tests.support.tables import PID, World

from pyrometer.explain.catalogue.cpu.jit_interpreted import RULE


def world(share: float, kind: str) -> World:
    made = job()
    samples(made, 1.0, java_stack=stack(made, "a.Task.run", kind="c2"))
    if share:
        samples(made, share, java_stack=stack(made, "a.Cold.run", kind=kind))
    return made


def test_half_of_the_cpu_interpreted(tmp_path: Path) -> None:
    (found,) = judged(world(0.5, "interpreted").write(tmp_path), RULE).findings
    assert holds(found, 4 * 0.8 * 0.5 * 0.725)
    assert not found.shown  # every short application has it
    assert found.place.stage_id == 0
    assert found.remedies[0].kind == "code"


def test_quickly_compiled_code_alone_is_not_told(tmp_path: Path) -> None:
    assert judged(world(0.5, "c1").write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(world(0.0, "c2").write(tmp_path), RULE).findings == []


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [(["-Xmx1g", "-XX:TieredStopAtLevel=1"], "-XX:TieredStopAtLevel"),
     (["-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"], None)],
)  # fmt: skip
def test_a_jvm_that_was_told_not_to_optimise(
    tmp_path: Path, arguments: list[str], setting: str | None
) -> None:
    made = world(0.5, "interpreted")
    for row in made.rows["processes"]:
        row["facts"] = json.dumps({"cpus_count": 4, "input_arguments": arguments})
    (found,) = judged(made.write(tmp_path), RULE).findings
    assert found.place.setting == setting
    assert ("optimises nothing" in found.mechanism) == (setting is not None)
    assert [one.kind for one in found.remedies] == (["factor"] if setting else []) + ["code"]


def test_another_application_was_told_not_to_optimise(tmp_path: Path) -> None:
    made = beside(world(0.5, "interpreted"))
    made.rows["spans"] += [{**row, "pid": PID + 1} for row in made.rows["spans"]]
    arguments = ["-XX:TieredStopAtLevel=1"]
    made.rows["processes"][1]["facts"] = json.dumps({"input_arguments": arguments})
    (found,) = judged(made.write(tmp_path), RULE).findings
    assert found.place.setting is None
