"""One cause in several places: judged alone where it counts, and together where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from tests.support.explain.explained import Job
from tests.support.explain.judged import found, rule, two_stages
from tests.support.explain.summarised import summarised

from pyrometer.explain.catalogue.parallelism.partitioning_one_task import RULE as ONE_TASK
from pyrometer.explain.catalogue.parallelism.skew_time import RULE as SKEW
from pyrometer.explain.change import Less, State
from pyrometer.explain.evidence.places import MOST_PLACES, most
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Proof, Record, Remedy
from pyrometer.explain.what_if import WhatIf
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Where the run is written, by the first test that asks about it."""
    return tmp_path / "run"


def uneven(stages: int = 30, longest_ms: int = 3_000) -> Job:
    """Give stages of eight tasks in a row, the last of which takes three times as long."""
    job = Job()
    for number in range(stages):
        job.stage([1_000] * 7 + [longest_ms], gap_ms=200, name=f"count at app.py:{number}")
    return job


def test_a_cause_in_thirty_stages_is_one_finding_of_all(tmp_path: Path) -> None:
    (one,) = uneven().found(tmp_path, SKEW)
    assert (one.place.places_count, one.place.stages_count) == (30, 30)
    assert one.place.words == "30 places: stage 0, stage 1, stage 2, and 27 others"
    assert one.mechanism.startswith("The same in 30 places. The largest, stage 0: The costliest of")
    # Each stage takes 4 s, and would take 2.5 s.
    low, high = one.saving.elapsed_ns.low, one.saving.elapsed_ns.high
    assert low is not None
    assert high is not None
    assert low <= 30 * 1.25e9 <= high <= 30 * 4.2e9
    # The longest tasks of several stages have no sum.
    assert [each.what for each in one.evidence] == ["most CPU of a task"] * 5
    with Run.open(tmp_path) as run:
        for each in one.evidence:
            assert each.query is not None
            assert run.tables.scalar(each.query) == each.estimate.value == 3e9


def test_a_cause_in_twenty_five_queries_is_one_finding_of_all(tmp_path: Path) -> None:
    job = Job()
    for _ in range(25):
        sql = job.query(job.now_ms, job.now_ms + 2_010)
        job.stage([500] * 8, gap_ms=10, sql=sql)
        job.stage([1_000], sql=sql)
    (one,) = job.found(tmp_path, ONE_TASK)
    assert one.place.places_count == 25
    # Of a second each, three quarters at most, and half of that at least.
    low, high = one.saving.elapsed_ns.low, one.saving.elapsed_ns.high
    assert low is not None
    assert high is not None
    assert low <= 25 * 0.5e9 <= high <= 25 * 1e9


def test_a_place_that_counts_alone_is_not_in_the_sum_of_the_others(tmp_path: Path) -> None:
    job = uneven(10)
    job.stage([1_000] * 7 + [40_000], gap_ms=200, name="count at app.py:99")
    first, others = job.found(tmp_path, SKEW)
    assert (first.key, first.place.words) == ("skew.time#1", "stage 10")
    assert (others.key, others.place.places_count) == ("skew.time#2", 10)
    assert others.mechanism.startswith("The same in 10 further places.")
    assert "stage 10" not in others.place.words


def sort(number: int) -> Place:
    return Place(layer="stage", operator=f"Sort {number}")


def loop(number: int) -> Place:
    return Place(layer="driver", source=f"count at app.py:{number}")


def scan(number: int) -> Place:
    return Place(layer="sql", operator="Scan", node_id=4, sql_id=number)


def places(
    count: int,
    remedies: Sequence[Remedy] = (),
    ratio: float = 0.03,
    at: Callable[[int], Place] = sort,
    evidence: Sequence[Evidence] = (),
) -> Rule:
    """Give a rule that takes a little off so many places of the longest task."""

    def suspects(facts: Facts) -> Iterable[Suspect]:
        tasks = facts.tasks_of(0).duration_ns
        suspects = [
            Suspect(
                place=at(number), mechanism="It sorts.",
                change=(Less(f"sort {number}", {0: tasks * ratio}),),
                evidence=[one.model_copy(update={"query": f"{one.query} -- {number}"})
                          for one in evidence],
                remedies=[*remedies,
                          Remedy(kind="factor", factor="x", level=str(number), text="x")],
            )
            for number in range(count)
        ]  # fmt: skip
        return most((float(-number), one) for number, one in enumerate(suspects))

    return Rule("sort.x", "x", "x", suspects, "try it")


