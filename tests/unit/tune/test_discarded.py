"""What a search discards, and why: ended from outside, wrong results, too little memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.tuning import (
    COLLECTOR,
    PARTITIONS,
    SPACE,
    Listed,
    Simulated,
    begun,
    lines,
    report_of,
    searched,
)

from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.space.space import Knob
from pyrometer.tune.trials.folder import Fidelity, SavedSpace, TuningPaths, read_tuning


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


def test_what_ended_a_trial_from_outside_and_is_all_that_is_known_is_told_once(tmp_path):
    def short(levels, count):
        why = "it had 2 executors at most"
        return Attempt("failed", reason=why, outside=why) if levels else None

    found = searched(
        begun(tmp_path / "t"), Simulated(short), lambda seed: Listed([{PARTITIONS: "8"}])
    )
    assert found.steps[1].told.failed == "failed: it had 2 executors at most"


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
