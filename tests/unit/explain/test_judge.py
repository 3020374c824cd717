"""Suspects become findings: merged under their cause, ranked, and added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tests.support.explain.judged import found, rule, two_stages
from tests.support.explain.summarised import summarised
from tests.support.simulation.simulated import Log

from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Even, Less, LessGap, Recount
from pyrometer.explain.facts import Facts
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.schema import Findings, Place, Record, Remedy
from pyrometer.explain.what_if import Asked, Extent, Part, WhatIf
from pyrometer.explain.words import other_options


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Where the run is written, by the first test that asks about it."""
    return tmp_path / "run"


def seconds(one: Findings) -> dict[str, float]:
    return {f.code: round((f.saving.elapsed_ns.value or 0) / 1e9, 3) for f in one.findings}


def test_seconds_are_of_the_critical_path(run: Path) -> None:
    whole = rule("skew.whole", (Even([0]),))
    short = rule("gc.short", (Less("gc", {1: 0.5}),))
    assert seconds(found(run, whole, short)) == {"skew.whole": 4.0, "gc.short": 2.0}


def test_what_is_off_the_critical_path_saves_nothing(run: Path) -> None:
    import numpy as np

    off = rule("gc.off", (Less("gc", {0: np.array([0.0, 2e9])}),))
    assert found(run, off).findings == []


def test_a_gap_of_the_driver_saves_its_length(run: Path) -> None:
    with summarised(run, two_stages()) as (scope, summary):
        facts = Facts(scope, summary)
        nodes = facts.gap_nodes(facts.measured.stages[0].complete_ns, 1 << 62)  # type: ignore[union-attr]
    gap = rule("driver.gap", (LessGap(nodes),))
    assert seconds(found(run, gap)) == {"driver.gap": 1.0}


def test_what_a_cause_explains_is_its_symptom(run: Path) -> None:
    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {0: 0.5}),))
    result = found(run, cause, symptom)
    assert [one.code for one in result.findings] == ["skew.bytes"]
    assert [one.code for one in result.findings[0].symptoms] == ["gc.pauses"]


def test_what_is_sure_stays_beside_a_cause_that_is_not(run: Path) -> None:
    def suspects(facts: Facts) -> Iterable[Suspect]:
        yield Suspect(place=Place(layer="stage"), mechanism="may be", change=(Even([0]),),
                      evidence=[], remedies=(), extent=Extent(0.5, 0.0, 1.0))  # fmt: skip

    cause = Rule("skew.bytes", "skew", "skew", suspects, "try it", explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {0: 0.2}),))
    result = found(run, cause, symptom)
    assert [(one.code, one.shown) for one in result.findings] == [
        ("gc.pauses", True), ("skew.bytes", False),
    ]  # fmt: skip


def test_a_symptom_keeps_what_it_could_be_tried_with_and_says_it_once(run: Path) -> None:
    heap = Remedy(kind="factor", text="", factor="spark.executor.memory", level="4g")
    edit = Remedy(kind="code", text="", before="a", after="b")
    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",), remedies=(heap,))
    less = Less("gc", {0: 0.5})
    larger = heap.model_copy(update={"level": "8g"})
    same = rule("gc.a", (less,), remedies=(heap, edit, larger))
    again = rule("gc.b", (less,), remedies=(larger,))
    finding = found(run, cause, same, again).findings[0]
    # The setting has one level, that of the finding.
    assert [one.remedies for one in finding.symptoms] == [[edit], []]
    assert other_options(finding) == {}


def test_of_symptoms_with_levels_of_one_setting_the_largest_has_it(run: Path) -> None:
    def partitions(code: str, share: float, level: str) -> Rule:
        remedy = Remedy(kind="factor", text="", factor="spark.default.parallelism", level=level)
        return rule(code, (Less("gc", {0: share}),), remedies=(remedy,))

    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",))
    few, more = partitions("gc.a", 0.2, "48"), partitions("gc.b", 0.5, "84")
    finding = found(run, cause, few, more).findings[0]
    assert other_options(finding) == {"gc.b": ["--conf spark.default.parallelism=84"]}


def test_of_several_causes_the_first_that_overlaps_has_the_symptom(run: Path) -> None:
    # In the order of what they save: of another stage, of other time of the stage, and the same.
    elsewhere = rule("skew.a", (Even([0]),), explains=("gc.",))
    beside = rule("skew.b", (Less("spill", {1: 0.4}),), explains=("gc.",))
    first = rule("skew.c", (Less("gc", {1: 0.35}),), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {1: 0.3}),))
    for rules in ([elsewhere, beside, symptom, first], [first, symptom, beside, elsewhere]):
        result = found(run, *rules)
        of = {one.code: [symptom.code for symptom in one.symptoms] for one in result.findings}
        assert "gc.pauses" not in of
        assert of["skew.c"] == ["gc.pauses"]