def test_places_below_the_noise_are_one_finding_if_they_are_above_it_together(run: Path) -> None:
    # 0.3 s of 16 each: the noise is 0.8 s.
    (one,) = found(run, places(4)).findings
    assert (one.shown, one.place.words) == (True, "4 places: Sort 0, Sort 1, Sort 2, and 1 other")
    assert one.place.operator is None


def test_a_few_places_that_are_below_the_noise_together_stay_apart(run: Path) -> None:
    result = found(run, places(2))
    assert [(one.shown, one.place.places_count) for one in result.findings] == [(False, 1)] * 2


def test_places_that_nobody_looked_at_are_counted(run: Path) -> None:
    (one,) = found(run, places(MOST_PLACES + 7, ratio=0.001)).findings
    assert one.place.places_count == MOST_PLACES
    assert one.mechanism.endswith(" 7 smaller places were not looked at.")


def test_a_remedy_that_the_places_do_not_share_is_the_largest_ones_and_says_so(run: Path) -> None:
    shared = Remedy(kind="code", text="sort less")
    (one,) = found(run, places(4, [shared])).findings
    assert [each.text for each in one.remedies] == [
        "sort less", "x (as for the largest, Sort 0; others may need another)",
    ]  # fmt: skip
    assert one.remedies[1].level == "0"


def by_setting_or_edit(setting: int, edit: int) -> Rule:
    """Give a rule of so many places that a setting mends, each at another level, and of others."""

    def suspects(facts: Facts) -> Iterable[Suspect]:
        tasks = facts.tasks_of(0).duration_ns
        for number in range(setting + edit):
            by_setting = number < setting
            level = Remedy(kind="factor", factor="x", level=str(10 * number), text="x")
            yield Suspect(
                place=sort(number), mechanism="It sorts.", evidence=[],
                change=(Less(f"sort {number}", {0: tasks * 0.03}),),
                remedies=[level if by_setting else Remedy(kind="code", text="sort less")],
                higher_serves=by_setting,
            )  # fmt: skip

    return Rule("sort.x", "x", "x", suspects, "try it")


def test_what_a_setting_mends_is_apart_from_what_takes_an_edit(run: Path) -> None:
    edit, setting = sorted(
        found(run, by_setting_or_edit(4, 5)).findings, key=lambda one: one.remedies[0].factor or ""
    )
    assert (edit.place.places_count, setting.place.places_count) == (5, 4)
    assert [one.text for one in edit.remedies] == ["sort less"]
    # The highest level serves all of them, so it is the remedy of all.
    assert [(one.level, one.text) for one in setting.remedies] == [("30", "x")]


def test_places_that_count_only_together_are_one_finding_whatever_mends_them(run: Path) -> None:
    (one,) = found(run, by_setting_or_edit(2, 2)).findings
    assert (one.shown, one.place.places_count) == (True, 4)
    assert "as for the largest" in one.remedies[0].text


def test_what_several_places_save_together_is_no_more_than_the_elapsed_time(run: Path) -> None:
    result = found(run, places(200, ratio=0.04))
    (one,) = result.findings
    # Eight times its tasks, of which they lose all once.
    assert one.saving.elapsed_ns.value == pytest.approx(10e9)
    assert result.joint_saving is not None
    assert (result.joint_saving.elapsed_ns.high or 0) <= result.baseline.elapsed_ns


def test_what_explains_one_of_several_places_takes_the_others_not_along(run: Path) -> None:
    cause = rule("skew.x", (Less("sort 0", {0: 0.1}),), explains=("sort.",))
    result = found(run, cause, places(8))
    assert {one.code: one.shown for one in result.findings} == {"sort.x": True, "skew.x": True}


@pytest.mark.parametrize("count", [6, 7])
def test_every_place_that_counts_alone_is_a_finding(run: Path, count: int) -> None:
    # 1.2 s of 16 each.
    result = found(run, places(count, ratio=0.12))
    assert [(one.shown, one.place.places_count) for one in result.findings] == [(True, 1)] * count
    assert result.hidden_count == 0
    assert result.joint_saving is not None
    assert result.joint_saving.elapsed_ns.value == pytest.approx(count * 1.2e9)


