"""Scheduled runs of recurring jobs: made good at once, and a journal that every kill survives."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.experiments import NAP
from tests.support.tuning import COLLECTOR, PARTITIONS, Simulated, seconds_of, tuning

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.trial.trial import Trial
from pyrometer.tune.carry import search
from pyrometer.tune.online.report import online_report, show
from pyrometer.tune.online.run import policy_of, step
from pyrometer.tune.online.terms import Terms
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.folder import OnlineTerms, Prior, SavedSpace, TuningPaths, begin
from pyrometer.tune.trials.records import KINDS, Asked, Decided, Dropped, Told
from pyrometer.tune.trials.replay import History, Step

TERMS = Terms(risk=0.1, runs=30, limit=1.5)


def _begun(root: Path, **keys: Any) -> Path:
    terms = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)
    begin(root, tuning("30", online=terms, canaries="none", **keys))
    return root


def _steps(root: Path, machine: Simulated, count: int) -> list[Any]:
    return [step(root, actions=machine.actions()) for _ in range(count)]


def test_each_scheduled_run_is_in_the_journal_with_what_was_decided(tmp_path: Path) -> None:
    root, machine = _begun(tmp_path / "t"), Simulated()
    found = _steps(root, machine, 60)
    assert all(one.done for one in found)
    report = online_report(root)
    assert report.done_count == 60
    assert report.incumbent
    assert seconds_of(report.incumbent) < 0.9 * seconds_of({})
    assert report.change is not None
    assert (report.change.high or 0) < 0
    kept = [one for one in read_journal(root, KINDS).others if getattr(one, "k", "") == "decide"]
    assert [one.what for one in report.decisions] == [one.what for one in kept]  # type: ignore[attr-defined]
    assert report.lost_runs < 0
    assert f"{-report.lost_runs:.2f} runs' worth of time saved" in report.told


def test_what_the_jobs_spark_does_not_have_is_not_varied_from_its_second_run_on(
    tmp_path: Path,
) -> None:
    newer = Knob("spark.sql.files.minPartitionNum", "int", 1, 400, log=True, default="2")
    collector = Knob(COLLECTOR, "choice", levels=("g1", "parallel"), default="g1")
    space = SavedSpace.of(Space("own", (newer, collector), ()))
    root, machine = _begun(tmp_path / "t", space=space), Simulated()
    opened: list[Path] = []

    def old(run: Path) -> str:
        opened.append(run)
        return "3.0.3"

    actions = replace(machine.actions(), spark=old)
    step(root, actions=actions)
    assert not opened
    found = [step(root, actions=actions) for _ in range(30)]
    assert not any(newer.factor in one.move.configuration for one in found)
    assert any("jvm.gc" in one.move.configuration for one in found)
    assert {one.name[:4] for one in opened} == {"0001"}
    report = online_report(root)
    why = "new in Spark 3.1, and the job runs on 3.0.3"
    assert report.not_varied == {newer.factor: why}
    kept = [one.k for one in read_journal(root, KINDS).others if isinstance(one, Dropped)]
    assert len(kept) == 1
    console = Console(width=200)
    with console.capture() as said:
        show(console, report)
    assert f"not varied: {newer.factor}: {why}" in said.get()


def test_a_step_that_comes_to_nothing_is_made_good_at_once(tmp_path: Path) -> None:
    def behaviour(levels: Mapping[str, str], count: int) -> Attempt | None:
        if not levels:
            return None
        if "jvm.gc" in levels:
            facts = TrialFacts((1.0,), 1.0, 9, "bb", None)
            return Attempt("finished", seconds=1.0, facts=facts)
        return Attempt("failed", reason="exit code 9")

    root = _begun(tmp_path / "t")
    found = _steps(root, Simulated(behaviour), 30)
    assert all(one.done for one in found)
    tried = [one for one in found if one.move.configuration]
    assert tried
    assert all(len(one.told) == 2 for one in tried)
    reasons = " ".join(one.told[0].failed or "" for one in tried)
    assert "exit code 9" in reasons
    report = online_report(root)
    assert report.incumbent == {}
    assert report.lost_runs <= report.allowed_runs
    assert {one.what for one in report.decisions} == {"barred"}


def test_other_data_bar_no_step_and_a_step_that_changes_results_is_barred_again(
    tmp_path: Path,
) -> None:
    data = ["aa"]
    wrong = [False]

    def finished(levels: Mapping[str, str], count: int) -> Attempt:
        checksum = "zz" if levels and wrong[0] else data[0]
        facts = TrialFacts((1.0,), 1.0, 9, checksum, None)
        return Attempt("finished", seconds=1.0, facts=facts)

    root, machine = _begun(tmp_path / "t"), Simulated(finished)
    _steps(root, machine, 5)
    (whole,) = _steps(root, machine, 1)
    assert len(whole.told) == 1
    data[0] = "bb"
    (night,) = _steps(root, machine, 1)
    assert night.move.configuration
    assert "another result" in (night.told[0].failed or "")
    assert (night.done, len(night.told)) == (True, 2)
    assert [one.what for one in night.decisions] == ["barred", "not counted"]
    assert "the data have changed" in night.decisions[1].why
    # Until the job as it is has shown twice that it repeats itself, nothing is compared.
    assert [one.code for one in online_report(root).doubts] == ["results_differ"]
    (next_,) = _steps(root, machine, 1)
    assert next_.move.configuration == night.move.configuration
    assert len(next_.told) == 1
    while online_report(root).doubts:
        assert all(one.done and len(one.told) == 1 for one in _steps(root, machine, 1))
    wrong[0] = True
    (bad,) = _steps(root, machine, 1)
    assert [one.what for one in bad.decisions] == ["barred"]


def test_a_run_that_something_outside_ended_is_no_fault_of_its_step(tmp_path: Path) -> None:
    how: list[Attempt | None] = [None]

    def killed(levels: Mapping[str, str], count: int) -> Attempt | None:
        return how[0] if levels else None

    root, machine = _begun(tmp_path / "t"), Simulated(killed)
    _steps(root, machine, 5)
    how[0] = Attempt("failed", reason="it ended", outside="ended by SIGTERM, sent from outside")
    (first,) = _steps(root, machine, 1)
    assert first.done
    assert [one.what for one in first.decisions] == ["not counted"]
    assert "SIGTERM, sent from outside" in first.decisions[0].why
    (again,) = _steps(root, machine, 1)
    assert again.move.configuration == first.move.configuration
    assert [one.what for one in again.decisions] == ["barred"]
    # Memory that the job itself did not have is its own fault, at once.
    how[0] = Attempt("out_of_memory", censored_s=1.0, reason="java.lang.OutOfMemoryError")
    (own,) = _steps(root, machine, 1)
    assert own.move.configuration not in ({}, again.move.configuration)
    assert [one.what for one in own.decisions] == ["barred"]
    assert [one.what for one in online_report(root).decisions] == [
        "not counted",
        "barred",
        "barred",
    ]


@pytest.mark.parametrize("whole", [16e9, 1e9])
def test_memory_that_others_have_for_a_night_is_no_fault_of_a_step(
    tmp_path: Path, whole: float
) -> None:
    heap = Knob("jvm.heap", "size", 2 * 2**30, 4 * 2**30, default="2g")
    root = _begun(tmp_path / "t", space=SavedSpace.of(Space("heap", (heap,))))
    _steps(root, Simulated(), 5)
    (refused,) = _steps(root, Simulated(memory=(1e9, whole)), 1)
    assert "not launched: it may take" in (refused.told[0].failed or "")
    assert refused.done
    momentary = whole > 4e9
    assert [one.what for one in refused.decisions] == ["not counted" if momentary else "barred"]
    (after,) = _steps(root, Simulated(memory=(16e9, 16e9)), 1)
    assert (after.move.configuration == refused.move.configuration) is momentary


@pytest.mark.parametrize("stops", [1, 2])
def test_ctrl_c_and_a_host_that_went_down_are_no_fault_of_a_step_unless_they_repeat(
    tmp_path: Path, stops: int
) -> None:
    killed: list[int] = []

    def stopped(levels: Mapping[str, str], count: int) -> Attempt | None:
        if not levels or len(killed) == stops:
            return None
        killed.append(count)
        return Attempt("interrupted")

    root, machine = _begun(tmp_path / "t"), Simulated(stopped)
    _steps(root, machine, 5)
    for _ in range(stops):
        with pytest.raises(KeyboardInterrupt):
            _steps(root, machine, 1)
        # Nobody was left to run the job as it is that night: it is done the next one.
        (control,) = _steps(root, machine, 1)
        assert control.move.configuration == {}
        assert "why the run before failed" in control.move.why
    (after,) = _steps(root, machine, 1)
    decided = online_report(root).decisions
    assert [one.what for one in decided][:stops] == ["not counted", "barred"][:stops]
    assert "killed before its end" in decided[0].why
    assert (after.move.configuration == decided[0].configuration) is (stops == 1)


@pytest.mark.slow
def test_a_replay_takes_as_long_again_for_as_many_runs_again() -> None:
    """Calls are counted, since times are not the same twice."""
    plan = tuning("30", online=OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8))
    good = {PARTITIONS: "60"}

    def calls(count: int) -> int:
        history = History()
        for at in range(count):
            levels = {} if at < 5 or at % 8 == 0 else good
            asked = Asked(
                trial=at + 1, configuration=levels, fidelity="full", block=0, wall_ns=at
            )  # fmt: skip
            value = (0.8 if levels else 1.0) * (1 + 0.01 * (at % 3))
            told = Told(trial=at + 1, value=value, cost=1.0, length_s=2.0, wall_ns=at)
            history.steps.append(Step(asked, told=told))
        seen = [0]

        def profile(frame: Any, event: str, argument: Any) -> None:
            seen[0] += event == "call"

        sys.setprofile(profile)
        try:
            policy, _ = policy_of(plan, TERMS, history)
        finally:
            sys.setprofile(None)
        assert policy.done == count
        return seen[0]

    # Beyond the runs that are looked at.
    assert calls(900) < 3.3 * calls(300)


@pytest.mark.parametrize("checksum", ["aa", "bb"])
def test_a_level_that_does_not_hold_is_tried_once_and_the_job_is_not_run_again_for_it(
    tmp_path: Path, checksum: str
) -> None:
    def behaviour(levels: Mapping[str, str], count: int) -> Attempt | None:
        if COLLECTOR not in levels:
            return None
        said = (f"{COLLECTOR}={levels[COLLECTOR]}, but the driver's collectors are G1.",)
        facts = TrialFacts((10.0,), 10.0, 10, checksum, None, unapplied=said)
        return Attempt("finished", seconds=10.0, facts=facts)

    knob = Knob(COLLECTOR, "choice", levels=("g1", "parallel", "serial"), default="g1")
    root = _begun(tmp_path / "t", space=SavedSpace.of(Space("mine", (knob,))))
    found = _steps(root, Simulated(behaviour), 10)
    assert all(one.done for one in found)
    tried, *more = [one for one in found if one.move.configuration]
    same = checksum == "aa"
    assert len(tried.told) == (1 if same else 2)
    assert (tried.told[0].failed or "").startswith("not applied" if same else "another result")
    # Where its result is another one, that is what is known of it, and of its level alone.
    assert len(more) == (0 if same else 1)
    assert (online_report(root).lost_runs < 0.5) is same


def test_a_second_run_that_a_level_once_cost_still_counts() -> None:
    """Journals from before have the job run again in the night in which a level did not hold."""
    plan = tuning("30", online=OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8))

    def lost(why: str) -> float:
        history = History()
        for at in range(7):
            levels = {COLLECTOR: "parallel"} if at == 5 else {}
            told = Told(trial=at + 1, value=1e9, cost=1.0, length_s=2.0, wall_ns=at)
            if levels:
                told.value, told.failed, told.unapplied = None, "not applied", [COLLECTOR]
            asked = Asked(
                trial=at + 1, configuration=levels, fidelity="full", block=0, wall_ns=at,
                why=f"control: {why if at == 6 else 'due'}",
            )  # fmt: skip
            history.steps.append(Step(asked, told=told))
        return policy_of(plan, TERMS, history)[0].excess

    again = lost("again as it is: the run before did not do the job")
    assert again - lost("due") == pytest.approx(1.0, abs=0.1)


def test_rows_that_were_written_are_compared_to_the_last_one(tmp_path: Path) -> None:
    def behaviour(levels: Mapping[str, str], count: int) -> Attempt:
        written = 99_999_990 if levels else 100_000_000
        facts = TrialFacts((1.0,), 1.0, None, None, None, work={"rows_written": written})
        return Attempt("finished", seconds=1.0, facts=facts)

    root = _begun(tmp_path / "t")
    bad = _steps(root, Simulated(behaviour), 6)[-1]
    told = "another result: it wrote 99 999 990 rows; the baseline writes 100 000 000"
    assert " ".join((bad.told[0].failed or "").split()) == told
    assert [one.what for one in bad.decisions] == ["barred"]


def test_a_job_that_itself_fails_is_not_done(tmp_path: Path) -> None:
    root = _begun(tmp_path / "t")
    broken = Simulated(lambda levels, count: Attempt("failed", reason="no input"))
    (found,) = _steps(root, broken, 1)
    assert not found.done
    assert len(found.told) == 1
    assert online_report(root).done_count == 0


def test_levels_of_a_finding_that_the_space_lacks_are_left_out_of_its_first_step(
    tmp_path: Path,
) -> None:
    prior = Prior(source="a finding", levels={PARTITIONS: "64", "spark.of.theirs": "1"})
    root = _begun(tmp_path / "t", priors=[prior])
    assert _steps(root, Simulated(), 6)[-1].move.configuration == {PARTITIONS: "64"}


def test_whether_results_of_steps_are_compared_is_said(tmp_path: Path) -> None:
    """Data of a recurring job change, and with them its result: then nothing is known."""

    def doubts(name: str, checksum: Callable[[int], str | None], **keys: Any) -> list[str]:
        def finished(levels: Mapping[str, str], count: int) -> Attempt:
            facts = TrialFacts((1.0,), 1.0, 9, checksum(count), None)
            return Attempt("finished", seconds=1.0, facts=facts)

        root = _begun(tmp_path / name, **keys)
        _steps(root, Simulated(finished), 2)
        return [one.code for one in online_report(root).doubts]

    assert doubts("same", lambda count: "aa") == []
    assert doubts("growing", lambda count: f"{count:02x}") == ["results_differ"]
    assert doubts("unknown", lambda count: None) == ["results_unchecked"]
    assert doubts("checked", lambda count: None, check="true") == []


def test_a_command_runs_where_it_was_prepared_and_as_long_as_it_takes(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Schedulers start in a folder of their own, and a nightly job may take hours."""
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(there)
    terms = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)
    wanted = Wanted(workload=None, command=("true",), space="jvm", online=terms, guard="flag")
    made = started(wanted, Path("t"))
    begin(Path("t"), made.tuning, made.command_file)
    monkeypatch.chdir(elsewhere)
    seen: list[tuple[Path, float | None]] = []

    def run(trial: Trial, watch: Any) -> Attempt:
        seen.append((Path.cwd(), trial.timeout_s))
        return Attempt("finished", seconds=1.0, facts=TrialFacts((1.0,), 1.0, None, None, None))

    actions = Simulated().actions()
    actions = replace(actions, trials=replace(actions.trials, run_trial=run))
    assert step(Path("../there/t"), actions=actions).done
    assert (seen[0][0], Path.cwd()) == (there, elsewhere)
    assert (seen[0][1] or 0) > 30 * 86400
    there.rename(tmp_path / "gone")
    with pytest.raises(UsageError, match="no longer a folder"):
        step(tmp_path / "gone/t", actions=actions)