def test_what_takes_away_other_time_of_the_stage_is_no_cause(run: Path) -> None:
    beside = rule("skew.b", (Less("spill", {1: 0.4}),), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {1: 0.3}),))
    result = found(run, beside, symptom)
    assert {one.code for one in result.findings} == {"skew.b", "gc.pauses"}


def test_tasks_that_are_not_there_explain_without_a_schedule(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Asked] = []

    def elapsed(what_if: WhatIf, parts: Asked) -> float:
        asked.append(parts)
        return known(what_if, parts)

    known = WhatIf.elapsed
    monkeypatch.setattr(WhatIf, "elapsed", elapsed)
    fewer = rule("skew.few", (Recount({1: 0.5}, 1e9), Less("spill", {1: 0.6})), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {1: 0.3}),))
    result = found(run, fewer, symptom)
    assert [[one.code for one in each.symptoms] for each in result.findings] == [["gc.pauses"]]
    assert all(len(parts) < 2 for parts in asked)


def test_tasks_that_are_not_there_explain_nothing_elsewhere(run: Path) -> None:
    fewer = rule("skew.few", (Recount({0: 0.5}, 1e9), Less("spill", {0: 0.6})), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {1: 0.3}),))
    assert len(found(run, fewer, symptom).findings) == 2


def test_causes_of_different_stages_stand_side_by_side(run: Path) -> None:
    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",))
    other = rule("gc.pauses", (Less("gc", {1: 0.5}),))
    assert len(found(run, cause, other).findings) == 2


def test_two_names_of_the_same_saving_are_one_finding(run: Path) -> None:
    larger = rule("gc.a", (Less("gc", {1: 0.5}),))
    smaller = rule("gc.b", (Less("gc", {1: 0.45}),))
    result = found(run, larger, smaller)
    assert [one.code for one in result.findings] == ["gc.a"]


def test_what_each_adds_is_the_saving_of_all(run: Path) -> None:
    result = found(
        run, rule("skew.a", (Even([0]),)), rule("gc.b", (Less("gc", {1: 0.5}),)),
        rule("spill.c", (Less("spill", {0: 0.3}),)),
    )  # fmt: skip
    assert result.joint_ratio is not None
    added = sum(one.added_ratio for one in result.findings if one.shown)
    assert added == pytest.approx(result.joint_ratio.value)


def test_below_the_noise_nothing_is_shown_and_the_conclusion_says_so(run: Path) -> None:
    result = found(run, rule("gc.a", (Less("gc", {1: 0.01}),)))
    assert [one.shown for one in result.findings] in ([], [False])
    assert result.conclusion.startswith("Nothing worth more than 5.00 %")


def test_what_may_be_worth_it_is_not_called_nothing(run: Path) -> None:
    unsure = Extent(0.6, 0.0, 1.0, 3)
    result = found(run, rule("gc.a", (Less("gc", {1: 0.5}),), extent=unsure))
    one = result.findings[0]
    assert not one.shown
    assert result.conclusion.startswith("Nothing is certain to save more than 5.00 %")
    assert f"Possible: {one.title}" in result.conclusion
    muted = found(run, rule("gc.a", (Less("gc", {1: 0.5}),), extent=unsure), muted={"gc.a": "x"})
    assert muted.conclusion.startswith("Nothing worth more than 5.00 %")
    hardly = found(run, rule("gc.a", (Less("gc", {1: 0.5}),), extent=Extent(0.05, 0.0, 1.0, 3)))
    (one,) = hardly.findings
    assert one.saving_ratio.value < hardly.noise_ratio < one.saving_ratio.high
    assert hardly.conclusion.startswith("Nothing worth more than 5.00 %")


def test_a_muted_rule_is_not_in_the_sum(run: Path) -> None:
    skew, gc = rule("skew.a", (Even([0]),)), rule("gc.b", (Less("gc", {1: 0.5}),))
    result = found(run, skew, gc, muted={"skew.a": "known"})
    assert [(one.code, one.muted) for one in result.findings] == [
        ("gc.b", None),
        ("skew.a", "known"),
    ]
    assert result.joint_saving is not None
    assert result.joint_saving.elapsed_ns.value == pytest.approx(2e9)


