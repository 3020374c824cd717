"""Experiments that are run and shown: endings, doubts, reports; trials nap or are simulated."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from tests.support import experiments
from tests.support.experiments import CALM, HEAD, NAMES, Machine, ending, lines, napping, simulated

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import ExperimentPaths, Surroundings, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run import attempt, guard
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.environment import Actions, Quiet
from pyrometer.experiments.run.guard import Look, between, disturbances
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.store.manifest import Result, write_manifest
from pyrometer.trial.trial import Trial


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch):
    monkeypatch.setattr(guard, "LOOK_S", 0.02)


def test_an_experiment_naps_shows_and_is_not_run_twice(tmp_path, capsys):
    path, root = napping(tmp_path), tmp_path / "out"
    assert run_verb(["experiment", "run", str(path), "-o", str(root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["done_count"] == found["trials_count"] == 6
    short, long = (one["mean"]["value"] for one in found["treatments"])
    # Each slept as long as its own level says, and longer as the machine pleases.
    assert (short > 0.02, long > 0.04) == (True, True)
    assert found["comparison"]["design"] == "blocks"
    assert [one["k"] for one in lines(root)] == ["begin", "end"] * 6
    assert all((root / "trials" / one["folder"] / "manifest.json").is_file() for one in lines(root))
    before = ExperimentPaths(root).journal.read_bytes()
    assert run_verb(["experiment", "resume", str(root)]) == 0
    assert ExperimentPaths(root).journal.read_bytes() == before
    assert run_verb(["experiment", "run", str(path), "-o", str(root)]) == 2
    assert run_verb(["compare", str(root)]) == 0
    assert "workload.time=long" in capsys.readouterr().out
    assert run_verb(["compare", str(root), str(root)]) == 2
    # A pilot tells what the next one takes and sees.
    command = ["experiment", "plan", str(path), "--pilot", str(root), "--json"]
    assert run_verb(command) == 0
    forecast = json.loads(capsys.readouterr().out.splitlines()[-1])["forecast"]
    assert forecast["trial_s"]["n"] == 6
    assert forecast["noise_sd"]["value"] > 0
    assert forecast["total_s"] == pytest.approx(6 * forecast["trial_s"]["value"])


@pytest.mark.slow
def test_time_that_is_up_censors_and_the_treatment_is_not_compared(tmp_path, capsys):
    (tmp_path / "w").mkdir()
    text = HEAD + CALM + "matrix: {workload.time: [short, long]}\nblocks: 1\ntimeout: 3s\n"
    path = napping(tmp_path, text)
    work = tmp_path / "workload.yaml"
    work.write_text(work.read_text().replace('"0.04"', '"600"'))
    root = tmp_path / "out"
    assert run_verb(["experiment", "run", str(path), "-o", str(root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    ends = {one["name"]: one["ends"] for one in found["treatments"]}
    assert ends == {"workload.time=short": {"finished": 1}, "workload.time=long": {"timeout": 1}}
    assert found["comparison"] is None
    long = found["treatments"][1]
    assert long["censored_s"] == [3.0]
    assert not long["compared"]
    (told,) = (one["message"] for one in found["doubts"] if one["code"] == "trials_censored")
    assert "1 ran out of time after 3 s, it is not compared" in told


def test_a_trial_that_was_disturbed_is_repeated_and_kept(tmp_path):
    calm = Look(0.0, [0] * 10, 0, 0.0, {})
    seen = iter([["others use 90 % of the CPUs"], ["again"], ["still"], [], [], []])
    actions = Actions(
        run_trial=lambda trial, watch: Attempt("finished", seconds=1.0),
        wait_for_calm=lambda limits, say: Surroundings(),
        read_counters=lambda: calm,
        judge_others=lambda first, limits, swap: Surroundings(disturbed=next(seen)),
    )
    plan = experiments.plan(["a", "b"], 1, 3)
    plan.guard, plan.canaries = {"policy": "repeat", "repeats": 2}, "none"
    begin(tmp_path / "out", plan)
    entries = carry_out(tmp_path / "out", actions=actions)
    assert [one.attempt for one in entries.disturbed] == [1, 2]
    assert [one.attempt for one in entries.ended.values()] == [3, 1]
    found = experiment_report(read_plan(tmp_path / "out"), read_journal(tmp_path / "out"))
    assert (found.repeated_count, found.disturbed_count) == (2, 1)
    assert "trials_disturbed" in {one.code for one in found.doubts}


def test_a_switch_that_a_whole_plot_could_not_put_back_is_told(tmp_path):
    class Screen(Quiet):
        def note(self, text):
            told.append(text)

    told, left = [], doubt("setting_left", "/proc/sys/vm/swappiness: Permission denied.")
    actions = replace(
        Machine(1, 2).actions(), hold_switches=lambda levels: contextlib.nullcontext([left])
    )
    begin(tmp_path / "out", experiments.plan(["a", "b"], 1, 3))
    carry_out(tmp_path / "out", actions=actions, screen=Screen())
    assert told == [f"{left.message} {left.remedy}"]


def test_ends_results_and_plans_are_doubted_and_retried(tmp_path):
    from pyrometer.experiments.run.attempt import TrialFacts

    plan = experiments.plan(NAMES, 4, 1)
    plan.canaries = "none"
    by_folder = {one.folder: one for one in plan.trials}
    broken = [True]

    def how(folder, number):
        one = by_folder[folder.partition(".")[0]]
        if one.treatment == "c" and broken[0]:
            return Attempt("out_of_memory", censored_s=5.0, reason="killed")
        if one.treatment == "b" and one.block == 2 and broken[0]:
            return Attempt("timeout", censored_s=9.0, waited_s=7.0)
        facts = TrialFacts((1.0,), 1.0, 7, "aa" if one.treatment == "a" else "bb", one.treatment)
        return Attempt("finished", seconds=1.0 + number / 100, facts=facts)

    root = tmp_path / "out"
    begin(root, plan)
    carry_out(root, actions=ending(how))
    found = experiment_report(read_plan(root), read_journal(root))
    assert [one.compared for one in found.treatments] == [True, True, False]
    assert {one.n for one in (pair.change for pair in found.comparison.pairs)} == {3}
    codes = {one.code for one in found.doubts}
    wanted = {"trials_censored", "blocks_incomplete", "results_differ", "plan_changed"}
    assert wanted <= codes
    # A queue's time is not the work's.
    late = next(one.message for one in found.doubts if one.code == "trials_censored")
    assert late.endswith("1 ran out of time after 2 s and up to 7 s of waiting for executors")
    assert found.treatments[1].censored_s == [2.0]
    broken[0] = False
    carry_out(root, actions=ending(how))
    assert len(read_journal(root).ended) == 12
    carry_out(root, actions=ending(how), retry=True)
    found = experiment_report(read_plan(root), read_journal(root))
    assert all(len(one.values) == 4 for one in found.treatments)
    assert len([one for one in lines(root) if one["k"] == "end"]) == 12 + 5


@pytest.mark.parametrize(
    ("error", "cgroup", "ended", "status", "outside"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", None, 1, "out_of_memory", None),
        ("java.lang.OutOfMemoryError: Java heap space", None, 143, "out_of_memory", None),
        (None, {"oom_kills_count": 1}, "SIGKILL", "out_of_memory", None),
        ("java.lang.IllegalStateException", None, 1, "failed", None),
        (None, None, "SIGSEGV", "failed", None),
        (None, None, "SIGKILL", "failed", "ended by SIGKILL, sent from outside"),
        (None, None, 143, "failed", "ended by SIGTERM, sent from outside"),
        (
            "ExecutorLostFailure (executor 3 exited unrelated to the running tasks)", None, 1,
            "failed", "executors were lost: unrelated to the running tasks",
        ),
        (
            "ExecutorLostFailure (executor 3 exited caused by one of the running tasks)", None, 1,
            "failed", None,
        ),
    ],
)  # fmt: skip
def test_a_trial_that_ran_out_of_memory_or_was_ended_is_told_from_one_that_failed(
    tmp_path, error, cgroup, ended, status, outside
):
    manifest = new_manifest(Trial(name="parquet-scan"), this_host(), [], [])
    manifest.state, manifest.cgroup = "failed", cgroup
    by_signal = isinstance(ended, str)
    manifest.exit.signal, manifest.exit.code = (ended, None) if by_signal else (None, ended)
    manifest.results = [Result(iteration=1, status="failed", error=error)] if error else []
    manifest.started_mono_ns, manifest.ended_mono_ns = 10**9, 3 * 10**9
    (tmp_path / "raw").mkdir()
    write_manifest(tmp_path, manifest)
    made = attempt.read(tmp_path)
    assert made.status == status
    assert made.censored_s == (2.0 if status == "out_of_memory" else None)
    assert made.outside == outside
    assert made.reason
    # The kernel killed something on this machine meanwhile: whose fault that was, nobody knows.
    killed = attempt.read(tmp_path, True)
    assert killed.status == "out_of_memory"
    assert (killed.outside is None) is (status == "out_of_memory")


@pytest.mark.parametrize(("kills", "status"), [(1, "out_of_memory"), (0, "failed")])
def test_a_trial_in_a_machine_ran_out_of_that_machine_s_memory(tmp_path, kills, status):
    manifest = new_manifest(Trial(name="parquet-scan"), this_host(), [], [])
    manifest.state, manifest.exit.code = "failed", 1
    manifest.started_mono_ns, manifest.ended_mono_ns = 10**9, 3 * 10**9
    manifest.machine = {"asked": {"machine.memory": 1 << 30}, "oom_kills_count": kills}
    write_manifest(tmp_path, manifest)
    # What this host's kernel killed meanwhile was none of the machine's processes.
    for killed_here in (False, True):
        made = attempt.read(tmp_path, killed_here)
        assert made.status == status
        assert made.censored_s == (2.0 if kills else None)
        assert made.outside is None


@pytest.mark.slow
def test_of_many_pairs_those_with_a_verdict_are_listed(tmp_path, capsys):
    names = [f"jvm.heap={size}m, data.codec=snappy" for size in range(200, 1000, 100)]
    plan = experiments.plan(names, 12, 5)
    plan.baseline = None
    slower = {one.number: 2.0 if one.treatment == names[0] else 1.0 for one in plan.trials}
    begin(tmp_path / "out", plan)
    carry_out(tmp_path / "out", actions=Machine(5, 96, lambda at: slower[at + 1]).actions())
    assert run_verb(["experiment", "show", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "of 28 pairs are listed" in shown
    assert "cannot tell" not in shown[shown.index("from  to") :]
    rows = [line.split() for line in shown.splitlines() if line.split()[-1:] == ["faster"]]
    pairs = {tuple(map(int, row[:2])) for row in rows}
    assert pairs >= {(1, other) for other in range(2, 9)}
    assert run_verb(["experiment", "show", str(tmp_path / "out"), "--control", names[1]]) == 0
    by_name = capsys.readouterr().out
    assert "pairs are listed" not in by_name
    assert run_verb(["experiment", "show", str(tmp_path / "out"), "--control", "2"]) == 0
    assert capsys.readouterr().out == by_name
    assert run_verb(["experiment", "show", str(tmp_path / "out"), "--control", "9"]) == 2
    assert "its name or its number" in capsys.readouterr().err


def test_a_matrix_is_told_factor_by_factor(tmp_path, capsys):
    plan = experiments.plan(["a", "b", "c", "d"], 6, 5)
    levels = [("1g", "x"), ("1g", "y"), ("2g", "x"), ("2g", "y")]
    for one, (heap, codec) in zip(plan.treatments, levels, strict=True):
        one.varied = {"heap": heap, "codec": codec}
    slower = {one.number: 1.5 if one.treatment in "bd" else 1.0 for one in plan.trials}
    begin(tmp_path / "out", plan)
    carry_out(tmp_path / "out", actions=Machine(5, 24, lambda at: slower[at + 1]).actions())
    assert run_verb(["experiment", "show", str(tmp_path / "out"), "--json"]) == 0
    told = capsys.readouterr()
    heap, codec, both = json.loads(told.out.splitlines()[-1])["factors"]["effects"]
    assert codec["adjusted_p"] < 0.001
    assert codec["levels"][0]["change"]["low"] < 0.5 < codec["levels"][0]["change"]["high"]
    assert heap["adjusted_p"] > 0.05
    assert both["factors"] == ["heap", "codec"]
    assert "depending" in told.err


def test_machines_read_csv_and_junit_and_the_exit_code(tmp_path, capsys):
    root = tmp_path / "out"
    simulated(root, blocks=8, effect={"b": 1.5, "c": 0.5})
    out, table = tmp_path / "j.xml", tmp_path / "t.csv"
    rule = ["--fail-if", "regression(wall) > 3%"]
    command = ["experiment", "show", str(root), *rule, "--junit", str(out), "--csv", str(table)]
    assert run_verb([*command, "--json"]) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["fail_if"] == {"rule": rule[1], "failed": ["b"], "cannot_tell": []}
    suite = ElementTree.parse(out).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert suite.find("testcase[@name='b']/failure") is not None
    assert suite.find("testcase[@name='c']/system-out") is not None
    assert len(table.read_text().splitlines()) == 1 + 24
    compare = ["compare", "--csv", str(table), "--value", "seconds", "--block", "block"]
    assert run_verb([*compare, "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    of = {(one["a"], one["b"]): one["change"]["value"] for one in again["pairs"]}
    mine = {(one["a"], one["b"]): one["change"]["value"] for one in found["comparison"]["pairs"]}
    ratio = mine["a", "b"]
    assert of.get(("a", "b"), 1 / (1 + of.get(("b", "a"), 0)) - 1) == pytest.approx(ratio)
    assert run_verb(["experiment", "show", str(root), "--fail-if", "regression(heap) > 3%"]) == 2
    assert run_verb(["compare", str(table), str(table)]) == 2
    assert "--csv" in capsys.readouterr().err


def test_canaries_explain_noise_of_the_machine_and_both_results_stand(tmp_path, capsys):
    root = tmp_path / "out"
    # Noise that one block does not share: neighbours are hardly alike.
    simulated(root, blocks=15, effect={"b": 1.1}, correlation=0.0, drift=0.0, outliers=0.0)
    found = experiment_report(read_plan(root), read_journal(root))
    assert found.canaries.covariates == ["alu_ns"]
    assert found.canaries.variance_ratio < 0.5
    assert found.canaries.slopes["alu_ns"].low > 0.5
    pair, plain = found.canaries.pairs[0], found.comparison.pairs[0]
    assert (pair.a, pair.b) == (plain.a, plain.b) == ("a", "b")
    assert pair.change.low < 0.1 < pair.change.high
    width = pair.change.high - pair.change.low
    assert width < 0.8 * (plain.change.high - plain.change.low)
    assert run_verb(["experiment", "show", str(root)]) == 0
    shown = capsys.readouterr().out
    assert "% of the variance within blocks" in shown
    assert "without: +" in shown


def test_the_guard_waits_no_longer_than_it_may_and_says_so_once(monkeypatch):
    ticks = iter(range(10**6))

    def busy():
        at = next(ticks)
        return Look(at * 0.01, [at * 10] + [0] * 9, 0, 0.0, {})

    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(guard, "look", busy)
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    said = []
    found = guard.before_trial(Guard(policy="wait", wait=0.3), said.append)
    assert 0.3 <= now[0] <= 0.35
    assert found.disturbed
    assert len(said) == 1
    assert guard.before_trial(Guard(policy="flag"), said.append).disturbed
    assert len(said) == 1


def test_the_guard_tells_what_is_too_much():
    before = Look(0.0, [0] * 10, 0, 0.0, {5: (0, "make")})
    after = Look(1.0, [120, 0, 0, 60, 0, 0, 0, 20, 0, 0], 5000, 0.2, {5: (90, "make")})
    found = between(before, after, load=3.0, free=0.01)
    assert found.busy_ratio == pytest.approx(0.5)
    assert disturbances(found, Guard(load=2.0), during=False) == [
        "others use 50 % of the CPUs: make (5) 0.90 CPU",
        "the hypervisor took 10 % of the CPU time",
        "1.0 % of the memory is available",
        "the load average is 3.00 a CPU",
    ]
    assert disturbances(found, Guard(), during=True)[-1] == "5000 pages were swapped"
    assert not disturbances(found.model_copy(update={"swapped_pages_count": 9}), Guard(
        busy=1.0, steal=1.0), during=True)  # fmt: skip


def test_an_order_that_chance_made_look_fixed_is_no_doubt(tmp_path):
    """Two treatments in two blocks have the same order in both every second time."""
    alike = 0
    for seed in range(6):
        plan, entries = simulated(tmp_path / str(seed), seed, blocks=2, names=("a", "b"))
        orders = [one.treatment for one in plan.trials]
        alike += orders[:2] == orders[2:]
        made = experiment_report(plan, entries)
        assert made.comparison
        assert "order_fixed" not in {one.code for one in made.doubts}
    assert alike


def test_a_level_that_did_not_hold_is_an_error_of_the_report_with_what_held(tmp_path):
    why = "jvm.gc=z, but the driver's collectors are G1."

    def how(name, count):
        facts = attempt.TrialFacts((1.0,), 1.0, 1, "00", "p")
        if count % 2:
            code = "treatment_not_applied"
            facts = replace(facts, doubted=(code,), unapplied=(why,))
        return Attempt("finished", seconds=1.0 + count / 100, facts=facts)

    plan = experiments.plan(NAMES[:2], 2, 1)
    plan.canaries = "none"
    begin(tmp_path / "e", plan)
    carry_out(tmp_path / "e", actions=ending(how))
    found = experiment_report(plan, read_journal(tmp_path / "e"))
    (told,) = [one for one in found.doubts if one.code == "treatment_not_applied"]
    assert told.severity == "error"
    assert told.message.startswith("2 of 4 trials did not have a level that was asked for")
    assert told.message.endswith(why.rstrip("."))