def test_a_run_on_another_machine_is_the_job_as_it_is_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = {"cpu_model": "A", "cpus_count": 4}
    here = [home]
    monkeypatch.setattr("pyrometer.tune.online.run.this_machine", lambda: here[0])
    root, machine = _begun(tmp_path / "t", machine=home), Simulated()
    _steps(root, machine, 6)
    before = online_report(root)
    here[0] = {"cpu_model": "B", "cpus_count": 8}
    (other,) = _steps(root, Simulated(seconds=lambda levels: 90.0), 1)
    assert (other.move.configuration, other.done) == ({}, True)
    assert "another machine (B, 8 CPUs)" in other.move.why
    after = online_report(root)
    assert after.runs[-1].elsewhere == "B, 8 CPUs"
    assert (after.done_count, after.next) == (before.done_count, before.next)
    assert after.runs[-1].as_it_is == before.runs[-1].as_it_is
    here[0] = home
    (back,) = _steps(root, machine, 1)
    assert back.move.configuration == (before.trying or back.move.configuration) != {}
    # A cluster does the work: it does not matter who submits it.
    submit = ["spark-submit", "--master", "yarn", "nightly.py"]
    cluster = _begun(tmp_path / "c", machine=home, command=submit)
    here[0] = {"cpu_model": "B", "cpus_count": 8}
    _steps(cluster, Simulated(), 1)
    assert online_report(cluster).runs[0].elsewhere is None


