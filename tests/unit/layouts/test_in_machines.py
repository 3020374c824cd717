"""Layouts and curves of virtual machines: planned for what the machine has, not for this host."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.support import experiments

from pyrometer.cli.main import run_verb
from pyrometer.experiments.folder import PlannedTreatment
from pyrometer.scaling.plan import default_levels
from pyrometer.scaling.processors import processors

MACHINE = ["--set", "machine.numa=4", "--set", "machine.cpus=8", "--set", "machine.memory=8g"]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that stand for those that make machines."""
    folder = tmp_path / "bin"
    experiments.makers_of_machines(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    experiments.free_here(monkeypatch, 16 << 30)
    return folder


def test_layouts_are_those_of_the_machine_s_nodes(tools: Path, tmp_path: Path, capsys) -> None:
    root = tmp_path / "out"
    command = ["layout", "pagerank", *MACHINE, "--jvms", "1,4", "--scale", "test", "--dry-run"]
    assert run_verb([*command, "-o", str(root)]) == 0
    content = yaml.safe_load((tmp_path / "out.yaml").read_text())
    assert str(content["set"]["machine.numa"]) == "4"
    levels = content["matrix"]["include"]
    assert {str(one.get("numa.nodes")) for one in levels} == {
        "None", "0", "0,1", "0,1,2", "0,1,2,3",
    }  # fmt: skip
    whole = [one for one in levels if str(one.get("numa.nodes")) == "0,1,2,3"]
    slots = [int(one["layout.executors"]) * int(one["layout.cores_per_executor"]) for one in whole]
    assert set(slots) == {8}
    # Half of the machine's memory at most: a GiB each of its four nodes.
    assert all(one["jvm.heap"] == "1024m" for one in whole if str(one["layout.executors"]) == "4")


def test_a_machine_that_contradicts_itself_is_refused(tools: Path, tmp_path: Path, capsys) -> None:
    command = ["layout", "pagerank", "--set", "machine.numa=3", "--set", "machine.cpus=8"]
    assert run_verb([*command, "--dry-run", "-o", str(tmp_path / "out")]) == 2
    assert "cannot be shared alike" in capsys.readouterr().err


def test_a_curve_over_machines_has_levels_of_its_own_and_one_over_tasks_their_cpus() -> None:
    assert default_levels("machine.cpus", 4) == ["1", "2", "3", "4"]
    assert default_levels("machine.cpus", 384)[-1] == "255"

    def found(*levels: dict[str, str]) -> tuple[float | None, float | None]:
        plan = experiments.plan(map(str, range(len(levels))), 1, 1)
        plan.machine = {"cpus_count": 2}
        plan.treatments = [
            PlannedTreatment(name=str(at), levels=one, varied=one) for at, one in enumerate(levels)
        ]
        return processors(plan)

    assert found({"layout.tasks": "1"}, {"layout.tasks": "2"}) == (2.0, None)
    eight = {"machine.cpus": "8", "machine.smt": "2"}
    assert found({**eight, "layout.tasks": "1"}, {**eight, "layout.tasks": "2"}) == (8.0, 4.0)
    assert found({"machine.cpus": "1"}, {"machine.cpus": "2"}) == (None, None)
