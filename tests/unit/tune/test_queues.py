"""Commands on a cluster that are stopped at their limit: a longer queue is nobody's fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.tuning import Drawn, Simulated, tuning

from pyrometer.collect.launch.observe import Watch
from pyrometer.experiments.folder import Ended
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.trial.trial import Trial
from pyrometer.tune.carry import search
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.online.run import step
from pyrometer.tune.trials.folder import OnlineTerms, begin


def _finished(waited_s: float) -> Attempt:
    facts = TrialFacts((), 40.0, None, None, None, waited_s=waited_s)
    return Attempt("finished", seconds=40.0, facts=facts)


@pytest.mark.parametrize("waited_s", [None, 500.0, 50.0])
def test_what_a_longer_queue_stopped_is_run_again_once(
    tmp_path: Path, waited_s: float | None
) -> None:
    def command(levels: Mapping[str, str], count: int) -> Attempt:
        if count == 1:
            return Attempt("timeout", censored_s=180.0, waited_s=waited_s)
        return _finished(waited_s=100.0)

    begin(tmp_path / "t", tuning())
    actions = Simulated(command).actions()
    found = search(tmp_path / "t", lambda one: Drawn(one.seed, stop_after=2), actions=actions)
    _, second = found.steps
    assert second.asked.timeout_s == 100.0 + 80.0
    assert second.told is not None
    fault = waited_s == 50.0
    assert (len(second.attempts), second.told.censored) == (1 if fault else 2, fault)


@pytest.mark.parametrize("waited_s", [None, 300.0, 200.0])
def test_the_second_time_it_may_wait_as_long_as_it_did_and_more_bars_nothing(
    tmp_path: Path, waited_s: float | None
) -> None:
    allowed: list[float | None] = []

    def command(levels: Mapping[str, str], count: int) -> Attempt:
        waits = {1: 150.0, 2: waited_s}
        if count in waits:
            return Attempt("timeout", censored_s=allowed[-1], waited_s=waits[count])
        return _finished(waited_s=100.0)

    begin(tmp_path / "t", tuning())
    actions = Simulated(command).actions()
    run = actions.trials.run_trial

    def timed(trial: Trial, watch: Watch) -> Attempt:
        allowed.append(trial.timeout_s)
        return run(trial, watch)

    actions = replace(actions, trials=replace(actions.trials, run_trial=timed))
    found = search(tmp_path / "t", lambda one: Drawn(one.seed, stop_after=2), actions=actions)
    _, second = found.steps
    assert allowed[1:] == [100.0 + 80.0, 100.0 + 150.0 + 80.0]
    assert second.told is not None
    fault = waited_s == 200.0
    assert second.told.censored is fault
    assert second.told.observation(second.asked).void is not fault
    report = tuning_report(tmp_path / "t", causes=False, measure=actions.measure)
    assert report.discarded == []


def test_a_limit_for_several_iterations_allows_for_no_longer_queue(tmp_path: Path) -> None:
    def workload(levels: Mapping[str, str], count: int) -> Attempt:
        if count == 1:
            return Attempt("timeout", censored_s=100.0 + 4 * 80.0, waited_s=200.0)
        series = (40.0,) * 4
        facts = TrialFacts(series, 40.0, None, None, None, series, waited_s=100.0)
        return Attempt("finished", seconds=40.0, facts=facts)

    begin(tmp_path / "t", tuning())
    actions = Simulated(workload).actions()
    found = search(tmp_path / "t", lambda one: Drawn(one.seed, stop_after=2), actions=actions)
    _, second = found.steps
    assert second.asked.timeout_s == 100.0 + 4 * 80.0
    assert len(second.attempts) == 2


@pytest.mark.parametrize("waited_s", [None, 90.0, 10.0])
def test_a_longer_queue_of_a_night_is_no_fault_of_its_step(
    tmp_path: Path, waited_s: float | None
) -> None:
    busy = [False]

    def command(levels: Mapping[str, str], count: int) -> Attempt:
        if levels and busy[0]:
            return Attempt("timeout", censored_s=90.0, waited_s=waited_s)
        return _finished(waited_s=30.0)

    def length(run_dir: Path, ended: Ended) -> float:
        return 500.0 if ended.status == "timeout" else 72.0

    terms = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)
    begin(tmp_path / "t", tuning("30", online=terms, canaries="none"))
    actions = replace(Simulated(command).actions(), length=length)
    for _ in range(5):
        step(tmp_path / "t", actions=actions)
    busy[0] = True
    night = step(tmp_path / "t", actions=actions)
    fault = waited_s == 10.0
    assert night.done
    assert [one.what for one in night.decisions] == ["barred" if fault else "not counted"]
    busy[0] = False
    # No more than its limit is at stake, however long it waited: there is room to try it again.
    after = step(tmp_path / "t", actions=actions)
    assert (after.move.configuration == night.move.configuration) is not fault