def test_a_kill_in_any_record_loses_no_run_and_counts_none_twice(tmp_path: Path) -> None:
    whole, machine = _begun(tmp_path / "whole"), Simulated()
    _steps(whole, machine, 12)
    text = TuningPaths(whole).journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(text) if byte == ord("\n")]
    undecided = [end for end in ends if text[end:].startswith(b'{"k":"decide"')]
    assert undecided
    for cut in [*ends[18::4], *undecided, *(end - 5 for end in ends[20::7])]:
        part = _begun(tmp_path / f"cut-{cut}")
        TuningPaths(part).journal.write_bytes(text[:cut])
        before = online_report(part)
        (found,) = _steps(part, Simulated(), 1)
        after = online_report(part)
        assert found.done
        # One more is done; one that was killed is named, or was adopted as it had ended.
        assert after.done_count - before.done_count in (1, 2)
        kept = [one for one in read_journal(part, KINDS).others if isinstance(one, Decided)]
        assert [one.trial for one in kept] == [one.trial for one in after.decisions]
        numbers = [one.trial for one in after.runs]
        assert numbers == list(range(1, len(numbers) + 1))


def test_where_the_disk_is_full_the_same_step_is_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _begun(tmp_path / "t")

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyrometer.experiments.journal.os.write", full)
    with pytest.raises(CapabilityError, match="No space left") as caught:
        step(root, actions=Simulated().actions())
    assert caught.value.remedy == f"make room, then: pyrometer tune step {root}"


