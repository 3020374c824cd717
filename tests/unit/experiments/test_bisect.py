"""``experiment bisect``: a search over levels of a file, resumed; trials are simulated."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from tests.support.experiments import CALM, HEAD

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError, UsageError, WorkloadError
from pyrometer.experiments.bisect.plan import bisection_plan
from pyrometer.experiments.bisect.report import bisection_report
from pyrometer.experiments.bisect.search import search
from pyrometer.experiments.bisect.state import state_of
from pyrometer.experiments.folder import Surroundings, read_plan, write_plan
from pyrometer.experiments.history.listing import listing
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.experiments.run.loop import begin

LEVELS = [f"v{at}" for at in range(16)]


def written(folder, levels=LEVELS, more="", factor="workload.version"):
    lines = "\n".join(f"      {one}: {{doc: A version., argv: [{one}]}}" for one in LEVELS)
    (folder / "workload.yaml").write_text(
        "name: versions\nsummary: Runs a version.\ncommand: [echo, '{version}']\nvariants:\n"
        f"  version:\n    doc: Which.\n    default: v0\n    levels:\n{lines}\n"
    )
    path = folder / "versions.yaml"
    path.write_text(HEAD + CALM + f"matrix:\n  {factor}: [{', '.join(levels)}]\n" + more)
    return path


class Versions:
    """Simulates trials: from `first` on they take longer; `broken` fail, `late` run out of time."""

    def __init__(
        self, first=11, change=0.1, broken=(), stop_after=None, seed=1, late=(), waited_s=None
    ):
        self.first, self.change, self.broken, self.late = first, change, broken, late
        self.draw = np.random.default_rng(seed)
        self.ran, self.stop_after, self.waited_s = [], stop_after, waited_s
        self.secrets = set()

    def actions(self):
        calm = Look(0.0, [0] * 10, 0, 0.0, {})
        return Actions(
            run_trial=self.run,
            wait_for_calm=lambda limits, say: Surroundings(),
            read_counters=lambda: calm,
            judge_others=lambda first, limits, swap: Surroundings(),
        )

    def run(self, trial, watch):
        if len(self.ran) == self.stop_after:
            raise KeyboardInterrupt
        level = trial.treatment["workload.version"]
        self.ran.append(level)
        self.secrets.add(trial.treatment.get("spark.my.password"))
        if level in self.broken:
            return Attempt("failed", reason="no such version")
        if level in self.late:
            return Attempt(
                "timeout", censored_s=60.0 + (self.waited_s or 0), waited_s=self.waited_s
            )
        step = math.log1p(self.change) if int(level[1:]) >= self.first else 0.0
        seconds = 10 * math.exp(step + self.draw.normal(0, 0.02))
        return Attempt("finished", seconds, facts=TrialFacts((seconds,), seconds, 1, "00", None))


def begun(tmp_path, **more):
    root = tmp_path / "out"
    begin(root, bisection_plan(written(tmp_path), root, **more))
    return root


def reported(root):
    return bisection_report(root, read_plan(root), read_journal(root))


def test_the_first_slower_version_is_found_and_said_in_plain_words(tmp_path, capsys):
    root = begun(tmp_path, over="workload.version")
    made = Versions()
    search(root, actions=made.actions())
    report = reported(root)
    assert (report.status, report.first_slower) == ("found", ["v11"])
    assert report.change.low < 0.1 < report.change.high
    assert report.probability >= 0.95
    assert len(made.ran) == report.trials_count < 40
    assert re.fullmatch(
        r"workload.version=v11 is the first slower level: [\d.]+ % slower \([\d.]+ % to [\d.]+ %\)"
        r" than levels up to v10 \(probability (> )?9[\d.]+ %, 95 % asked for; \d+ trials\)",
        report.verdict,
    )
    assert run_verb(["experiment", "show", str(root), "--json"]) == 0
    out = capsys.readouterr().out
    assert report.verdict in out
    found = json.loads(out.splitlines()[-1])
    assert found["schema"] == "pyrometer/experiment-bisect/1"
    assert [one["level"] for one in found["levels"]] == LEVELS
    counts = [len(one["values"]) for one in found["levels"]]
    assert sum(counts) == report.trials_count
    assert min(counts[10], counts[11]) >= 2
    (entry,) = listing(tmp_path, 5).entries
    assert (entry.kind, entry.state) == ("experiment", "finished")


@pytest.mark.slow
def test_it_goes_on_where_it_was_interrupted_and_chooses_the_same(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, cut = begun(tmp_path / "a", seed=5), begun(tmp_path / "b", seed=5)
    straight = Versions()
    search(whole, actions=straight.actions())
    made = Versions(stop_after=6)
    with pytest.raises(KeyboardInterrupt):
        search(cut, actions=made.actions())
    assert reported(cut).status == "undecided"
    assert reported(cut).verdict.startswith("cannot tell yet")
    made.stop_after = None
    search(cut, actions=made.actions())
    assert made.ran == straight.ran
    # Nothing is run twice, and a search that has its answer runs nothing more.
    search(cut, actions=made.actions())
    assert made.ran == straight.ran
    numbers = [one.number for one in read_plan(cut).trials]
    assert numbers == sorted(read_journal(cut).ended) == list(range(1, len(numbers) + 1))


def test_it_stops_after_the_trials_that_it_may_run_and_takes_more(tmp_path, capsys):
    root = begun(tmp_path, most_trials=4)
    made = Versions(change=0.04)
    search(root, actions=made.actions())
    assert len(made.ran) == 4
    assert run_verb(["experiment", "show", str(root)]) == 1
    assert "--trials 24" in capsys.readouterr().out
    (entry,) = listing(tmp_path, 5).entries
    assert entry.state == "finished"
    search(root, actions=made.actions(), most_trials=200)
    assert reported(root).first_slower == ["v11"]


def test_a_level_that_fails_is_left_and_cannot_be_told_apart_from_the_next(tmp_path):
    root = begun(tmp_path)
    made = Versions(broken=("v11", "v3"))
    search(root, actions=made.actions())
    report = reported(root)
    assert report.first_slower == ["v11", "v12"]
    assert made.ran.count("v11") == 2
    failed = report.levels[11]
    assert (failed.reason, failed.together) == ("no such version", ["v12"])
    assert "are not distinguished from the next" in report.verdict


def test_nothing_slower_is_an_answer_too(tmp_path):
    root = begun(tmp_path)
    search(root, actions=Versions(first=99).actions(), most_trials=300)
    report = reported(root)
    assert (report.status, report.first_slower, report.change.value) == ("none", [], None)
    assert report.verdict.startswith("no level of workload.version is slower than v0 by 2 %")


def test_of_last_levels_that_cannot_run_nothing_is_claimed(tmp_path):
    root = begun(tmp_path)
    search(root, actions=Versions(first=14, broken=("v14", "v15")).actions(), most_trials=300)
    report = reported(root)
    assert report.status == "none"
    assert report.verdict.endswith("; nothing is known of v14, v15, which cannot run")


def test_a_level_that_runs_out_of_time_is_slower_and_by_how_much_is_a_bound(tmp_path, capsys):
    root = begun(tmp_path)
    late = Versions(first=99, late=("v14", "v15"), waited_s=3000.0)
    search(root, actions=late.actions(), most_trials=300)
    report = reported(root)
    assert (report.status, report.first_slower) == ("found", ["v14"])
    assert 3 < report.change.value < 6
    assert "is the first slower level: at least " in report.verdict
    (told,) = (one.message for one in report.doubts if one.code == "trials_out_of_time")
    assert "ran out of time after 60 s and count with that time" in told
    assert told.endswith("the change is at least what is said")
    assert report.levels[14].reason is None
    assert run_verb(["experiment", "show", str(root)]) == 0
    assert "out of time: " in " ".join(capsys.readouterr().out.split())


def test_where_a_level_before_the_step_ran_out_of_time_the_change_is_no_bound(tmp_path):
    root = begun(tmp_path)
    search(root, actions=Versions(first=99, late=("v14", "v15")).actions(), most_trials=300)
    entries = read_journal(root)
    faster = next(one for one in entries.ended.values() if one.seconds is not None)
    late = {"status": "timeout", "seconds": None, "censored_s": faster.seconds}
    entries.ended[faster.trial] = faster.model_copy(update=late)
    report = bisection_report(root, read_plan(root), entries)
    assert report.first_slower == ["v14"]
    assert "at least" not in report.verdict
    (told,) = (one.message for one in report.doubts if one.code == "trials_out_of_time")
    assert told.endswith("the change may be larger or smaller")


def test_other_versions_matter_only_where_a_trial_is_to_run(tmp_path):
    root = begun(tmp_path, most_trials=4)
    made = Versions(change=0.04)
    search(root, actions=made.actions())
    plan = read_plan(root)
    plan.versions = {"Java": "1.0"}
    write_plan(root, plan)
    search(root, actions=made.actions())
    with pytest.raises(UsageError, match=r"with Java 1\.0, which is not known here now"):
        search(root, actions=made.actions(), most_trials=200)
    assert len(made.ran) == 4
    assert read_plan(root).bisection.most_trials == 4


def test_a_trial_that_is_tried_again_counts_when_it_ended_and_has_its_secrets_until_then(tmp_path):
    root = tmp_path / "out"
    more = "set: {spark.my.password: hunter2}\n"
    begin(root, bisection_plan(written(tmp_path, more=more), root))
    made = Versions(broken=("v11",))
    search(root, actions=made.actions())
    failed = [one.trial for one in read_journal(root).ended.values() if one.seconds is None]
    assert reported(root).first_slower == ["v11", "v12"]
    made.broken = ()
    search(root, actions=made.actions(), retry=True)
    assert made.secrets == {"hunter2"}
    assert reported(root).first_slower == ["v11"]
    entries = read_journal(root)
    order = list(entries.ended)
    assert order[order.index(failed[0]) :][:2] == failed
    assert order.index(failed[0]) > failed[0] - 1
    assert order == [one.trial for one in state_of(root, read_plan(root), entries).ended]
    assert "hunter2" not in (root / "experiment.json").read_text()


def test_where_the_first_level_fails_there_is_nothing_to_compare_with(tmp_path):
    root = begun(tmp_path)
    with pytest.raises(
        WorkloadError, match="version=v0 does not finish: no such version"
    ) as caught:
        search(root, actions=Versions(broken=("v0",)).actions())
    assert f"pyrometer experiment resume {root} --retry" in (caught.value.remedy or "")
    (tmp_path / "late").mkdir()
    root = begun(tmp_path / "late")
    with pytest.raises(WorkloadError, match="version=v0 does not finish: timeout"):
        search(root, actions=Versions(late=("v0",)).actions())


@pytest.mark.parametrize(
    ("more", "over", "said"),
    [
        ("  jvm.heap: [1g, 2g]\n", "workload.version", "the matrix varies jvm.heap beside"),
        ("  jvm.heap: [1g, 2g]\n", None, "goes over one factor; the matrix varies"),
        ("", "jvm.heap", "has no levels of it"),
        ("  exclude: [{workload.version: v2}]\n", None, "neither include nor exclude"),
        ("design: {kind: toggle}\n", None, "chooses each trial by those before it"),
    ],
)
def test_files_that_are_no_ordered_list_are_refused(tmp_path, more, over, said):
    with pytest.raises(UsageError, match=said):
        bisection_plan(written(tmp_path, more=more), tmp_path / "out", over=over)


@pytest.mark.parametrize("over", [None, "workload.version"])
def test_a_level_stands_in_one_place_of_the_order(tmp_path, over):
    path = written(tmp_path, ["v0", "v1", "v0"])
    with pytest.raises(UsageError, match="two levels or more, each once"):
        bisection_plan(path, tmp_path / "out", over=over)


def test_levels_that_this_host_cannot_honour_are_named_and_the_first_must_run(tmp_path):
    levels = ["1", "2", "99999"]
    plan = bisection_plan(written(tmp_path, levels, factor="host.cpus"), tmp_path / "out")
    assert list(plan.bisection.treatments) == ["1", "2"]
    assert plan.bisection.levels == levels
    with pytest.raises(CapabilityError, match=r"host\.cpus=99999: the first level"):
        bisection_plan(written(tmp_path, levels[::-1], factor="host.cpus"), tmp_path / "out")


def test_the_verb_refuses_what_it_cannot_do(tmp_path, capsys):
    root = begun(tmp_path)
    for command, said in (
        ([str(root), "--error", "1%"], "only --trials can be changed"),
        ([str(tmp_path / "versions.yaml"), "--error", "0.05"], "--error 5%"),
        ([str(tmp_path / "none.yaml")], "cannot be read"),
    ):
        assert run_verb(["experiment", "bisect", *command]) == 2
        assert said in capsys.readouterr().err
    assert run_verb(["experiment", "show", str(root), "--fail-if", "regression(wall) > 3%"]) == 2
    assert run_verb(["report", str(root)]) == 2
    assert "pyrometer experiment show" in capsys.readouterr().err