def tried(
    run: Path, monkeypatch: pytest.MonkeyPatch, one: Rule, place: str
) -> dict[str, str | None]:
    """Give the verdicts on places by their keys, after that place was tried in vain."""
    manifest = Manifest(run_id="1", created_wall_ns=1, pyrometer_version="0", profile="full",
                        workload=Workload(), host=Host())  # fmt: skip
    proofs = {"1": {(one.code, 0, place): Proof(verdict="refuted")}}
    with summarised(run, two_stages()) as (scope, summary):
        monkeypatch.setattr(scope.run, "manifest", manifest)
        result = explained(scope, summary, rules=[one], proofs=proofs)
    return {
        each.place.key: None if each.proof is None else each.proof.verdict
        for each in result.findings
    }


@pytest.mark.parametrize("at", [loop, scan])
def test_a_verdict_on_one_place_is_none_on_others_of_the_same_words(
    run: Path, monkeypatch: pytest.MonkeyPatch, at: Callable[[int], Place]
) -> None:
    first, second = at(0), at(1)
    assert first.words == second.words
    those = places(2, ratio=0.12, at=at)
    assert tried(run, monkeypatch, those, first.key) == {first.key: "refuted", second.key: None}
    # As it was written down before places had keys.
    assert tried(run, monkeypatch, those, first.words) == {first.key: None, second.key: None}
    alone = places(1, ratio=0.12, at=at)
    assert tried(run, monkeypatch, alone, first.words) == {first.key: "refuted"}


def test_a_place_that_was_tried_stands_apart_however_small(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = tried(run, monkeypatch, places(12), "Sort 11")
    assert verdicts == {
        "11 places: Sort 0, Sort 1, Sort 2, and 8 others": None, "Sort 11": "refuted",
    }  # fmt: skip


def test_places_of_the_same_words_are_named_by_what_tells_them_apart(run: Path) -> None:
    (one,) = found(run, places(4, at=loop)).findings
    names = [f"driver (count at app.py:{number})" for number in range(3)]
    assert one.place.largest == names
    assert one.mechanism.startswith(f"The same in 4 places. The largest, {names[0]}: ")


@pytest.mark.parametrize(
    ("what", "query"),
    [
        ("median task", "SELECT median(3)"),
        ("most that a task read", "SELECT max(3)"),
        ("longest task", "SELECT max(3)"),
        ("task that ended last", "SELECT arg_max(3, 1)"),
        ("bytecode of the largest method", "SELECT max(3)"),
        ("operator that calls them", "SELECT simple_string"),
    ],
)
def test_what_does_not_add_up_has_no_sum(run: Path, what: str, query: str) -> None:
    whole = Evidence(what="time", estimate=exactly(3.0), unit="ns", table="tasks", query="SELECT 3")
    other = whole.model_copy(update={"what": what, "query": query})
    (one,) = found(run, places(4, evidence=[whole, other])).findings
    assert [each.what for each in one.evidence] == ["time, the sum of 4 places"]
    (one,) = found(run, places(4, evidence=[other])).findings
    assert [each.what for each in one.evidence] == [what] * 4


def test_the_bias_of_one_rule_costs_no_schedule_for_each_place_of_another(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[State] = []

    def of_state(what_if: WhatIf, state: State) -> float:
        asked.append(state)
        return known(what_if, state)

    known = WhatIf.of_state
    monkeypatch.setattr(WhatIf, "of_state", of_state)
    biased = Record(tried_count=10, jobs_count=10, error_ratio=0.1, bias_ratio=0.8)
    gc = rule("gc.x", (Less("gc", {1: 0.5}),))
    result = found(run, gc, places(200, ratio=0.001), records={"gc.x": biased})
    assert {one.code: one.place.places_count for one in result.findings} == {
        "gc.x": 1, "sort.x": 200,
    }  # fmt: skip
    assert result.joint_saving is not None
    assert result.joint_saving.elapsed_ns.value == pytest.approx(1.6e9 + 2e9)
    assert len(asked) < 100
