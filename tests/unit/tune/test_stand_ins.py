"""Stand-ins of a tuning: which a workload allows, what they cost, how the journal holds them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.tuning import (
    COLLECTOR,
    PARTITIONS,
    SPACE,
    Drawn,
    Simulated,
    seconds_of,
    tuning,
)

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.experiments.journal import read_journal
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.carry import search
from pyrometer.tune.engine import adviser_of
from pyrometer.tune.judge.influence import influences
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.terminal import stand_in_words
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.stand_ins import stand_ins
from pyrometer.tune.trials.folder import Fidelity, SavedSpace, TuningPaths, begin, read_tuning
from pyrometer.tune.trials.records import KINDS, Asked, Told
from pyrometer.tune.trials.replay import History, Step, history_of
from pyrometer.workloads import registry

SCALE = Fidelity(name="scale", scale="100", iterations=1, summary="scale 100 instead of 1000")
QUERIES = Fidelity(
    name="queries", scale="test", iterations=1, chosen=True, levels={"workload.query": "all"},
    summary="queries that vary",
)  # fmt: skip


class Cheap(Drawn):
    """Draws, in turns at every stand-in that it was offered and in full."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._offers = ["full"]

    def offer(self, fidelity: str, share: float) -> None:
        self._offers.append(fidelity)

    def hint(self, ideas: Any, expected: Any = ()) -> None:
        """Take nothing."""

    def ask(self) -> Suggestion | None:
        found = super().ask()
        at = len(self.seen) % len(self._offers)
        return found and replace(found, fidelity=self._offers[at])


def _own(one: Any) -> Any:
    return engine("own", SPACE, seed=one.seed, budget=17)


def _seconds(levels: Mapping[str, str]) -> float:
    """A tenth at the small scale, and the time of the queries that were chosen."""
    if "workload.query" in levels:
        times = _parts(levels)
        return sum(times[name] for name in levels["workload.query"].split("+"))
    return seconds_of(levels) * (0.1 if levels.get("scale") == "100" else 1.0)


def _parts(levels: Mapping[str, str]) -> Mapping[str, float]:
    whole = seconds_of({k: v for k, v in levels.items() if k != "workload.query"})
    return {"q1": 0.2 * (whole - 5), "q2": 0.8 * (whole - 5), "q3": 5.0}


def _begun(root: Path, *fidelities: Fidelity, budget: str = "25") -> Path:
    begin(root, tuning(budget, workload="tpch", fidelities=list(fidelities)))
    return root


def test_a_stand_in_is_measured_first_and_then_used_and_told_of(tmp_path: Path) -> None:
    root, machine = _begun(tmp_path / "t", SCALE), Simulated(seconds=_seconds)
    history = search(root, _own, actions=machine.actions())
    assert [one.asked.early for one in history.steps[:3]] == [True, True, False]
    assert [one.asked.fidelity for one in history.steps[:2]] == ["full", "scale"]
    offer = history.offers["scale"]
    # Launches take 2 s: a tenth of the work is a quarter of a run.
    assert offer.fidelity.cost_ratio == pytest.approx((2 + 1.0) / (2 + 10.0), rel=0.05)
    cheap = [one for one in history.steps if one.asked.fidelity == "scale"]
    assert len(cheap) > 4
    assert all(machine.levels[one.ended.folder]["scale"] == "100" for one in cheap if one.ended)
    # A trial takes of the budget what it took of a run.
    told = [one.told.runs for one in cheap if one.told and not one.told.refused]
    assert all(0.1 < (one or 0) < 0.4 for one in told)
    full = sum(one.asked.fidelity == "full" and one.ended is not None for one in history.steps)
    assert history.spent(read_tuning(root)) == pytest.approx(full + sum(one or 0 for one in told))
    report = tuning_report(root, causes=False, measure=machine.actions().measure)
    (one,) = report.stand_ins
    assert (one.correlation.n or 0) >= 5
    assert (one.correlation.value or 0) > 0.8
    assert one.trials == len(cheap)
    words = stand_in_words(one)
    assert words.startswith("scale: scale 100 instead of 1000; 2")
    assert f"of {one.correlation.n} configurations" in words
    # Their times are none of the job's.
    assert all(trial.change is None for trial in report.trials if trial.fidelity == "scale")


