"""The confirmation of a tuning: planned by the budget, added to by people, one with its tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.tuning import Drawn, Simulated, tuning

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError
from pyrometer.experiments.folder import read_plan
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.confirm.blocks import folders_of
from pyrometer.tune.trials.folder import begin


def searched(root: Path, machine: Simulated, **keys: Any) -> Path:
    begin(root, tuning("12", **keys))
    search(root, lambda one: Drawn(one.seed), actions=machine.actions())
    return root


def blocks_of(root: Path) -> list[int]:
    return [read_plan(one).blocks for one in folders_of(root)]


def test_blocks_that_are_added_early_come_after_those_that_the_budget_has(tmp_path: Path) -> None:
    machine = Simulated()
    root = searched(tmp_path / "t", machine)
    count = len(machine.launched)
    assert confirm_winner(root, actions=machine.actions(), blocks=2) is None
    assert blocks_of(root) == [3, 2]
    assert len(machine.launched) - count == 2 * 5


def test_a_budget_without_room_says_so_and_blocks_can_be_added(tmp_path: Path) -> None:
    machine = Simulated()
    root = searched(tmp_path / "t", machine, reserved=0.0)
    why = confirm_winner(root, actions=machine.actions())
    assert why == "the budget has no room for a block of the confirmation"
    assert confirm_winner(root, actions=machine.actions(), blocks=1, scale="1200") is None
    assert confirm_winner(root, actions=machine.actions(), blocks=2) is None
    assert blocks_of(root) == [2]


def test_where_the_disk_is_full_the_tuning_is_named_and_not_its_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Simulated()
    root = searched(tmp_path / "t", machine)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyrometer.experiments.journal.os.write", full)
    with pytest.raises(CapabilityError, match="No space left") as caught:
        confirm_winner(root, actions=machine.actions())
    assert caught.value.remedy == f"make room, then: pyrometer tune resume {root}"


def test_a_confirmation_does_not_go_on_without_its_tuning(tmp_path: Path, capsys: Any) -> None:
    machine = Simulated()
    root = searched(tmp_path / "t", machine)
    confirm_winner(root, actions=machine.actions())
    assert run_verb(["experiment", "resume", str(root / "confirmation")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "is part of a tuning" in told
    assert "pyrometer tune resume" in told.partition("try:")[2]
