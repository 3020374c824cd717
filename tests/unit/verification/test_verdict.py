"""What an experiment says of a finding, over invented trials."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support import experiments
from tests.support.explain.tried_findings import COMMAND, WORKLOAD, S, estimate, finding

from pyrometer.experiments.folder import Ended, Surroundings
from pyrometer.experiments.journal import Entries
from pyrometer.verification.plan import AS_IT_WAS, REMEDY
from pyrometer.verification.run import prepare
from pyrometer.verification.verdict import Alike, Prediction, alike, judge

PREDICTED = Prediction(estimate(2.0 * S, 1.5 * S, 2.5 * S), 10 * S, of_command=True)


def journal(before, after, **more):
    """Trials in blocks; a time, or how it ended."""
    plan = experiments.plan([AS_IT_WAS, REMEDY], len(before), seed=1)
    values = {AS_IT_WAS: before, REMEDY: after}
    entries = Entries()
    for one in plan.trials:
        value = values[one.treatment][one.block - 1]
        if value is None:
            continue
        finished = not isinstance(value, str)
        entries.ended[one.number] = Ended(
            trial=one.number, attempt=1, block=one.block, treatment=one.treatment,
            status="finished" if finished else value, folder=one.folder,
            seconds=value if finished else None, reason=None if finished else "so it was",
            wall_ns=one.number,
            **{name: by[one.treatment] for name, by in more.items()},
        )  # fmt: skip
    return plan, entries


def both(value):
    return {AS_IT_WAS: value, REMEDY: value}


def judged(before, after, predicted=PREDICTED, **more):
    more = {"rows": both(5), "checksum": both("aa"), **more}
    return judge(*journal(before, after, **more), predicted)


def spread(mean, by, n=4):
    """Times around a mean, that differ in pairs."""
    return [mean * (1 + by * (1 if at % 2 else -1)) for at in range(n)]


STEADY = [10.0, 10.1, 9.9, 10.0]


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([8.0, 8.1, 7.9, 8.0], "proven"),
        ([9.5, 9.6, 9.41, 9.5], "proven"),  # surely faster, if less than predicted
        ([12.0, 12.1, 11.9, 12.0], "refuted"),  # slower
        ([9.763, 10.014, 9.665, 9.915], "no_difference"),  # faster, by less than counts
        ([10.01, 10.09, 9.9, 10.02], "no_difference"),  # within the margin
        ([10.5, 10.6, 9.8, 10.4], "refuted"),  # perhaps slower, surely not faster
        ([9.0, 10.5, 9.9, 9.5], "no_difference"),  # some saving, not that
        ([6.0, 12.0, 7.0, 11.0], "not_testable"),  # anything may be
    ],
)
def test_the_interval_decides(after, verdict):
    found = judged(STEADY, after)
    assert found.verdict == verdict, found
    assert found.blocks == 4
    assert (found.bound_ratio is not None) == (verdict == "no_difference")
    assert (found.reason is None) == (verdict in ("proven", "no_difference"))


def test_what_is_measured_is_told_in_seconds_of_the_run():
    found = judged(STEADY, [0.8 * one for one in STEADY])
    assert found.measured_ns.value == pytest.approx(2.0 * S)
    assert found.measured_ns.low <= found.measured_ns.value <= found.measured_ns.high
    noisy = judged(STEADY, [7.9, 8.2, 7.9, 8.1])
    assert noisy.measured_ratio.low < 0.19 < noisy.measured_ratio.high
    assert noisy.measured_ns.low == pytest.approx(noisy.measured_ratio.low * 10 * S)
    slower = judged(STEADY, [1.2 * one for one in STEADY])
    assert slower.measured_ns.value == pytest.approx(-2.0 * S)


def test_no_difference_names_above_what():
    same = judged(STEADY, STEADY)
    assert same.bound_ratio == 0.02
    loose = judged(STEADY, [9.0, 10.5, 9.9, 9.5])
    # All that the interval allows lies below, and it excludes what was predicted.
    assert loose.bound_ratio == max(abs(loose.measured_ratio.low), loose.measured_ratio.high)
    assert loose.measured_ratio.high < PREDICTED.ratio.low


@pytest.mark.parametrize(
    ("end", "verdict"),
    [("out_of_memory", "refuted"), ("timeout", "refuted"), ("wrong_result", "refuted"),
     ("failed", "not_testable")],
)  # fmt: skip
def test_trials_with_the_remedy_that_do_not_finish(end, verdict):
    found = judged(STEADY, [end] * 4)
    assert found.verdict == verdict
    assert "with the remedy, 4 of 4 trials" in found.reason
    assert "so it was" in found.reason
    assert found.measured_ns is None


@pytest.mark.parametrize("end", ["out_of_memory", "failed", "timeout", "wrong_result"])
def test_where_it_does_not_run_as_it_was_nothing_is_said_of_the_remedy(end):
    found = judged([end] * 4, STEADY)
    assert found.verdict == "not_testable"
    assert found.reason.startswith("as it was, 4 of 4 trials")


def test_one_trial_that_failed_costs_its_block_alone():
    found = judged([10.0, 10.1, 9.9, 10.0, 10.0], [8.0, "failed", 7.9, 8.0, 8.1])
    assert found.verdict == "proven"
    assert found.blocks == 4


def test_what_saves_less_than_counts_is_not_proven():
    found = judged(STEADY, [9.763, 10.014, 9.665, 9.915], Prediction(estimate(0.2 * S), 10 * S))
    assert 0.001 < found.measured_ratio.low < found.measured_ratio.value < 0.02
    assert found.measured_ratio.high > 0.02
    assert found.verdict == "not_testable"
    assert "4 blocks show none above 2.00 %" in found.reason


@pytest.mark.parametrize("after", [[8.0, 8.1, 7.9], [12.0, 12.1, 11.9], ["out_of_memory"] * 3])
def test_nothing_is_told_before_all_trials_have_been_run(after):
    found = judged([10.0, 10.1, 9.9, None, None], [*after, None, None])
    assert found.verdict == "not_testable"
    assert "of 5 blocks are complete; there is a verdict once all trials have" in found.reason
    assert "goes on where it stopped" in found.by_hand


def test_a_job_that_does_not_run_is_told_at_once():
    found = judged(["failed", None, None], [8.0, None, None])
    assert found.reason.startswith("as it was, 1 of 1 trials failed")


def test_trials_that_something_outside_ended_count_for_neither():
    before = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9]
    plan, entries = journal(before, ["out_of_memory"] * 3 + [8.0, 8.1, 7.9])
    assert judge(plan, entries, PREDICTED).verdict == "refuted"
    for number, one in entries.ended.items():
        if one.status == "out_of_memory":
            entries.ended[number] = one.model_copy(update={"outside": "the kernel"})
    found = judge(plan, entries, PREDICTED)
    assert (found.verdict, found.blocks) == ("proven", 3)
    assert "3 of 12 trials were ended from outside, and do not count" in found.notes


def test_where_others_ended_all_trials_it_says_how_to_run_them_again():
    outside = {AS_IT_WAS: None, REMEDY: "ended by SIGTERM, sent from outside"}
    found = judge(*journal(STEADY, ["failed"] * 4, outside=outside), PREDICTED, "'a run'")
    assert found.verdict == "not_testable"
    assert "0 of 4 blocks" in found.reason
    assert "pyrometer experiment resume 'a run' --retry" in found.by_hand


def test_two_blocks_are_too_few():
    stopped = judged([10.0, 10.1, None, None], [8.0, 8.1, None, None])
    assert stopped.verdict == "not_testable"
    assert "2 of 4 blocks are complete" in stopped.reason
    nothing = judged([None] * 3, [None] * 3)
    assert nothing.verdict == "not_testable"
    assert "0 of 3 blocks" in nothing.reason
    failed = judged([10.0, 10.1, 9.9], [8.0, 8.1, "failed"])
    assert failed.verdict == "not_testable"
    assert "2 of 3 blocks are complete; at least 3 are needed" in failed.reason


def test_another_result_is_not_the_same_work():
    faster = [0.8 * one for one in STEADY]
    rows = {AS_IT_WAS: 5, REMEDY: 5}
    differ = judged(STEADY, faster, rows=rows, checksum={AS_IT_WAS: "aa", REMEDY: "bb"})
    assert differ.verdict == "not_testable"
    assert "the result is another" in differ.reason
    same = judged(STEADY, faster, rows=rows, checksum={AS_IT_WAS: "aa", REMEDY: "aa"})
    assert same.verdict == "proven"
    assert "results compared: the same rows" in same.notes


WORK = {"jobs": 3, "rows_read": 1000, "bytes_read": 1 << 20, "rows_written": 10}
UNKNOWN = {"checksum": both(None)}


def test_results_that_were_not_compared_are_told_with_the_proof():
    faster = [0.8 * one for one in STEADY]
    found = judged(STEADY, faster, **UNKNOWN)
    assert found.verdict == "proven"
    assert found.reason == "results not compared: the command declares none"
    assert "the trials show nothing of their work" in found.notes
    worked = judged(STEADY, faster, work=both(WORK), **UNKNOWN)
    assert worked.verdict == "proven"
    (note,) = [one for one in worked.notes if one.startswith("work compared: ")]
    assert "jobs 3 → 3" in note
    assert "rows written 10 → 10" in note


@pytest.mark.parametrize(
    ("factor", "left", "told"),
    [
        (0.8, {"jobs": 0, "rows_read": 0, "bytes_read": 0, "rows_written": 0}, "jobs: 0 instead"),
        (0.1, {"jobs": 0}, "jobs: 0 instead of 3"),
        (0.8, {"rows_written": 9}, "rows written: 9 instead of 10"),
        (0.8, {"rows_read": 0, "bytes_read": 0}, "rows read: 0 instead of 1 000"),
        (0.5, {"rows_read": 400}, "rows read: 400 instead of 1 000"),
        (1.2, {"rows_written": 9}, "rows written: 9 instead of 10"),
    ],
)
def test_a_command_that_did_less_of_the_work_is_not_judged(factor, left, told):
    work = {AS_IT_WAS: WORK, REMEDY: {**WORK, **left}}
    after = [factor * one for one in STEADY]
    found = judged(STEADY, after, work=work, **UNKNOWN)
    assert found.verdict == "not_testable"
    assert "did other work: " in found.reason
    assert told in found.reason
    assert "docs/how-to/workloads.md" in found.by_hand
    # A result says more than rows do.
    assert "other work" not in (judged(STEADY, after, work=work).reason or "")


def predicted(root, code="gc.heap-too-small", of=COMMAND):
    one = finding().model_copy(update={"code": code})
    asked = {"run_id": "run", "noise_ratio": 0.02, "budget_s": 3600.0, "home": root}
    return prepare(one, of, **asked).prediction


@pytest.mark.parametrize(
    ("of", "checksum", "then"),
    [
        (COMMAND, both(None), "(docs/how-to/workloads.md)"),
        (COMMAND, {AS_IT_WAS: "aa", REMEDY: None}, "compare the two results by hand"),
        (WORKLOAD, both(None), "compare the two results by hand"),
    ],
)
def test_an_output_is_to_be_declared_for_a_command_without_one(tmp_path, of, checksum, then):
    work = {AS_IT_WAS: WORK, REMEDY: {**WORK, "jobs": 0}}
    found = judged(STEADY, STEADY, predicted(tmp_path, of=of), work=work, checksum=checksum)
    assert found.by_hand.endswith(then)


@pytest.mark.parametrize("rows", [9, 0])
@pytest.mark.parametrize("code", ["write.rows-copied", "driver.many-small-jobs"])
def test_fewer_rows_written_limit_the_proof_where_they_may_be_intended(tmp_path, code, rows):
    work = {AS_IT_WAS: WORK, REMEDY: {**WORK, "rows_written": rows}}
    intended = predicted(tmp_path, code)
    found = judged(STEADY, [8.0, 8.1, 7.9, 8.0], intended, work=work, **UNKNOWN)
    assert found.verdict == "proven"
    assert f"; rows written: {rows} instead of 10, which the remedy may intend" in found.reason
    work[REMEDY] |= {"jobs": 0}
    assert judged(STEADY, STEADY, intended, work=work, **UNKNOWN).verdict == "not_testable"


@pytest.mark.parametrize(
    "left", [{"rows_read": 400}, {"bytes_read": 1}, {"jobs": 1}, {"rows_written": 11}]
)
def test_to_read_less_as_predicted_is_the_remedy(left):
    work = {AS_IT_WAS: WORK, REMEDY: {**WORK, **left}}
    assert judged(STEADY, [8.0, 8.1, 7.9, 8.0], work=work, **UNKNOWN).verdict == "proven"


def test_rows_that_differ_from_run_to_run_may_differ_with_the_remedy():
    plan, entries = journal(STEADY, [8.0, 8.1, 7.9, 8.0])
    for least, verdict in ((94, "proven"), (80, "not_testable")):
        counts = {AS_IT_WAS: iter([95, 96, 97, 98]), REMEDY: iter([least] * 4)}
        for number, one in entries.ended.items():
            work = {"rows_written": next(counts[one.treatment])}
            entries.ended[number] = one.model_copy(update={"work": work})
        assert judge(plan, entries, PREDICTED).verdict == verdict


def test_a_saving_beyond_the_prediction_is_a_doubt():
    found = judged(STEADY, [0.5 * one for one in STEADY])
    assert found.verdict == "proven"
    assert found.reason == (
        "it saves more than the 25.0 % that was predicted at most: something besides the remedy"
        " may differ between the trials"
    )


def test_results_that_do_not_repeat_say_nothing_of_the_remedy():
    _, entries = journal(STEADY, STEADY, rows={AS_IT_WAS: 1, REMEDY: 1},
                         checksum={AS_IT_WAS: "aa", REMEDY: "aa"})  # fmt: skip
    ended = list(entries.ended.values())
    assert alike(ended) == Alike("same", "not known", declared=True)
    ended[0] = ended[0].model_copy(update={"checksum": "zz"})
    assert alike(ended).uncompared == "results not compared: they differ from trial to trial"


def test_a_plan_that_changed_is_noted_and_no_objection():
    faster = [0.8 * one for one in STEADY]
    found = judged(STEADY, faster, plan={AS_IT_WAS: "p", REMEDY: "q"})
    assert found.verdict == "proven"
    assert "the plan has other operators with the remedy" in found.notes
    assert (
        "the plan has the same operators"
        in judged(STEADY, faster, plan={AS_IT_WAS: "p", REMEDY: "p"}).notes
    )


def test_disturbed_trials_are_noted():
    loud = Surroundings(disturbed=["others use 90 % of the CPUs"])
    found = judged(STEADY, STEADY, during={AS_IT_WAS: loud, REMEDY: None})
    assert "4 of 8 trials were disturbed" in found.notes


def test_less_data_prove_and_do_not_refute():
    small = replace(PREDICTED, smaller="at scale 10 instead of 100")
    assert judged(STEADY, [0.8 * one for one in STEADY], small).verdict == "proven"
    for factor in (1.0, 1.3):
        found = judged(STEADY, [factor * one for one in STEADY], small)
        assert found.verdict == "not_testable"
        assert "at scale 10 instead of 100" in found.reason