def test_queries_are_chosen_once_enough_trials_have_shown_them(tmp_path: Path) -> None:
    root = _begun(tmp_path / "t", QUERIES)
    machine = Simulated(seconds=_seconds, parts=_parts)
    history = search(root, _own, actions=machine.actions())
    offer = history.offers["queries"]
    assert offer.left_out is None
    # The short one that varies as all do; not the one that never changes.
    assert offer.fidelity.levels == {"workload.query": "q1"}
    assert offer.fidelity.summary == "q1 instead of all 3 queries"
    cheap = [one for one in history.steps if one.asked.fidelity == "queries" and one.ended]
    assert cheap
    first = history.steps.index(cheap[0])
    assert len({str(one.asked.configuration) for one in history.steps[:first]}) >= 4
    assert all(machine.levels[one.ended.folder]["workload.query"] == "q1" for one in cheap)  # type: ignore[union-attr]


def test_a_stand_in_that_is_not_cheap_fails_or_has_no_room_is_left_out(tmp_path: Path) -> None:
    dear = Simulated(seconds=seconds_of)
    history = search(_begun(tmp_path / "dear", SCALE), _own, actions=dear.actions())
    assert history.offers["scale"].left_out == "it takes 100 % of a full run; up to 40.0 % pays"
    assert sum(one.asked.fidelity == "scale" for one in history.steps) == 1
    small = _begun(tmp_path / "small", SCALE, QUERIES, budget="12")
    history = search(small, _own, actions=Simulated(seconds=_seconds).actions())
    assert "room for 6 runs" in (history.offers["scale"].left_out or "")
    assert {one.asked.fidelity for one in history.steps} == {"full"}
    silent = _begun(tmp_path / "silent", QUERIES)
    history = search(silent, _own, actions=Simulated(seconds=_seconds).actions())
    assert history.offers["queries"].left_out == "times of its queries are not known"


@pytest.mark.slow
def test_kills_between_any_two_records_lose_no_offer(tmp_path: Path) -> None:
    whole = _begun(tmp_path / "whole", SCALE, QUERIES)
    machine = Simulated(seconds=_seconds, parts=_parts)
    wanted = search(whole, lambda one: Cheap(one.seed), actions=machine.actions())
    assert {one.asked.fidelity for one in wanted.steps} == {"full", "scale", "queries"}
    text = TuningPaths(whole).journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(text) if byte == ord("\n")]
    for cut in {*random.Random(1).sample(ends, 10), *ends[:12]}:
        part = tmp_path / f"cut-{cut}"
        _begun(part, SCALE, QUERIES)
        TuningPaths(part).journal.write_bytes(text[:cut])
        again = Simulated(seconds=_seconds, parts=lambda levels: _parts({}) | _parts(levels))
        again.levels = dict(machine.levels)
        found = search(part, lambda one: Cheap(one.seed), actions=again.actions())
        assert [(one.asked.configuration, one.asked.fidelity) for one in found.steps] == [
            (one.asked.configuration, one.asked.fidelity) for one in wanted.steps
        ]
        assert list(found.offers) == list(wanted.offers)
        offers = [
            one for one in read_journal(part, KINDS).others if one.__class__.__name__ == "Offered"
        ]
        assert len(offers) == 2
    assert history_of(read_journal(whole, KINDS)).offers.keys() == {"scale", "queries"}


def test_an_engine_that_has_no_use_for_stand_ins_gets_none(tmp_path: Path) -> None:
    root = _begun(tmp_path / "t", SCALE)
    machine = Simulated(seconds=_seconds)
    history = search(
        root, lambda one: engine("random", SPACE, seed=one.seed), actions=machine.actions()
    )
    assert history.offers == {}
    assert {one.asked.fidelity for one in history.steps} == {"full"}


def test_what_a_screening_dropped_is_told_with_its_effect(tmp_path: Path, capsys: Any) -> None:
    nothing = [f"spark.of.nothing.{at}" for at in range(4)]
    idle = [Knob(name, "choice", levels=("a", "b"), default="a") for name in nothing]
    space = SavedSpace.of(Space("mine", (*SPACE.knobs[:2], *idle)))
    begin(tmp_path / "t", tuning("25", workload="tpch", fidelities=[SCALE], space=space))
    machine = Simulated(seconds=_seconds)
    search(tmp_path / "t", adviser_of, actions=machine.actions())
    report = tuning_report(tmp_path / "t", causes=False, measure=machine.actions().measure)
    found = {one.factor: one for one in report.screened}
    assert found.keys() == {PARTITIONS, COLLECTOR, *nothing}
    dropped = {name for name, one in found.items() if one.dropped}
    assert dropped
    assert dropped <= set(nothing)
    effect = found[COLLECTOR].effect
    assert (effect.low or 0) < -0.1 < (effect.high or 0)
    assert run_verb(["tune", "show", str(tmp_path / "t")]) == 0
    told = capsys.readouterr().out
    assert f"Dropped by screening (effect of a level at a stand-in; {6 - len(dropped)} of" in told
    assert all(f"  {name}=b: " in told for name in dropped)


