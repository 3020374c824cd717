"""Hosts that were slow before a trial began there have a name, and no others have."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import experiments

from pyrometer.experiments.folder import Ended, HostCanary, HostSeen, Surroundings
from pyrometer.experiments.journal import Entries, read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.plots import experiment_plots
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.slow_hosts import FEWEST_CANARIES, hosts_differ, slow_hosts
from pyrometer.trial.trial import Trial

USUAL = {"alu_ns": 1e7, "latency_ns": 150.0, "copy_bytes_per_s": 6e10}


def seen(host: str, at: int, age_s: float = 5.0, **times_as_slow: float) -> HostSeen:
    """A host whose canary was so many times as slow as usual."""
    measures = {
        name: value / slow if name.endswith("_per_s") else value * slow
        for name, value in USUAL.items()
        for slow in [times_as_slow.get(name, 1.0)]
    }
    return HostSeen(host=host, canary=HostCanary(**measures, wall_ns=at, age_s=age_s))


def past(host: str, count: int = FEWEST_CANARIES) -> list[HostSeen]:
    return [seen(host, at) for at in range(count)]


@pytest.mark.parametrize(
    ("name", "words"),
    [("alu_ns", "arithmetic"), ("latency_ns", "memory latency"), ("copy_bytes_per_s", "copying")],
)
def test_a_host_slower_than_itself_is_named(name: str, words: str) -> None:
    (said,) = slow_hosts([seen("h2", 99, **{name: 1.4})], past("h2"), Guard())
    assert said.startswith("h2: its canary, 5.00 s before, was 1.4 times as slow as its median")
    assert said.endswith(f"({words})")
    for other in (1.1, 0.5):
        assert slow_hosts([seen("h2", 99, **{name: other})], past("h2"), Guard()) == []


def test_of_several_measures_the_worst_is_told() -> None:
    now = seen("h2", 99, alu_ns=1.3, latency_ns=2.0)
    (said,) = slow_hosts([now], past("h2"), Guard())
    assert "2 times as slow" in said
    assert "memory latency" in said


def test_limits_are_settings() -> None:
    now = [seen("h2", 99, alu_ns=1.4)]
    assert slow_hosts(now, past("h2"), Guard(canary=0.5)) == []
    assert slow_hosts(now, past("h2"), Guard.model_validate({"canary": "1000%"})) == []
    assert slow_hosts([seen("h2", 99, alu_ns=1.08)], past("h2"), Guard(canary=0.05))


def test_few_canaries_and_old_ones_say_nothing() -> None:
    now = seen("h2", 99, alu_ns=3.0)
    assert slow_hosts([now], past("h2", FEWEST_CANARIES - 2), Guard()) == []
    # The same canary before several trials is one.
    assert slow_hosts([now], past("h2", 1) * 9, Guard()) == []
    old = seen("h2", 99, age_s=601.0, alu_ns=3.0)
    assert slow_hosts([old], past("h2"), Guard()) == []
    assert slow_hosts([old], past("h2"), Guard(canary_age=700.0))
    none = HostSeen(host="h2", canary=HostCanary(reason="no agent"))
    assert slow_hosts([none, HostSeen(host="h3")], [*past("h2"), none], Guard()) == []


def test_a_measure_that_always_varies_is_held_to_its_own_spread() -> None:
    draw = random.Random(1)
    noisy = [seen("h2", at, copy_bytes_per_s=draw.uniform(0.8, 2.0)) for at in range(40)]
    assert slow_hosts([seen("h2", 99, copy_bytes_per_s=1.9)], noisy, Guard()) == []
    assert slow_hosts([seen("h2", 99, copy_bytes_per_s=9.0)], noisy, Guard())


def of_trials(*trials: list[HostSeen]) -> Entries:
    """An experiment whose trials saw these hosts."""
    entries = Entries()
    for number, hosts in enumerate(trials, 1):
        entries.ended[number] = Ended(
            trial=number, attempt=1, block=number, treatment="a", status="finished", folder="x",
            during=Surroundings(hosts=hosts), wall_ns=number,
        )  # fmt: skip
    return entries


def pairs(count: int, **times_as_slow: float) -> list[list[HostSeen]]:
    return [[seen("h1", at), seen("h2", at, **times_as_slow)] for at in range(count)]


def differing(entries: Entries, **guard: object) -> list[str]:
    plan = experiments.plan(["a", "b"], 4, 1)
    plan.guard = guard
    return [one.message for one in hosts_differ(plan, entries) if one.code == "hosts_differ"]


def calm(run: Callable[[Trial, object], Attempt]) -> Actions:
    """What runs trials so, on a machine of which nobody else takes anything."""
    idle = Look(0.0, [0] * 10, 0, 0.0, {})
    return Actions(
        run_trial=run,
        wait_for_calm=lambda guard, say: Surroundings(),
        read_counters=lambda: idle,
        judge_others=lambda first, guard, swap: Surroundings(),
    )


def test_a_host_that_is_always_slower_than_others_is_doubted_and_disturbs_nothing() -> None:
    """A trial that is repeated there would be as slow again."""
    for count in (1, FEWEST_CANARIES - 1, FEWEST_CANARIES, 20):
        trials = pairs(count, alu_ns=1.4, copy_bytes_per_s=9.0)
        for number, hosts in enumerate(trials):
            assert (
                slow_hosts(hosts, (one for some in trials[:number] for one in some), Guard()) == []
            )
        (said,) = differing(of_trials(*trials))
        assert said.startswith(
            "h2 was 1.4 times as slow as the other hosts of its trials (arithmetic"
        )
        assert ("too few to tell" in said) == (count < FEWEST_CANARIES)


def test_a_host_that_was_slower_than_others_once_is_doubted_only_until_more_is_known() -> None:
    once = pairs(1, latency_ns=2.0)
    (said,) = differing(of_trials(*once, [seen("h1", 8), seen("h2", 8)]))
    assert "2 times as slow" in said
    assert "at worst of 2, too few to tell" in said
    assert differing(of_trials(*once, *pairs(FEWEST_CANARIES))) == []
    # By its own canaries it is named then.
    assert slow_hosts(once[0], [one for some in pairs(6)[1:] for one in some], Guard())


def test_a_host_whose_tasks_are_always_slower_is_doubted_and_no_trial_repeated(
    tmp_path: Path,
) -> None:
    plan = experiments.plan(["a", "b"], 2, 1)
    plan.guard, plan.canaries = {"policy": "repeat", "repeats": 2}, "none"
    hosts = (HostSeen(host="h1", slower_ratio=0.6), HostSeen(host="h2", slower_ratio=1.7))

    def run(trial: Trial, watch: object) -> Attempt:
        return Attempt("finished", 1.0, facts=TrialFacts((1.0,), 1.0, 1, "0", None, hosts=hosts))

    begin(tmp_path / "e", plan)
    entries = carry_out(tmp_path / "e", actions=calm(run))
    assert entries.disturbed == []
    assert differing(entries, **plan.guard) == [
        "tasks on h2 took 1.7 times as long as elsewhere (median of 4 trials)"
    ]
    assert "trials_disturbed" not in {one.code for one in experiment_report(plan, entries).doubts}


def test_a_host_whose_tasks_were_slower_once_is_not_doubted() -> None:
    usual = [[HostSeen(host="h2", slower_ratio=1.1)]] * 2
    assert differing(of_trials([HostSeen(host="h2", slower_ratio=9.0)], *usual)) == []


def test_what_hosts_are_not_compared_by() -> None:
    slow = pairs(1, alu_ns=1.4)
    assert differing(of_trials(*slow), canary_hosts=0.5) == []
    assert differing(of_trials(*slow), canary_hosts="1000%") == []
    assert differing(of_trials(*pairs(1, copy_bytes_per_s=3.0))) == [], "it varies too much"
    assert differing(of_trials(slow[0][1:])) == [], "one host alone is no other's"
    assert differing(of_trials([seen("h1", 1), seen("h2", 1, age_s=601.0, alu_ns=2.0)])) == []
    # The same canary before several trials is one.
    (said,) = differing(of_trials(*slow * 9))
    assert "at worst of 1" in said


def test_an_experiment_names_a_slow_host_by_all_its_canaries(tmp_path: Path) -> None:
    """The first trial's canary is slow; that is known only once there are others."""
    plan = experiments.plan(["a", "b"], 4, 1)
    plan.guard, plan.canaries = {"policy": "repeat", "repeats": 2}, "none"
    slow = iter([1.5, 1.0, 1.0, 1.0, 1.0, 1.6, 1.0, 1.0, 1.0, 1.0])
    made: list[str] = []

    def run(trial: Trial, watch: object) -> Attempt:
        hosts = (seen("h2", len(made), alu_ns=next(slow)),)
        made.append(trial.run_dir.name if trial.run_dir else "")
        facts = TrialFacts((1.0,), 1.0, 1, "00", None, hosts=hosts)
        return Attempt("finished", 1.0, facts=facts)

    begin(tmp_path / "e", plan)
    carry_out(tmp_path / "e", actions=calm(run))
    entries = read_journal(tmp_path / "e")
    # The sixth was repeated at once: by then there were five.
    (again,) = entries.disturbed
    assert (again.trial, made[6]) == (6, f"{again.folder}.2")
    assert again.during is not None
    assert again.during.hosts[0].canary is not None
    assert again.during.hosts[0].canary.age_s == 5.0
    first = entries.ended[1]
    assert first.during is not None
    assert first.during.disturbed == []
    report = experiment_report(plan, entries)
    (doubted,) = [one for one in report.doubts if one.code == "trials_disturbed"]
    assert "1 of 8 trials; in trial 1 h2: its canary" in doubted.message
    points = experiment_plots(plan, entries, report).order.points
    told = {(one.number, one.attempt): one.disturbed for one in points if one.disturbed}
    assert told.keys() == {(1, 1), (6, 1)}
    assert all(len(texts) == 1 for texts in told.values())
    (shown,) = points[0].hosts
    assert (shown.host, shown.age_s, shown.reason) == ("h2", 5.0, None)
    assert shown.canaries == pytest.approx(
        {"alu_ns": 0.5, "latency_ns": 0.0, "copy_bytes_per_s": 0.0}
    )
