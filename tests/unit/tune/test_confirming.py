"""The confirmation of a tuning: planned by the budget, added to by people, one with its tuning."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.support.tuning import PARTITIONS, Drawn, Simulated, tuning

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.confirm.blocks import folders_of
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.schema import TuningReport
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


def finished(seconds: float, rows: int | None, checksum: str | None, **keys: Any) -> Attempt:
    facts = TrialFacts((seconds,), seconds, rows, checksum, None, **keys)
    return Attempt("finished", seconds=seconds, facts=facts)


def confirmed(root: Path, behaviour: Any, budget: str = "20", **keys: Any) -> TuningReport:
    """Search and confirm on a machine whose trials end as `behaviour` says."""
    begin(root, tuning(budget, **keys))
    actions = Simulated(behaviour).actions()
    search(root, lambda one: Drawn(one.seed), actions=actions)
    confirm_winner(root, actions=actions)
    return tuning_report(root, causes=False, measure=actions.measure)


@pytest.mark.parametrize("slower", [False, True])
def test_a_winner_that_another_scale_refutes_says_so_and_is_not_applied(
    tmp_path: Path, capsys: Any, slower: bool
) -> None:
    def behaviour(levels: Any, count: int) -> Attempt | None:
        if "scale" not in levels or PARTITIONS not in levels:
            return None
        if slower:
            return finished(30.0 + count / 100, 10, "aa")
        return Attempt("out_of_memory", censored_s=2.0, reason="java.lang.OutOfMemoryError")

    root, machine = tmp_path / "t", Simulated(behaviour)
    begin(root, tuning("20"))
    search(root, lambda one: Drawn(one.seed), actions=machine.actions())
    confirm_winner(root, actions=machine.actions())
    assert run_verb(["tune", "apply", str(root)]) == 0
    confirm_winner(root, actions=machine.actions(), blocks=3, scale="1200")
    report = tuning_report(root, causes=False)
    assert report.confirmation is not None
    assert report.confirmation.verdict.outcome == "confirmed"
    said = "but at scale 1200 it " + (
        "is worse than the baseline" if slower
        else "failed 3 times (out of memory: java.lang.OutOfMemoryError)"
    )  # fmt: skip
    assert said in report.told
    (found,) = [one for one in report.doubts if one.code == "refuted_elsewhere"]
    assert found.severity == "error"
    capsys.readouterr()
    assert run_verb(["tune", "apply", str(root)]) == 1
    captured = capsys.readouterr()
    assert "not applied: scale 1200 refutes it" in " ".join(captured.err.split())
    assert captured.out == ""
    assert run_verb(["tune", "apply", str(root), "--unconfirmed"]) == 0
    assert "refuted_elsewhere" in capsys.readouterr().err
    assert run_verb(["tune", "show", str(root)]) == 0
    assert "tune apply" not in capsys.readouterr().out


def test_where_checksums_of_the_job_as_it_is_differ_rows_are_compared(
    tmp_path: Path, capsys: Any
) -> None:
    """A column with the time of the run changes them each time, and no row."""

    def rows(other: int) -> Any:
        return lambda levels, count: finished(
            8.0 if levels else 10.0 + count / 100, other if levels else 10, f"{count:02x}"
        )

    report = confirmed(tmp_path / "other", rows(7))
    assert report.confirmation is None
    assert {one.reason.partition(",")[0] for one in report.discarded} == {"another result: 7 rows"}
    report = confirmed(tmp_path / "same", rows(10))
    assert report.told.endswith("blocks; of results only the number of rows compared.")
    (found,) = [one for one in report.doubts if one.code == "results_differ"]
    assert "different results; of results only the number of rows" in found.message
    capsys.readouterr()
    assert run_verb(["tune", "apply", str(tmp_path / "same")]) == 0
    assert "results_differ" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            {"jobs": 3, "rows_written": 500}, {"jobs": 2, "rows_written": 500},
            "results not compared, only how many rows were written",
        ),
        ({}, {}, "results not compared"),
        (
            {"jobs": 3, "rows_written": 500}, {"jobs": 3, "rows_written": 20},
            "another result: it wrote 20 rows; the baseline writes 500",
        ),
        ({"jobs": 3}, {"jobs": 0}, "another result: it ran no job of Spark"),
    ],
)  # fmt: skip
def test_a_command_is_compared_by_what_its_runs_wrote_and_the_verdict_says_so(
    tmp_path: Path, before: dict[str, float], after: dict[str, float], told: str
) -> None:
    def behaviour(levels: Any, count: int) -> Attempt:
        work = after if levels else before
        return finished(8.0 if levels else 10.0 + count / 100, None, None, work=work)

    report = confirmed(tmp_path / "t", behaviour)
    if told.startswith("another"):
        assert report.confirmation is None
        assert {one.reason.startswith(told) for one in report.discarded} == {True}
    else:
        assert report.told.endswith(f" blocks; {told}.")
        assert [one.code for one in report.doubts] == ["results_unchecked"]


def test_a_winner_that_writes_other_rows_when_it_is_confirmed_is_not_confirmed(
    tmp_path: Path,
) -> None:
    root, machine = tmp_path / "t", Simulated()
    begin(root, tuning("12"))
    search(root, lambda one: Drawn(one.seed), actions=machine.actions())

    def behaviour(levels: Any, count: int) -> Attempt:
        rows = 20 if PARTITIONS in levels else 500
        return finished(10.0, None, None, work={"jobs": 1, "rows_written": rows})

    confirm_winner(root, actions=Simulated(behaviour).actions())
    found = tuning_report(root, causes=False).confirmation
    assert found is not None
    assert found.verdict.outcome == "failed"
    assert found.failures[0].endswith("another result: it wrote 20 rows; the baseline writes 500")


def test_added_blocks_are_judged_by_the_job_as_it_is_in_all_blocks(tmp_path: Path) -> None:
    """A single run of it does not show whether its checksum repeats, nor does one that failed."""
    checksums = itertools.count()

    def differs(levels: Any, count: int) -> Attempt:
        return finished(8.0 if levels else 10.0 + count / 100, 10, f"{next(checksums):04x}")

    def ended(levels: Any, count: int) -> Attempt:
        return Attempt("failed", reason="it ended", outside="ended by SIGTERM")

    root = tmp_path / "differs"
    confirmed(root, differs)
    confirm_winner(root, actions=Simulated(differs).actions(), blocks=1)
    report = tuning_report(root, causes=False)
    assert report.confirmation is not None
    assert (report.confirmation.verdict.outcome, report.confirmation.failures) == ("confirmed", [])
    confirm_winner(root, actions=Simulated(differs).actions(), blocks=1, scale="1200")
    (elsewhere,) = tuning_report(root, causes=False).elsewhere
    assert elsewhere.failures == []
    root = tmp_path / "ended"
    before = confirmed(root, lambda levels, count: None)
    confirm_winner(root, actions=Simulated(ended).actions(), blocks=1)
    assert blocks_of(root)[1:] == [1]
    assert tuning_report(root, causes=False).told == before.told


def test_a_wrong_result_stays_one_where_blocks_on_other_data_are_added(tmp_path: Path) -> None:
    def of(rows: int, checksum: str, wrong: int) -> Any:
        return lambda levels, count: (
            finished(8.0, rows + wrong, "zz" if wrong else checksum) if levels
            else finished(10.0 + count / 100, rows, checksum)
        )  # fmt: skip

    root = searched(tmp_path / "t", Simulated(of(10, "aa", 0)))
    confirm_winner(root, actions=Simulated(of(10, "aa", 1)).actions())
    before = tuning_report(root, causes=False).confirmation
    confirm_winner(root, actions=Simulated(of(12, "bb", 0)).actions(), blocks=3)
    after = tuning_report(root, causes=False).confirmation
    assert before is not None
    assert after is not None
    assert (before.verdict.outcome, after.verdict.outcome) == ("failed", "failed")
    assert before.failures == after.failures[: len(before.failures)] != []


def test_a_command_says_that_nobody_looked_at_more_data(tmp_path: Path) -> None:
    report = confirmed(tmp_path / "t", lambda levels, count: None, command=["x"], folder=None)
    assert "a command itself decides what it reads" in (report.elsewhere_reason or "")