@pytest.mark.parametrize("misleads", [True, False])
def test_what_a_dropped_stand_in_showed_says_nothing_of_what_matters(misleads: bool) -> None:
    def steps(fidelity: str, first: int) -> list[Step]:
        found = []
        for at in range(10):
            levels = {PARTITIONS: str(40 * at), COLLECTOR: ("g1", "parallel")[at % 2]} if at else {}
            value = seconds_of(levels)
            if fidelity != "full":
                value = 20 - value if misleads else value / 10
            asked = Asked(
                trial=first + at, configuration=levels, fidelity=fidelity, block=0, wall_ns=0
            )
            told = Told(trial=first + at, value=value * 1e9, cost=1e9, wall_ns=0)
            found.append(Step(asked, told=told))
        return found

    plan, full, cheap = tuning(fidelities=[SCALE]), steps("full", 1), steps("scale", 11)
    alone = influences(plan, History(full))
    both = influences(plan, History([*full, *cheap]))
    assert alone.factors
    assert (both.factors == alone.factors) is misleads


def test_what_a_workload_allows() -> None:
    tpch = registry.get("tpch")
    found = stand_ins(tpch, "sf1", 3, {})
    assert [one.name for one in found] == ["scale", "iterations", "queries"]
    assert found[0].scale == "100"
    assert (found[1].iterations, found[1].warmup) == (1, 0)
    assert found[2].levels == {"workload.query": "all"}
    # One query is no suite; the least scale has none below; one iteration is one.
    assert stand_ins(tpch, "test", 1, {"workload.query": "q05"}) == []
    assert stand_ins(tpch, "sf1", 3, {}, ["none"]) == []
    assert [one.name for one in stand_ins(tpch, "sf1", 3, {}, ["queries"])] == ["queries"]
    with pytest.raises(UsageError, match="a trial has one iteration"):
        stand_ins(tpch, "sf1", 1, {}, ["iterations"])
    with pytest.raises(UsageError, match="no such stand-in") as error:
        stand_ins(tpch, "sf1", 3, {}, ["scales"])
    assert error.value.remedy == "did you mean 'scale'?"


def test_a_smaller_scale_is_one_that_the_workload_takes_at_these_levels() -> None:
    svm, many = registry.get("svm"), {"workload.features": "100"}
    (small,) = stand_ins(svm, "200000", 3, many, ["scale"])
    assert (small.scale, svm.least_size(many)) == ("25000", 25_000)
    (small,) = stand_ins(svm, "200000", 3, {}, ["scale"])
    assert small.scale == "20000"
    with pytest.raises(UsageError, match="no more than 2 times the least"):
        stand_ins(svm, "40000", 3, many, ["scale"])


def test_several_queries_of_a_suite_run_in_the_order_of_their_numbers() -> None:
    tpch = registry.get("tpch")
    spec = registry.resolve("tpch", {"query": "q09+5+q05"}, "test")
    assert tpch.query_names(spec) == ["q05", "q09"]  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="has no level 'q05\\+all'"):
        registry.resolve("tpch", {"query": "q05+all"}, "test")


def test_a_stand_in_that_takes_too_long_is_given_up_by_its_own_baseline(tmp_path: Path) -> None:
    def slow(levels: Mapping[str, str]) -> float:
        return 60 * _seconds(levels) if levels.keys() - {"scale"} else 40 * _seconds(levels)

    root, machine = _begun(tmp_path / "t", SCALE), Simulated(seconds=slow)
    history = search(root, lambda one: Cheap(one.seed), actions=machine.actions())
    cheap = [one for one in history.steps if one.asked.fidelity == "scale" and one.ended]
    baseline = cheap[0].ended
    assert baseline is not None
    assert baseline.seconds is not None
    limits = [one.asked.limit_s for one in cheap if one.asked.configuration]
    assert limits
    # Twice the best at the stand-in, not at the job; nothing is given up before 30 s.
    assert all(30 <= (one or 0) <= 2.1 * baseline.seconds for one in limits)
