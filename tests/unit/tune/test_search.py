"""The search of a tuning on a simulated machine: journal, kills, budgets, what is discarded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.examples import examples
from tests.support.tuning import COLLECTOR, PARTITIONS, SPACE, Drawn, Simulated, tuning

from pyrometer.core.errors import CapabilityError, UsageError, WorkloadError
from pyrometer.experiments.folder import Surroundings, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.believe.verdict import FEWEST
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.confirm.blocks import folders_of
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.screen import TuningScreen
from pyrometer.tune.listed import listed
from pyrometer.tune.space.space import Knob
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.budget import FEWEST_CONFIRMING
from pyrometer.tune.trials.folder import Fidelity, SavedSpace, TuningPaths, begin, read_tuning
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import history_of
from pyrometer.tune.trials.search import MOST_REFUSED


def begun(root: Path, budget: str = "12", **keys):
    begin(root, tuning(budget, **keys))
    return root


def searched(root: Path, machine: Simulated, engine=Drawn):
    return search(root, lambda one: engine(one.seed), actions=machine.actions())


def lines(root: Path) -> list[dict]:
    return [json.loads(line) for line in TuningPaths(root).journal.read_bytes().splitlines()]


def report_of(root: Path, machine: Simulated):
    return tuning_report(root, causes=False, measure=machine.actions().measure)


class Listed(Drawn):
    """Asks for what it is given, after the baseline."""

    def __init__(self, configurations, **keys):
        super().__init__(0, **keys)
        wanted = [one if isinstance(one, Suggestion) else Suggestion(one) for one in configurations]
        self._wanted = [Suggestion({}), *wanted]

    def ask(self):
        return self._wanted.pop(0) if self._wanted else None


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


@pytest.mark.parametrize("times", [1, 2])
def test_a_trial_that_something_outside_ended_is_run_again_once(tmp_path, times):
    failed: list[str] = []

    def killed(levels, count):
        if not levels or len(failed) == times:
            return None
        failed.append("SIGTERM")
        return Attempt("failed", reason="it ended", outside="ended by SIGTERM, sent from outside")

    root, machine = begun(tmp_path / "t"), Simulated(killed)
    found = searched(root, machine, lambda seed: Listed([{PARTITIONS: "8"}]))
    step = found.steps[1]
    assert [name for name in machine.launched if name.startswith("0002")] == [
        step.ended.folder.removesuffix(".2"), step.ended.folder
    ]  # fmt: skip
    assert step.counts is (times == 1)
    # Both attempts have cost something.
    assert len(step.attempts) == 2
    if times == 2:
        assert "SIGTERM, sent from outside" in step.told.failed


def test_two_ends_from_outside_before_a_kill_are_neither_run_again_nor_forgotten(tmp_path):
    def killed(levels, count):
        how = "ended by SIGTERM, sent from outside"
        return Attempt("failed", reason="it ended", outside=how) if levels else None

    def wanted(seed):
        return Listed([{PARTITIONS: "8"}])

    whole, part = begun(tmp_path / "whole"), begun(tmp_path / "part")
    told = searched(whole, Simulated(killed), wanted).steps[1].told
    at = [(one["k"], one.get("trial")) for one in lines(whole)].index(("tell", 2))
    records = TuningPaths(whole).journal.read_bytes().splitlines(keepends=True)
    TuningPaths(part).journal.write_bytes(b"".join(records[:at]))
    machine = Simulated()
    step = searched(part, machine, wanted).steps[1]
    assert not [name for name in machine.launched if name.startswith("0002")]
    assert len(step.attempts) == 2
    assert step.told.failed == told.failed
    assert step.told.cost == pytest.approx(told.cost)


def test_a_disturbed_attempt_is_no_first_end_from_outside(tmp_path):
    """The trial that is run again in its place may be ended from outside once, as any other."""

    def killed(levels, count):
        if levels and count == 2:
            return Attempt(
                "failed", reason="it ended", outside="ended by SIGTERM, sent from outside"
            )
        return None

    root = begun(tmp_path / "t", guard={"policy": "repeat", "wait": 1.0, "repeats": 1})
    machine = Simulated(killed)
    actions = machine.actions()
    calm = actions.trials.judge_others
    seen = []

    def disturbed(first, limits, swapping):
        seen.append(len(machine.launched))
        found = calm(first, limits, swapping)
        return found.model_copy(update={"disturbed": ["a neighbour"] * (len(seen) == 2)})

    actions = replace(actions, trials=replace(actions.trials, judge_others=disturbed))
    found = search(root, lambda one: Listed([{PARTITIONS: "8"}]), actions=actions)
    assert [name for name in machine.launched if name.startswith("0002")][-1].endswith(".3")
    assert found.steps[1].counts


def test_a_configuration_that_fails_or_changes_results_is_discarded_and_named(tmp_path):
    other = {PARTITIONS: "3"}
    dead = {PARTITIONS: "5"}

    def behaviour(levels, count):
        if levels.get(PARTITIONS) == "3":
            return Attempt("finished", seconds=1.0, facts=TrialFacts((1.0,), 1.0, 9, "bb", None))
        if levels.get(PARTITIONS) == "5":
            return Attempt("out_of_memory", censored_s=2.0, reason="java.lang.OutOfMemoryError")
        return None

    root, machine = begun(tmp_path / "t"), Simulated(behaviour)
    found = searched(root, machine, lambda seed: Listed([other, dead, {PARTITIONS: "100"}]))
    assert found.settled.configuration == {PARTITIONS: "100"}
    report = report_of(root, machine)
    reasons = {one.trials[0]: one.reason for one in report.discarded}
    assert reasons[2].startswith("another result: 9 rows, checksum bb; the baseline has 10 rows")
    assert reasons[3] == "out of memory: java.lang.OutOfMemoryError"
    assert report.trials[1].value is None


def test_the_users_check_decides_whether_a_result_is_right(tmp_path):
    def checks(command, run):
        assert command == "diff a b"
        return "1 line differs" if "100" in run.name else None

    root = begun(tmp_path / "t", check="diff a b")
    machine = Simulated(checks=checks)
    found = searched(root, machine, lambda seed: Listed([{PARTITIONS: "100"}]))
    assert found.steps[1].told.failed == "wrong result: 1 line differs"
    assert found.settled.configuration == {}


def test_the_users_check_knows_the_job_itself_and_neither_stand_ins_nor_other_data(tmp_path):
    def checks(command, run):
        levels = machine.levels[run.name]
        return "other rows" if "scale" in levels else None

    machine, cheap = Simulated(checks=checks), Fidelity(name="scale", scale="17", iterations=1)
    root = begun(tmp_path / "t", "20", check="diff a b", fidelities=[cheap])
    few = {PARTITIONS: "100"}
    found = searched(root, machine, lambda seed: Listed([few, Suggestion(few, "scale")]))
    assert [one.told.failed for one in found.steps] == [None] * 3
    confirm_winner(root, actions=machine.actions(), blocks=3, scale="1200")
    (elsewhere,) = report_of(root, machine).elsewhere
    assert (elsewhere.verdict.outcome, elsewhere.failures) == ("confirmed", [])


def test_a_trial_that_would_not_fit_into_memory_is_never_launched(tmp_path):
    root = begun(tmp_path / "t")
    machine = Simulated(memory=(4e9, 8e9))
    found = searched(root, machine, lambda seed: Listed([{"jvm.heap": "4g"}]))
    assert machine.launched == ["0001-baseline"]
    told = found.steps[1].told
    assert told.refused
    assert told.failed == (
        "not launched: it may take 4.40 GiB, and 3.73 GiB of 7.45 GiB are available"
    )
    assert [one["k"] for one in lines(root)] == [
        "ask",
        "begin",
        "end",
        "tell",
        "ask",
        "tell",
        "settle",
    ]
    # It took nothing of the budget.
    assert found.spent(read_tuning(root)) == 1.0
    report = report_of(root, machine)
    assert (report.discarded, [one.trials for one in report.not_launched]) == ([], [[2]])


def test_memory_that_the_job_already_takes_counts_where_a_layout_multiplies_it(tmp_path):
    facts = {"jvms": 1.0, "heap": 3.0 * (1 << 30), "mem_total": 2.0**40}
    layout = {"layout.executors": "3", "layout.cores_per_executor": "1"}
    knobs = (*SPACE.knobs, *(Knob(name, "int", 1, 4) for name in layout))
    space = SavedSpace.of(replace(SPACE, knobs=knobs, facts=facts))
    root = begun(tmp_path / "t", space=space)
    machine = Simulated(memory=(8e9, 8e9))
    found = searched(root, machine, lambda seed: Listed([layout]))
    assert found.steps[1].told.refused
    # Three heaps of the job's own size, and a driver's.
    assert "it may take 11.5 GiB" in found.steps[1].told.failed


def test_a_change_that_takes_no_memory_is_launched_however_little_is_free(tmp_path):
    root, machine = begun(tmp_path / "t"), Simulated(memory=(1e8, 8e9))
    found = searched(root, machine, lambda seed: Listed([{PARTITIONS: "100"}, {COLLECTOR: "g1"}]))
    assert [one.counts for one in found.steps] == [True] * 3


def test_memory_that_others_have_for_now_bars_nothing(tmp_path):
    root, heap = begun(tmp_path / "t"), {"jvm.heap": "4g"}
    free = [1e9, 16e9]
    actions = replace(Simulated().actions(), available=lambda: (free.pop(0), 16e9))
    ideas = {"space": SPACE, "ideas": [heap]}
    # The job as it is needs no memory that is looked for.
    free.insert(0, 16e9)
    found = search(root, lambda one: engine("rules", **ideas), actions=actions)
    assert [one.asked.configuration for one in found.steps] == [{}, heap, heap]
    refused, launched = found.steps[1:]
    assert (refused.told.void, launched.counts) == (True, True)
    report = report_of(root, Simulated())
    assert (report.discarded, report.not_launched) == ([], [])


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


def test_what_was_never_launched_does_not_matter(tmp_path):
    """It has no time: an engine may take it for slow, a report must not."""
    root, machine = begun(tmp_path / "t", "20"), Simulated()
    wanted = [{PARTITIONS: str(10 * at)} for at in range(1, 8)]
    large = [{"jvm.heap": f"{at}g"} for at in (9, 10, 11, 12)]
    found = searched(root, machine, lambda seed: Listed([*large, *wanted]))
    assert [one.told.refused for one in found.steps] == [False, *[True] * 4, *[False] * 7]
    shares = {one.factors[0]: one.share.value for one in report_of(root, machine).influence}
    assert shares[PARTITIONS] > 0.5
    assert shares.get("jvm.heap", 0.0) < 0.2


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


def test_conditions_discard_what_breaks_them_and_what_cannot_be_shown(tmp_path):
    small, large = {PARTITIONS: "10"}, {PARTITIONS: "20"}

    class Hungry(Simulated):
        def _measure(self, run_dir, ended, reserved, prices):
            found = super()._measure(run_dir, ended, reserved, prices)
            if "20" not in run_dir.name:
                found.metrics["peak_memory"] = 5e9 if "10" in run_dir.name else 1e9
            return found

    root = begun(tmp_path / "t", conditions=["peak_memory < 3g"])
    found = searched(root, Hungry(), lambda seed: Listed([small, large]))
    assert found.steps[1].told.failed == ("peak_memory < 3g does not hold: peak_memory 4.66 GiB")
    assert "peak_memory is not known" in found.steps[2].told.failed
    assert found.settled.configuration == {}


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


def test_a_confirmation_that_is_kept_for_has_as_many_blocks_as_a_verdict_needs():
    assert FEWEST_CONFIRMING == 2 * FEWEST