def test_what_belongs_together_is_said(tmp_path: Path) -> None:
    root = _begun(tmp_path / "t")
    with pytest.raises(UsageError, match="recurring job"):
        search(root, lambda one: None)  # type: ignore[arg-type, return-value]
    begin(tmp_path / "other", tuning())
    with pytest.raises(UsageError, match="searches at once"):
        step(tmp_path / "other")


def test_from_the_command_line(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text("{name: mine, knobs: {workload.time: [short, long]}}\n")
    Path("workload.yaml").write_text(NAP)
    words = ["tune", "online", "./workload.yaml", "--space", "space.yaml", "--profile", "off"]
    assert run_verb([*words, "--risk", "1%", "-o", "t"]) == 2
    assert "no room for one step" in " ".join(capsys.readouterr().err.split())
    assert run_verb([*words, "-o", "t"]) == 0
    assert "pyrometer tune step t" in " ".join(capsys.readouterr().err.split())
    assert not Path("t/trials").exists()
    assert run_verb(["tune", "step", "t", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["schema"] == "pyrometer/tuning-online/1"
    assert (found["done_count"], found["incumbent"]) == (1, {})
    assert found["next"].startswith("first: baseline")
    assert run_verb(["tune", "show", "t"]) == 0
    told = capsys.readouterr().out
    assert "from run 30 on, all runs together take at most 10.0 % longer" in told
    assert "results_unchecked" in told
    assert run_verb(["tune", "apply", "t"]) == 2
    assert "nothing to apply" in capsys.readouterr().err
    assert run_verb(["report", "t"]) == 0
    assert Path("t/report.html").is_file()
    assert run_verb(["tune", "resume", "t"]) == 2
    assert "pyrometer tune step t" in capsys.readouterr().err