def test_a_muted_cause_takes_nothing_with_it_that_is_not_muted(run: Path) -> None:
    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {0: 0.5}),))
    result = found(run, cause, symptom, muted={"skew.bytes": "known"})
    assert [(one.code, one.shown, one.muted) for one in result.findings] == [
        ("gc.pauses", True, None), ("skew.bytes", True, "known"),
    ]  # fmt: skip
    assert result.joint_saving is not None
    assert result.joint_saving.elapsed_ns.value == result.findings[0].saving.elapsed_ns.value


def test_of_two_names_of_the_same_saving_the_one_that_is_not_muted_stays(run: Path) -> None:
    larger = rule("gc.a", (Less("gc", {1: 0.5}),))
    smaller = rule("gc.b", (Less("gc", {1: 0.45}),))
    result = found(run, larger, smaller, muted={"gc.a": "known"})
    assert [(one.code, one.muted) for one in result.findings] == [
        ("gc.b", None), ("gc.a", "known"),
    ]  # fmt: skip


def test_a_muted_cause_keeps_symptoms_that_are_muted_too(run: Path) -> None:
    cause = rule("skew.bytes", (Even([0]),), explains=("gc.",))
    symptom = rule("gc.pauses", (Less("gc", {0: 0.5}),))
    result = found(run, cause, symptom, muted={"skew.bytes": "known", "gc.pauses": "known"})
    assert [[one.code for one in each.symptoms] for each in result.findings] == [["gc.pauses"]]


def test_a_rule_that_breaks_is_named_and_the_others_look(run: Path) -> None:
    def broken(facts: Facts) -> Iterable[Suspect]:
        raise ZeroDivisionError("1 / 0")

    result = found(run, Rule("gc.x", "x", "x", broken, ""), rule("skew.a", (Even([0]),)))
    assert [one.code for one in result.findings] == ["skew.a"]
    assert [(one.code, "1 / 0" in one.missing) for one in result.unjudged] == [("gc.x", True)]


def test_a_saving_that_may_be_nothing_begins_at_nothing(run: Path) -> None:
    unsure = rule("skew.a", (Even([0]),), extent=Extent(0.5, 0.0, 1.0, 10))
    saving = found(run, unsure).findings[0].saving.elapsed_ns
    assert saving.low == 0.0


def test_what_a_rule_lacks_is_said_with_what_would_allow_it(run: Path) -> None:
    lacking = Rule(
        "gc.x", "x", "x", lambda facts: [], "", needs=(Need(lambda facts: "no log", "log it"),)
    )
    (one,) = found(run, lacking).unjudged
    assert (one.missing, one.remedy) == ("no log", "log it")


def test_earlier_errors_of_a_rule_widen_its_interval(run: Path) -> None:
    skew = rule("skew.a", (Even([0]),))
    plain = found(run, skew).findings[0].saving.elapsed_ns
    wide = found(
        run, skew, records={"skew.a": Record(tried_count=5, proven_count=3, error_ratio=0.5)}
    )
    tried = wide.findings[0].saving.elapsed_ns
    assert tried.value == plain.value
    assert (tried.low or 0) < (plain.low or 0)


def test_an_error_of_all_that_was_predicted_reaches_twice_the_saving(run: Path) -> None:
    skew = rule("skew.a", (Even([0]),))
    far = Record(tried_count=3, proven_count=3, error_ratio=1.0)
    saving = found(run, skew, records={"skew.a": far}).findings[0].saving.elapsed_ns
    assert saving.value is not None
    assert saving.high is not None
    assert saving.high >= 2 * saving.value
    two = found(run, skew, records={"skew.a": far.model_copy(update={"tried_count": 2})})
    assert two.findings[0].saving == found(run, skew).findings[0].saving


def test_schedules_for_intervals_are_asked_for_at_once(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[bool] = []

    def saving(what_if: WhatIf, parts: Sequence[Part]) -> tuple[Estimate, Estimate]:
        for side in range(3):
            known.append(what_if.is_known([(one.change, one.factors[side]) for one in parts]))
        return computed(what_if, parts)

    computed = WhatIf.saving
    monkeypatch.setattr(WhatIf, "saving", saving)
    tried = Record(tried_count=10, jobs_count=10, error_ratio=0.1)
    gc = rule("gc.x", (Less("gc", {1: 0.5}),), extent=Extent(0.9, 0.8, 1.0).times(0.5, 1.0))
    assert found(run, gc, records={"gc.x": tried}).findings
    assert known
    assert all(known)


def test_where_nothing_can_be_judged_the_noise_is_not_called_measured(tmp_path: Path) -> None:
    log = Log(16_000)
    with summarised(tmp_path, log) as (scope, summary):
        result = explained(scope, summary, rules=[])
    assert (result.noise.kind, result.noise.method) == ("assumed", "nothing was judged")
