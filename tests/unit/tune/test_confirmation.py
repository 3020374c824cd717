"""The confirmation of a winner: fresh blocks, what they show, what ends or disturbs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.tuning import (
    PARTITIONS,
    Drawn,
    Listed,
    Simulated,
    begun,
    report_of,
    searched,
)

from pyrometer.experiments.folder import Surroundings
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.tune.believe.verdict import FEWEST
from pyrometer.tune.carry import confirm_winner
from pyrometer.tune.confirm.blocks import folders_of
from pyrometer.tune.listed import listed
from pyrometer.tune.trials.budget import FEWEST_CONFIRMING


def test_what_disturbed_the_confirmation_is_a_doubt(tmp_path):
    root, machine = begun(tmp_path / "t"), Simulated()
    searched(root, machine)
    assert "trials_disturbed" not in {one.code for one in report_of(root, machine).doubts}
    actions = machine.actions()
    disturbed = Surroundings(disturbed=["others use 99 % of the CPUs"])
    loud = replace(actions.trials, wait_for_calm=lambda limits, say: disturbed)
    confirm_winner(root, actions=replace(actions, trials=loud))
    (found,) = [one for one in report_of(root, machine).doubts if one.code == "trials_disturbed"]
    assert found.message.startswith("6 of 12 trials, 6 of them of the confirmation; in 0006-")


def test_the_confirmation_is_of_fresh_blocks_and_says_what_they_show(tmp_path):
    root, machine = begun(tmp_path / "t", "20"), Simulated()
    searched(root, machine)
    count = len(machine.launched)
    assert confirm_winner(root, actions=machine.actions()) is None
    # What the search had left: 20 runs less those that it took, two a block.
    assert len(machine.launched) - count == 2 * int((20 - count) / 2)
    report = report_of(root, machine)
    assert report.state == "done"
    assert report.confirmation.verdict.outcome == "confirmed"
    assert report.told.endswith("blocks.")
    assert "confirmed" in report.told
    assert report.earned_back.runs.low <= report.earned_back.runs.value
    # Done is done.
    assert confirm_winner(root, actions=machine.actions()) is None
    assert len(folders_of(root)) == 1


def test_core_time_that_is_saved_earns_back_what_was_spent(tmp_path):
    class Busy(Simulated):
        def _measure(self, run_dir, ended, reserved, prices):
            found = super()._measure(run_dir, ended, reserved, prices)
            found.metrics["core_seconds"] = 2.5 * ended.seconds
            return found

    root, machine = begun(tmp_path / "t", "20", objective="core-seconds"), Busy()
    searched(root, machine)
    confirm_winner(root, actions=machine.actions())
    report = report_of(root, machine)
    change = report.confirmation.verdict.change.value
    # A run of the job as it is takes 10 s.
    assert report.earned_back.core_s_a_run.value == pytest.approx(-change * 25.0, rel=0.05)
    assert report.earned_back.runs.value > 0


def test_a_winner_that_no_other_data_confirmed_says_so_and_what_would(tmp_path):
    root, machine = begun(tmp_path / "t", "20"), Simulated()
    searched(root, machine)
    assert report_of(root, machine).elsewhere_reason is None
    confirm_winner(root, actions=machine.actions())
    reason = report_of(root, machine).elsewhere_reason
    front, _, scale = reason.rpartition(" --scale ")
    assert front.endswith(f"pyrometer tune resume {root} --blocks 3")
    confirm_winner(root, actions=machine.actions(), blocks=3, scale=scale)
    report = report_of(root, machine)
    assert (report.elsewhere[0].scale, report.elsewhere_reason) == (scale, None)


def test_a_confirmation_that_is_under_way_tells_nothing_yet(tmp_path):
    """Whoever could stop when it looks well would confirm gains that are none."""
    root, machine = begun(tmp_path / "t", "40"), Simulated()
    searched(root, machine)

    def stopped(levels, count):
        return Attempt("interrupted") if count == 9 else None

    with pytest.raises(KeyboardInterrupt):
        confirm_winner(root, actions=Simulated(stopped).actions())
    found = report_of(root, machine)
    left = 2 * found.confirmation.blocks_planned - 9
    assert found.confirmation.verdict.change.high < 0
    assert found.confirmation.verdict.outcome == "cannot tell"
    assert found.confirmation.verdict.reason == f"{left} trials still to run"
    assert found.state == "confirming"
    confirm_winner(root, actions=machine.actions())
    found = report_of(root, machine)
    assert (found.state, found.confirmation.verdict.outcome) == ("done", "confirmed")


def test_a_confirmation_whose_time_is_used_up_is_judged_by_what_has_run(tmp_path, monkeypatch):
    root, machine = begun(tmp_path / "t", "10min"), Simulated()
    # Trials of the search take 20 s, those of the confirmation 60 s.
    monkeypatch.setattr(
        "time.monotonic",
        lambda: 20.0 * min(len(machine.launched), 9) + 60.0 * max(0, len(machine.launched) - 9),
    )
    searched(root, machine, lambda seed: Drawn(seed, stop_after=9))
    assert confirm_winner(root, actions=machine.actions()) == "the budget is used up"
    count = len(machine.launched)
    found = report_of(root, machine)
    blocks = found.confirmation.verdict.change.n
    assert found.state == "done"
    assert FEWEST <= blocks < found.confirmation.blocks_planned
    assert found.confirmation.verdict.outcome == "confirmed"
    # Nobody looks again at what a few more trials would say.
    assert confirm_winner(root, actions=machine.actions()) == "the budget is used up"
    assert len(machine.launched) == count
    # No budget ends blocks that somebody adds; what it ended before stays ended.
    interrupted = Simulated(lambda levels, at: Attempt("interrupted") if at == 3 else None)
    with pytest.raises(KeyboardInterrupt):
        confirm_winner(root, actions=interrupted.actions(), blocks=3)
    found = report_of(root, machine)
    assert (found.state, found.confirmation.verdict.outcome) == ("confirming", "cannot tell")
    assert listed(root).state == "unfinished"
    assert confirm_winner(root, actions=machine.actions()) is None
    assert len(machine.launched) - count == 3
    found = report_of(root, machine)
    assert (found.state, found.confirmation.verdict.outcome) == ("done", "confirmed")
    assert found.confirmation.verdict.change.n == blocks + 3
    assert listed(root).state == "finished"


def test_more_blocks_are_another_look_and_the_verdict_is_stricter(tmp_path):
    root, machine = begun(tmp_path / "t", "12"), Simulated(noise=0.3)
    searched(root, machine)
    confirm_winner(root, actions=machine.actions())
    first = report_of(root, machine).confirmation
    confirm_winner(root, actions=machine.actions(), blocks=4)
    second = report_of(root, machine).confirmation
    assert (first.verdict.looks, second.verdict.looks) == (1, 2)
    assert second.verdict.change.n == first.verdict.change.n + 4
    assert second.verdict.change.level > first.verdict.change.level
    assert [Path(one).name for one in second.folders] == ["confirmation", "confirmation.2"]


def test_a_winner_that_fails_when_it_is_confirmed_is_not_confirmed(tmp_path):
    root, machine = begun(tmp_path / "t", "12"), Simulated()
    found = searched(root, machine)

    def behaviour(levels, count):
        return Attempt("failed", reason="exit code 1") if PARTITIONS in levels else None

    confirm_winner(root, actions=Simulated(behaviour).actions())
    report = report_of(root, machine)
    assert found.settled.configuration
    assert report.confirmation.verdict.outcome == "failed"
    assert "not confirmed" in report.told
    assert set(report.confirmation.failures) == {"failed: exit code 1"}
    assert report.earned_back.runs is None


@pytest.mark.parametrize(
    ("kills", "fault"),
    [(("winner",), False), (("winner", "winner"), True), (("winner", "winner", "baseline"), True),
     (("winner", "baseline", "winner", "baseline"), False)],
)  # fmt: skip
def test_a_kill_from_outside_condemns_a_winner_only_if_it_happens_to_it_alone_again(
    tmp_path, kills, fault
):
    root, machine, left = begun(tmp_path / "t", "26"), Simulated(), list(kills)
    searched(root, machine)

    def killed(levels, count):
        side = "winner" if PARTITIONS in levels else "baseline"
        if side not in left:
            return None
        left.remove(side)
        return Attempt("failed", reason="it ended", outside="ended by SIGTERM, sent from outside")

    confirm_winner(root, actions=Simulated(killed).actions())
    found = report_of(root, machine).confirmation
    assert (found.verdict.outcome == "failed") is fault
    # Blocks of which a trial was ended do not count.
    assert found.blocks_planned - len(kills) <= found.verdict.change.n < found.blocks_planned
    if fault:
        assert found.failures == ["failed: it ended (ended by SIGTERM, sent from outside)"] * 2


@pytest.mark.parametrize("right", [True, False])
def test_the_users_check_alone_judges_results_of_the_confirmation(tmp_path, right):
    """Results differ from the baseline's: whether that is right, only the user knows."""

    def behaviour(levels, count):
        facts = TrialFacts((1.0,), 1.0, 9, "bb", None)
        return Attempt("finished", seconds=1.0, facts=facts) if levels else None

    def checks(command, run):
        wrong = not right and run.parent.parent.name == "confirmation" and "winner" in run.name
        return "1 line differs" if wrong else None

    root = begun(tmp_path / "t", check="diff a b")
    machine = Simulated(behaviour, checks=checks)
    searched(root, machine, lambda seed: Listed([{PARTITIONS: "100"}]))
    confirm_winner(root, actions=machine.actions())
    found = report_of(root, machine).confirmation
    assert found.verdict.outcome == ("confirmed" if right else "failed")
    assert set(found.failures) == (set() if right else {"wrong result: 1 line differs"})


def test_an_engine_that_finds_nothing_leaves_nothing_to_confirm(tmp_path):
    root, machine = begun(tmp_path / "t"), Simulated(seconds=lambda levels: 10.0 + bool(levels))
    found = searched(root, machine, lambda seed: Listed([{PARTITIONS: "3"}]))
    assert found.settled.configuration == {}
    assert confirm_winner(root, actions=machine.actions()) is None
    report = report_of(root, machine)
    assert report.told == "Nothing better than the job as it is was found in 2 trials."
    assert (report.state, report.confirmation) == ("done", None)


def test_a_confirmation_that_is_kept_for_has_as_many_blocks_as_a_verdict_needs():
    assert FEWEST_CONFIRMING == 2 * FEWEST
