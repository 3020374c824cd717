"""The search of a tuning on a simulated machine: journal, kills, budgets, times."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.support.examples import examples
from tests.support.tuning import (
    COLLECTOR,
    PARTITIONS,
    Drawn,
    Listed,
    Simulated,
    begun,
    lines,
    report_of,
    searched,
)

from pyrometer.core.errors import CapabilityError, UsageError, WorkloadError
from pyrometer.experiments.folder import Surroundings, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.confirm.blocks import folders_of
from pyrometer.tune.judge.screen import TuningScreen
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.folder import TuningPaths, read_tuning
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import history_of
from pyrometer.tune.trials.search import MOST_REFUSED


def test_a_search_ends_with_its_budget_and_keeps_every_record(tmp_path):
    root, machine = begun(tmp_path / "t"), Simulated()
    history = searched(root, machine)
    # Of 12 runs six are kept for the confirmation.
    assert len(history.steps) == 6
    kinds = [one["k"] for one in lines(root)]
    assert kinds == ["ask", "begin", "end", "tell"] * 6 + ["settle"]
    assert history.settled.configuration
    assert history.settled.change[0] < 0
    before = TuningPaths(root).journal.read_bytes()
    again = searched(root, machine)
    assert TuningPaths(root).journal.read_bytes() == before
    assert again.settled == history.settled
    assert len(machine.launched) == 6


def test_a_kill_between_any_two_records_or_in_one_leads_to_the_same_end(tmp_path):
    whole = begun(tmp_path / "whole")
    machine = Simulated()
    wanted = searched(whole, machine)
    text = TuningPaths(whole).journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(text) if byte == ord("\n")]
    cuts = sorted({0, *ends, *(end - 7 for end in ends)})
    assert len(cuts) == 2 * 25 + 1
    for at in cuts[:: examples(5, 1)]:
        part = begun(tmp_path / f"cut-{at}")
        TuningPaths(part).journal.write_bytes(text[:at])
        kept = history_of(read_journal(part, KINDS))
        machine = Simulated()
        found = searched(part, machine)
        asked = [one.asked.configuration for one in found.steps]
        assert asked == [one.asked.configuration for one in wanted.steps]
        # What had ended is what it was, and is not run again.
        done = [one for one in kept.steps if one.ended is not None]
        assert len(machine.launched) == len(wanted.steps) - len(done)
        for before, after in zip(done, found.steps, strict=False):
            assert before.ended == after.ended
        told = [one["trial"] for one in lines(part) if one["k"] == "tell"]
        assert told == list(range(1, 7))
        assert found.settled.configuration


@pytest.mark.parametrize("kind", ["ask", "begin", "end"])
def test_a_trial_that_a_kill_left_open_is_finished_before_peoples_eyes(tmp_path, capsys, kind):
    """The screen of the verb, not one that shows nothing."""
    whole = begun(tmp_path / "whole")
    searched(whole, Simulated())
    records = TuningPaths(whole).journal.read_bytes().splitlines(keepends=True)
    at = next(at for at, one in enumerate(records) if json.loads(one).get("trial") == 2)
    at += ("ask", "begin", "end").index(kind)
    assert json.loads(records[at])["k"] == kind
    part = begun(tmp_path / "part")
    TuningPaths(part).journal.write_bytes(b"".join(records[: at + 1]))
    with TuningScreen() as screen:
        search(part, lambda one: Drawn(one.seed), screen=screen, actions=Simulated().actions())
    told = capsys.readouterr().err
    assert told.index("1 trial is there already") < told.index("2  ")


def test_a_finished_run_is_adopted_after_a_kill(tmp_path, monkeypatch):
    from pyrometer.experiments.run import attempt

    root, machine = begun(tmp_path / "t"), Simulated()
    searched(root, machine)
    text = TuningPaths(root).journal.read_bytes()
    at = text.index(b'"k":"end","trial":3')
    cut = begun(tmp_path / "cut")
    TuningPaths(cut).journal.write_bytes(text[: text.rindex(b"\n", 0, at) + 1])
    (folder,) = (one["folder"] for one in lines(cut) if one["k"] == "begin" and one["trial"] == 3)
    place = TuningPaths(cut).trials / folder
    place.mkdir(parents=True)
    (place / "manifest.json").write_text("{}")
    facts = TrialFacts((9.0,), 9.0, 10, "aa", "plan", series_s=(9.0,))
    monkeypatch.setattr(
        attempt, "read_together",
        lambda places, detected: [Attempt("finished", seconds=9.0, facts=facts)],
    )  # fmt: skip
    monkeypatch.setattr("pyrometer.tune.trials.judged.length_of", lambda manifest: 11.0)
    monkeypatch.setattr("pyrometer.tune.trials.judged.read_manifest", lambda root: None)
    found = searched(cut, machine)
    assert found.steps[2].ended.adopted
    assert found.steps[2].told.value == 9e9
    # Its length is known from the run, not from the record that the kill prevented.
    assert found.steps[2].told.cost == 11.0 * 4 * 1e9
    assert folder not in machine.launched[6:]


def test_only_one_process_tunes_a_folder(tmp_path, monkeypatch):
    from pyrometer.experiments import journal

    monkeypatch.setattr(journal, "STRAGGLE_S", 0.0)
    root = begun(tmp_path / "t")
    again = pytest.raises(UsageError, match="another process runs this tune")
    with journal.opened_journal(root, KINDS, "tune"), again:
        searched(root, Simulated())


def test_a_journal_that_was_edited_is_refused(tmp_path):
    root = begun(tmp_path / "t")
    searched(root, Simulated())
    journal = TuningPaths(root).journal
    journal.write_bytes(b'{"k":"ask"}\n' + journal.read_bytes())
    with pytest.raises(UsageError, match=r"journal.ndjson:1: not a record"):
        searched(root, Simulated())


def test_a_job_that_fails_as_it_is_ends_the_tuning_and_can_be_gone_on_with(tmp_path):
    root = begun(tmp_path / "t")
    broken = Simulated(lambda levels, count: Attempt("failed", reason="exit code 9"))
    with pytest.raises(
        WorkloadError, match="the job as it is does not finish: failed: exit code 9"
    ):
        searched(root, broken)
    assert len(broken.launched) == 1
    found = searched(root, Simulated())
    # A baseline of its own comes before what the engine had asked for next.
    assert [one.asked.own for one in found.steps][:3] == [False, True, False]
    assert found.settled is not None


@pytest.mark.parametrize(("digest", "new"), [(None, False), ("0" * 64, True)])
def test_a_workload_in_a_file_that_has_to_change_needs_a_new_tuning(
    tmp_path, digest, new, monkeypatch
):
    """Going on with a changed one is refused."""
    monkeypatch.setattr("pyrometer.tune.carry.check_same", lambda *of: None)
    root = begun(tmp_path / "t", workload_sha256=digest)
    broken = Simulated(lambda levels, count: Attempt("failed", reason="exit code 9"))
    with pytest.raises(WorkloadError) as caught:
        searched(root, broken)
    assert f"pyrometer tune resume {root}" in caught.value.remedy
    assert ("a new tuning" in caught.value.remedy) is new


def test_a_trial_that_takes_too_long_is_given_up_and_counts_as_more(tmp_path):
    slow = {PARTITIONS: "300"}
    machine = Simulated(seconds=lambda levels: 100.0 if levels.get(PARTITIONS) == "300" else 40.0)
    root = begun(tmp_path / "t")
    found = searched(root, machine, lambda seed: Listed([slow]))
    step = found.steps[1]
    assert step.asked.limit_s == pytest.approx(80.0, rel=0.05)
    assert step.told.censored
    assert step.told.failed is None
    assert step.told.value == step.asked.limit_s * 1e9
    assert report_of(root, machine).trials[1].status == "gave up"


def test_a_job_of_hours_is_tuned_and_what_takes_far_longer_is_given_up(tmp_path):
    hours = 3 * 3600.0
    wanted = Wanted(
        workload="parquet-scan", scale="test", budget="12", profile="off", fidelities=("none",)
    )  # fmt: skip
    longest_s = started(wanted, tmp_path).tuning.timeout_s
    root = begun(tmp_path / "t", timeout_s=longest_s)
    machine = Simulated(seconds=lambda levels: 9 * hours if levels else hours)
    found = searched(root, machine, lambda seed: Listed([{PARTITIONS: "300"}, {}]))
    first, slow, again = found.steps
    assert first.counts
    assert slow.told.censored
    assert slow.asked.timeout_s == pytest.approx(2 * hours, rel=0.1)
    # The job as it is, again: it may take longer, but not for ever.
    assert again.counts
    assert again.asked.timeout_s == pytest.approx(5 * hours, rel=0.1)
    confirm_winner(root, actions=machine.actions())


def test_what_a_command_waits_for_executors_is_allowed_for_beside_its_limit(tmp_path):
    waits = [100.0, 20.0, 0.0]

    def command(levels, count):
        facts = TrialFacts((), 40.0, None, None, None, waited_s=waits[count])
        return Attempt("finished", seconds=40.0, facts=facts)

    root = begun(tmp_path / "t")
    found = searched(root, Simulated(command), lambda seed: Listed([{}, {PARTITIONS: "8"}]))
    _, again, other = (one.asked for one in found.steps)
    assert again.timeout_s == 5 * (100.0 + 40.0)
    # The longest wait of the job as it is, and twice its time.
    assert (other.limit_s, other.timeout_s) == (80.0, 100.0 + 80.0)


def test_a_job_that_takes_longer_than_was_said_says_what_to_do(tmp_path):
    root = begun(tmp_path / "t", timeout_s=5.0)
    with pytest.raises(WorkloadError, match=r"did not finish within 5.00 s") as caught:
        searched(root, Simulated())
    assert "--timeout" in caught.value.remedy


def test_a_confirmation_does_not_wait_for_what_hangs(tmp_path):
    root, machine = begun(tmp_path / "t", "20", timeout_s=86400.0), Simulated()
    searched(root, machine)
    confirm_winner(root, actions=machine.actions())
    assert {read_plan(one).timeout_s for one in folders_of(root)} == {600.0}


def test_a_search_of_which_nothing_can_be_launched_ends(tmp_path):
    """Refusals take nothing of the budget, so that this would end nothing."""
    root, machine = begun(tmp_path / "t"), Simulated(memory=(8e9, 8e9))
    large = [{"jvm.heap": f"{9000 + at}m"} for at in range(2 * MOST_REFUSED)]
    # What the job as it is takes, again and again, is no success of the search.
    large.insert(3, {})
    found = searched(root, machine, lambda seed: Listed(large))
    assert len(machine.launched) == 2
    assert len(found.steps) == MOST_REFUSED + 2
    assert found.settled.why.startswith(
        f"the last {MOST_REFUSED} configurations were not launched: it may take 9."
    )


def test_a_search_waits_for_memory_that_others_have_until_it_is_resumed(tmp_path):
    root, short = begun(tmp_path / "t"), Simulated(memory=(1e9, 16e9))
    heaps = [{"jvm.heap": f"{2000 + at}m"} for at in range(MOST_REFUSED + 3)]
    with pytest.raises(CapabilityError, match="configurations were not launched") as caught:
        searched(root, short, lambda seed: Listed(heaps))
    assert f"pyrometer tune resume {root}" in caught.value.remedy
    assert short.launched == ["0001-baseline"]
    found = searched(root, Simulated(), lambda seed: Listed(heaps))
    assert [one.counts for one in found.steps[-3:]] == [True] * 3
    assert found.settled is not None


def test_a_budget_of_time_counts_the_time_of_trials(tmp_path):
    # Trials take no time here, so that the engine ends the search.
    root = begun(tmp_path / "t", "10min")
    found = searched(root, Simulated(), lambda seed: Drawn(seed, stop_after=9))
    assert len(found.steps) == 9
    assert found.settled.why == "nothing is left that is worth its cost"
    assert 0 <= found.spent(read_tuning(root)) < 60


@pytest.mark.parametrize(
    ("budget", "each", "confirmed"),
    # Of an hour 3380 s are left: the last trial begins after 3300 s.
    [("1h", 110.0, 31), ("10 core-hours", 40.0, 60)],
)
def test_what_the_guard_waits_is_time_and_no_core_time(
    tmp_path, monkeypatch, budget, each, confirmed
):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    actions = Simulated().actions()
    run = actions.trials.run_trial

    def waits(limits, say):
        now[0] += 100.0
        return Surroundings(waited_s=100.0)

    def runs(trial, watch):
        now[0] += 10.0
        return run(trial, watch)

    trials = replace(actions.trials, wait_for_calm=waits, run_trial=runs)
    actions = replace(actions, trials=trials)
    root = begun(tmp_path / "t", budget)
    found = search(root, lambda one: Listed([{PARTITIONS: "100"}]), actions=actions)
    assert [one.told.cost for one in found.steps] == [10.0 * 4 * 1e9] * 2
    assert found.spent(read_tuning(root)) == pytest.approx(2 * each)
    confirm_winner(root, actions=actions)
    report = report_of(root, Simulated()).budget
    assert report.core_s == pytest.approx((2 + confirmed) * 40.0)
    assert report.confirmed == pytest.approx(confirmed * each)


def test_earlier_trials_are_told_before_the_first_is_asked_for(tmp_path):
    known = [{"source": "x", "configuration": {COLLECTOR: "parallel"}, "value": 5e9, "cost": 1e9}]
    root = begun(tmp_path / "t", earlier=known)
    engines = []

    def make(one):
        engines.append(Drawn(one.seed))
        return engines[-1]

    search(root, make, actions=Simulated().actions())
    assert engines[0].seen[0].configuration == {COLLECTOR: "parallel"}
    assert engines[0].seen[1].configuration == {}
