"""An experiment on a finding handed to the runner: resumed, stopped by its budget, judged, kept.

Trials are simulated, or are a command that naps.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support import cli
from tests.support.explain.tried_findings import COMMAND, WORKLOAD, finding, ran, setting
from tests.support.simulation.simulated import Log
from tests.support.tables import MS

from pyrometer.accounts.window import open_scope
from pyrometer.cli.shared.finding import Finder
from pyrometer.cli.shared.verifying import chosen
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Canaries, Surroundings, is_experiment, read_plan
from pyrometer.experiments.run import guard
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.explain.findings import explain
from pyrometer.explain.schema import Record
from pyrometer.explain.words import LEAST_BIAS
from pyrometer.report.findings import findings_data
from pyrometer.store import Run
from pyrometer.store.manifest import Phase, Workload, write_manifest
from pyrometer.summary.summary import summarise
from pyrometer.trial.trial import Trial
from pyrometer.verification.plan import AS_IT_WAS
from pyrometer.verification.record import read
from pyrometer.verification.run import (
    Verification,
    carry,
    outcome_of,
    prepare,
    ran_of,
    verdict_of,
)
from pyrometer.verification.verdict import Outcome


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch):
    monkeypatch.setattr(guard, "LOOK_S", 0.02)


def simulated(times, work=None):
    """Actions whose trials take what `times` says of their treatment; and what was launched.

    With `work`, which says what trials show of their work, they have no result.
    """
    calm = Look(0.0, [0] * 10, 0, 0.0, {})
    launched: list[Trial] = []

    def make(trial, watch):
        launched.append(trial)
        seconds = times(dict(trial.treatment)) * (1 + 0.001 * len(launched))
        facts = TrialFacts((seconds,), seconds, 1, "00", "p")
        if work is not None:
            facts = replace(facts, checksum=None, work=work(dict(trial.treatment)))
        return Attempt("finished", seconds, facts=facts)

    return launched, Actions(
        run_trial=make,
        measure_canaries=Canaries,
        wait_for_calm=lambda limits, say: Surroundings(),
        read_counters=lambda: calm,
        judge_others=lambda first, limits, swap: Surroundings(),
    )


def prepared(tmp_path, one=None, of=WORKLOAD, budget_s=3600.0, changed=()):
    return prepare(
        one or finding(), of, run_id="run", noise_ratio=0.02, budget_s=budget_s, changed=changed,
        home=tmp_path / "runs",
    )  # fmt: skip


MADE = {"workload.remedy": "made"}


def faster(treatment):
    return 8.0 if "spark.sql.shuffle.partitions" in treatment else 10.0


def test_an_experiment_is_run_judged_and_not_run_twice(tmp_path):
    test = prepared(tmp_path)
    assert isinstance(test, Verification)
    assert not test.root.exists()
    launched, actions = simulated(faster)
    assert carry(test, actions=actions)
    assert len(launched) == 2 * test.plan.blocks
    assert {one.name for one in launched} == {"parquet-scan"}
    found = outcome_of(test)
    assert found.verdict == "proven"
    assert found.measured_ratio.value == pytest.approx(0.2, abs=0.01)
    kept = verdict_of(test, found, "run", "parquet-scan")
    assert (kept.verdict, kept.of_run, kept.blocks) == ("proven", True, 3)
    again = prepared(tmp_path)
    assert again.done_count == len(launched)
    assert carry(again, actions=actions)
    assert len(launched) == 2 * test.plan.blocks
    assert verdict_of(again, outcome_of(again), "run", "parquet-scan").id == kept.id


def test_a_rule_that_saved_nothing_so_far_is_judged_by_what_its_trials_are_to_find(tmp_path):
    one = finding(2.0 * LEAST_BIAS)
    one.record = Record(tried_count=10, jobs_count=10, error_ratio=0.1, bias_ratio=LEAST_BIAS)
    test = prepared(tmp_path, one)
    less = {"spark.sql.shuffle.partitions": "8"}.items()
    _, actions = simulated(
        faster, lambda levels: {"rows_read": 40 if less <= levels.items() else 100}
    )
    assert carry(test, actions=actions)
    found = outcome_of(test)
    assert (found.verdict, "more than" in found.reason) == ("proven", False)
    kept = verdict_of(test, found, "run", "parquet-scan")
    assert kept.predicted_ns.value == pytest.approx(0.1e9)
    assert kept.saved_ratio == pytest.approx(1.0, abs=0.05)


def test_no_trial_begins_after_the_budget_and_the_next_time_goes_on(tmp_path, monkeypatch):
    test = prepared(tmp_path)
    now = [0.0]
    monkeypatch.setattr("pyrometer.verification.run.time.monotonic", lambda: now[0])

    def slow(treatment):
        now[0] += test.proposal.budget_s / 3.5
        return faster(treatment)

    launched, actions = simulated(slow)
    assert not carry(test, actions=actions)
    assert len(launched) == 4
    found = outcome_of(test)
    assert found.verdict == "not_testable"
    assert "goes on where it stopped" in found.by_hand
    assert carry(prepared(tmp_path), actions=actions)
    assert len(launched) == 6
    assert outcome_of(test).verdict == "proven"


def test_a_larger_budget_goes_on_with_what_was_begun(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("pyrometer.verification.run.time.monotonic", lambda: now[0])

    def slow(treatment):
        now[0] += 100.0
        return faster(treatment)

    launched, actions = simulated(slow)
    assert not carry(prepared(tmp_path, budget_s=240.0), actions=actions)
    assert len(launched) == 3
    more = prepared(tmp_path, budget_s=3600.0)
    assert more.done_count == 3
    assert carry(more, actions=actions)
    assert len(launched) == 6
    assert outcome_of(more).verdict == "proven"


def test_what_was_tried_on_less_data_is_not_run_again_whatever_time_is_left(tmp_path):
    test = prepared(tmp_path, budget_s=150.0)
    assert test.proposal.smaller
    launched, actions = simulated(faster)
    assert carry(test, actions=actions)
    for budget_s in (30.0, 160.0, 3600.0):
        again = prepared(tmp_path, budget_s=budget_s)
        assert again.root == test.root
        assert again.proposal.budget_s == budget_s
        assert again.proposal.smaller.startswith(f"at scale {test.plan.scale} instead of 1000")
        assert carry(again, actions=actions)
    assert len(launched) == 6


def test_all_data_are_tried_once_less_left_it_open_and_the_budget_suffices(tmp_path):
    less = prepared(tmp_path, budget_s=150.0)
    _, actions = simulated(lambda levels: 10.0)
    assert carry(less, actions=actions)
    assert outcome_of(less).verdict == "not_testable"
    assert prepared(tmp_path, budget_s=160.0).root == less.root
    whole = prepared(tmp_path)
    assert whole.root != less.root
    assert (whole.done_count, whole.proposal.smaller) == (0, None)


def test_another_place_application_and_guard_are_other_questions(tmp_path):
    one = finding()
    elsewhere = one.model_copy(update={"place": one.place.model_copy(update={"stage_id": 7})})
    second = one.model_copy(update={"place": one.place.model_copy(update={"app": 1})})
    alike = one.model_copy(update={"place": one.place.model_copy(update={"source": "app.py:7"})})
    assert alike.place.words == one.place.words
    asked = {"run_id": "run", "noise_ratio": 0.02, "budget_s": 3600.0, "home": tmp_path / "runs"}
    tests = [
        prepare(one, WORKLOAD, **asked),
        prepare(elsewhere, WORKLOAD, **asked),
        prepare(second, WORKLOAD, **asked),
        prepare(alike, WORKLOAD, **asked),
        prepare(one, WORKLOAD, **asked, policy="flag"),
    ]
    assert len({test.root for test in tests}) == 5
    assert verdict_of(tests[2], Outcome("proven"), "run", "parquet-scan").app == 1


def test_another_question_has_another_folder(tmp_path):
    test, other = prepared(tmp_path), prepared(tmp_path, finding(3.0, setting("spark.x", "1")))
    assert test.root != other.root
    assert prepared(tmp_path).root == test.root


@pytest.mark.parametrize(
    ("one", "of"),
    [
        (finding(2.0, setting("numa.nodes", "77")), WORKLOAD),
        (finding(2.0, setting("no.such", "1")), WORKLOAD),
        (finding(2.0, setting("data.codec", "none")), COMMAND),
        (finding(), ran(workload="no-such-workload", size=None)),
    ],
)
def test_a_refused_plan_starts_nothing_and_leaves_nothing(tmp_path, one, of):
    found = prepared(tmp_path, one, of)
    assert isinstance(found, Outcome)
    assert found.verdict == "not_testable"
    assert found.reason
    assert ".yaml" not in found.reason
    assert "pyrometer run" in found.by_hand
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_files_of_a_command_are_its_owners_alone(tmp_path):
    test = prepared(tmp_path, of=COMMAND, changed=("python", "b.py"))
    assert isinstance(test, Verification)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert not [path for path in files if path.stat().st_mode & 0o077]


def log_of(folder, command=("sleep", "0.6"), name=None, **fields):
    """A run of a second, half of which is collections."""
    log = Log(1000, **{"spark.master": "local[1]", "spark.driver.memory": "1g"})
    log.rows["apps"][0]["master"] = "local[1]"
    log.executor("1", 1)
    log.job(0, 0, 1000, [0])
    log.stage(0, 0, 1000, [])
    for at in range(20):
        log.task(
            0, 50 * at, 50, has_metrics=True, jvm_gc_time_ns=45 * MS, executor_run_time_ns=50 * MS
        )
    # A heap whose peak fills it: without a log of the collector its size counts.
    log.rows["executors"][0]["peak_metrics"] = json.dumps({"JVMHeapMemory": 1000 << 20})
    log.write(folder)
    trial = Trial(name=name, command=() if name else command, profile="light")
    manifest = new_manifest(trial, this_host(), [], [])
    manifest.started_mono_ns, manifest.ended_mono_ns = 0, 1000 * MS
    manifest.phases = [Phase(name="run", start_mono_ns=0, end_mono_ns=1500 * MS)]
    manifest.state = "finished"
    for field, value in fields.items():
        setattr(manifest, field, value)
    write_manifest(folder, manifest)
    return folder


def read_ran(folder):
    with Run.open(folder) as run:
        return ran_of(run, explain(run))


def test_what_ran_is_read_from_the_manifest(tmp_path):
    (tmp_path / "a").mkdir()
    found = read_ran(log_of(tmp_path / "a"))
    assert (found.workload, found.command) == (None, ("sleep", "0.6"))
    assert (found.once, found.whole_ns, found.length_s) == (True, 1000 * MS, 1.5)
    treatment = {"jvm.heap": 512 << 20, "cgroup.memory": 1 << 30}
    origin = {"jvm.heap": "user", "cgroup.memory": "workload"}
    (tmp_path / "b").mkdir()
    found = read_ran(
        log_of(tmp_path / "b", name="parquet-scan", treatment=treatment, treatment_origin=origin)
    )
    assert found.levels == {"jvm.heap": str(512 << 20)}
    assert not found.once
    # It has no measured iteration, so no trial can be compared with it.
    assert found.whole_ns == 0


@pytest.mark.parametrize(("features", "least"), [("20", 20_000), ("100", 25_000)])
def test_less_data_is_as_much_as_the_workload_takes_at_its_levels(tmp_path, features, least):
    ran_so = Workload(name="svm", scale="100000", variant={"workload.features": features})
    found = read_ran(log_of(tmp_path, name="svm", workload=ran_so))
    assert (found.size, found.least_size) == (100_000, least)


@pytest.mark.parametrize("fields", [{"profile": "attach"}, {"profile": "probe"}])
def test_what_was_only_observed_cannot_be_launched_again(tmp_path, fields):
    found = read_ran(log_of(tmp_path, **fields))
    assert (found.workload, found.command) == (None, ())


def test_the_command_line_tries_a_changed_command_and_keeps_the_verdict(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    log_of(tmp_path / "run")
    launched, actions = simulated(lambda levels: 0.2 if levels == MADE else 0.6)
    monkeypatch.setattr("pyrometer.verification.run.Actions", lambda: actions)

    words = ("explain", "run", "--verdicts", "team", "--json")
    plain = cli.inside(capsys, *words)
    assert plain.code == 0, plain.stderr
    (found,) = plain.json["findings"]
    assert found["code"] == "gc.heap-too-small"
    assert found["proof"] is None
    done = cli.inside(
        capsys, *words, "gc.heap-too-small", "--verify", "--with", "--", "sleep", "0.2"
    )
    assert done.code == 0, done.stderr
    (found,) = done.json["findings"]
    proof = found["proof"]
    assert proof["verdict"] == "proven", done.stderr
    assert proof["measured"]["value"] > 0
    plan = read_plan(tmp_path / proof["experiment"])
    assert is_experiment(tmp_path / proof["experiment"])
    assert plan.baseline == AS_IT_WAS
    assert len(launched) == 6
    assert "gc.heap-too-small: proven" in done.stderr
    assert "measured" in done.stderr
    # From now on the verdict stands with the finding, whoever reads the folder.
    (found,) = cli.inside(capsys, *words).json["findings"]
    assert found["proof"]["measured"] == proof["measured"]
    assert found["record"]["proven_count"] == 1
    shown = cli.inside(capsys, "explain", "run", "--verdicts", "team")
    assert "tried: proven" in shown.stdout
    assert len(read(tmp_path / "team").verdicts) == 1
    monkeypatch.setenv("PYROMETER_VERDICTS", str(tmp_path / "team"))
    assert f"{found['title']} (proven)" in cli.inside(capsys, "show", "run").stdout
    for find in (Finder().of_report(tmp_path / "run"), Finder().find):
        with Run.open(tmp_path / "run") as opened:
            scope = open_scope(opened, None)
            (card,) = findings_data(scope, summarise(scope), find)["findings"]
        assert card["tried"].startswith("proven: ")


def test_what_a_trial_refuted_is_no_advice_and_fails_no_build(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    log_of(tmp_path / "run")
    _, actions = simulated(lambda levels: 0.9 if levels == MADE else 0.6)
    monkeypatch.setattr("pyrometer.verification.run.Actions", lambda: actions)
    words = ("explain", "run", "--verdicts", "team", "--fail-if", "saving > 0% or joint > 0%")
    before = cli.inside(capsys, *words, "--json")
    assert (before.code, before.json["fail_if"]["failed"]) == (1, True)

    tried = ("gc.heap-too-small", "--verify", "--with", "--", "sleep", "0.9")
    done = cli.inside(capsys, *words, "--json", *tried)
    assert (done.code, done.json["fail_if"]["failed"]) == (0, False), done.stderr
    (found,) = done.json["findings"]
    assert (found["shown"], found["proof"]["verdict"]) == (True, "refuted")
    assert done.json["joint_saving"] is None

    for _ in range(2):  # computed, and as it is kept
        after = cli.inside(capsys, *words)
        assert after.code == 0
        assert after.stdout.startswith("Nothing else worth more than")
        assert "1 tried without a gain (gc.heap-too-small, " in after.stdout
        assert "Tried, without a gain" in after.stdout
        assert not [one for one in found["remedies"] if one["text"] in after.stdout]
        assert " predicted: refuted: −" in after.stdout
    log = json.loads(cli.inside(capsys, *words, "-f", "sarif").stdout)
    result = log["runs"][0]["results"][0]
    assert (result["level"], result["properties"]["verdict"]) == ("note", "refuted")
    assert "Tried: refuted" in result["message"]["text"]
    assert "Remedy" not in result["message"]["text"]
    page = cli.inside(capsys, *words, "-f", "md").stdout
    assert "## Tried, without a gain" in page
    assert "**Remedy:**" not in page
    # By default what was refuted is not tried again.
    again = cli.inside(capsys, *words, "--verify")
    assert "Nothing above the noise to try" in again.stdout


@pytest.mark.parametrize(
    ("jobs", "verdict", "told", "code"),
    [
        (0, "not_testable", "the changed command did other work: jobs: 0 instead of 4", 1),
        (4, "proven", "results not compared: the command declares none", 0),
    ],
)
def test_a_changed_command_that_does_not_do_the_work_is_not_proven(
    tmp_path, capsys, monkeypatch, jobs, verdict, told, code
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    log_of(tmp_path / "run")
    _, actions = simulated(
        lambda levels: 0.2 if levels == MADE else 0.6,
        lambda levels: {"jobs": jobs if levels == MADE else 4},
    )
    monkeypatch.setattr("pyrometer.verification.run.Actions", lambda: actions)
    words = ("explain", "run", "--verdicts", "team", "--json")
    done = cli.inside(
        capsys, *words, "gc.heap-too-small", "--verify", "--with", "--", "sleep", "0.2"
    )
    assert done.code == code
    proof = done.json["findings"][0]["proof"]
    assert (proof["verdict"], proof["reason"].startswith(told)) == (verdict, True)
    head = {"proven": "proven, results not compared", "not_testable": "cannot tell"}[verdict]
    assert f"gc.heap-too-small: {head} " in done.stderr
    assert " ".join(done.stderr.split()).count(told) == 1
    monkeypatch.setenv("PYROMETER_VERDICTS", "team")
    assert f"({head})" in " ".join(cli.inside(capsys, "show", "run").stdout.split())
    assert f"tried: {head.partition(',')[0]}" in cli.inside(capsys, "explain", "run").stdout
    record = cli.inside(capsys, *words).json["findings"][0]["record"]
    assert record["tried_count"] == (verdict == "proven")


def test_the_command_line_says_what_cannot_be_tried(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    log_of(tmp_path / "run", command=("java", "Main"))
    words = ("explain", "run", "--verdicts", "team")
    done = cli.inside(capsys, *words, "--verify")
    assert done.code == 1
    assert "cannot be tried here" in done.stdout
    assert "-Xmx2g" in done.stdout
    assert not (tmp_path / "pyrometer-runs").exists()
    assert not (tmp_path / "team").exists()
    for more, why in (
        (("gc.heap-too-small",), "without --verify"),
        (("--with", "--", "sleep", "1"), "without --verify"),
        (("--verify", "--with"), "needs the changed command"),
        (("--verify", "gc.other"), "no finding 'gc.other'"),
        (("--verify", "--window", "application"), "whole iterations"),
    ):
        refused = cli.inside(capsys, *words, *more)
        assert refused.code == 2, refused.stderr
        assert why in refused.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("heap.oversized", "is a note: no time is predicted"),
        ("gc.humongous", "is explained by gc.heap-too-small"),
    ],
)
def test_what_has_no_saving_of_its_own_is_not_tried(asked, why):
    finding = SimpleNamespace(
        key="gc.heap-too-small", code="gc.heap-too-small",
        symptoms=[SimpleNamespace(code="gc.humongous")],
    )  # fmt: skip
    found = SimpleNamespace(findings=[finding], notes=[SimpleNamespace(code="heap.oversized")])
    with pytest.raises(UsageError, match=why):
        chosen(found, [asked])


@pytest.mark.parametrize("words", [("explain", "run"), ("rules",)])
def test_a_damaged_record_is_told_and_does_no_harm(tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "team").mkdir()
    log_of(tmp_path / "run")
    (tmp_path / "team" / "x.ndjson").write_text(json.dumps({"schema": "pyrometer/verdict/9"}))
    done = cli.inside(capsys, *words, "--verdicts", "team")
    assert done.code == 0
    assert "a newer Pyrometer wrote it" in done.stderr
