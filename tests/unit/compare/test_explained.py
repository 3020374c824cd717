"""One thing is changed between two logs: it leads, with its share; causes add up to the change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.support.compared import Job, Planned

from pyrometer.compare.cause_schema import Explanation
from pyrometer.compare.explained import explain
from pyrometer.compare.stage_work import Unit, units_of

BASE = Job()
Edit = Callable[[Job], Job]


def one(job: Job, folder: Path) -> list[Unit]:
    return units_of(job.write(folder))


def explained(a: Job, b: Job, folder: Path) -> Explanation:
    return explain([one(a, folder / "a")], [one(b, folder / "b")])


def at_stage(number: int, **changes: object) -> Edit:
    """Change one stage of a job."""

    def edit(job: Job) -> Job:
        stages = list(job.stages)
        stages[number] = replace(stages[number], **changes)  # type: ignore[arg-type]
        return replace(job, stages=tuple(stages))

    return edit


def whole(**changes: object) -> Edit:
    """Change the job."""
    return lambda job: replace(job, **changes)  # type: ignore[arg-type]


PLANTED: dict[str, tuple[Edit, str, float]] = {
    "more rows, same tasks": (at_stage(1, rows=5_000_000), "input", 0.9),
    "a filter is no longer pushed down": (at_stage(0, rows=8_000_000), "input", 0.9),
    "dearer rows": (at_stage(1, cpu_per_row_ms=0.003), "cpu", 0.9),
    "garbage collection": (at_stage(1, gc_ms=400), "gc", 0.9),
    "shuffle data comes late": (at_stage(2, fetch_ms=500), "fetch_wait", 0.9),
    "waits": (at_stage(2, wait_ms=700), "waits", 0.9),
    "far more tasks": (at_stage(1, tasks=4_000), "tasks", 0.9),
    "far fewer tasks": (at_stage(1, tasks=2), "tasks", 0.9),
    "fewer executors": (whole(executors=2), "slots", 0.85),
    "a slow host": (whole(slow_host=3.0), "slow_host", 0.8),
    "lost attempts": (at_stage(1, retries=3), "retries", 0.9),
    "one task has most of the rows": (at_stage(1, skew=12.0), "uneven_input", 0.8),
    "the program does more between stages": (whole(pause_ms=2_000), "driver/between_queries", 0.6),
    "executors come late": (whole(startup_ms=6_000), "executors", 0.9),
    "a stage more": (
        lambda job: replace(
            job, stages=(*job.stages, Planned(name="count at job.py:11", rows=9_000_000))
        ),
        "alone/b", 0.7,
    ),
}  # fmt: skip


def test_what_executors_were_waited_for_is_apart_from_what_the_job_took(tmp_path: Path) -> None:
    slower = at_stage(1, rows=50_000_000)(whole(startup_ms=36_500)(BASE))
    found = explained(BASE, slower, tmp_path)
    assert sum(one.seconds for one in found.causes) == pytest.approx(found.seconds)
    (waits,) = (one for one in found.causes if one.cause == "executors")
    assert waits.seconds == pytest.approx(36.0)
    assert (found.a_waited_s, found.b_waited_s) == (pytest.approx(0.5), pytest.approx(36.5))
    assert ", including +36.0 s in the wait for executors: " in found.answer[0]
    rest = found.seconds - 36.0
    assert rest > 0.5
    whole_line = f"Without the wait for executors (500 ms → 36.5 s) it is +{rest:.2f} s (+"
    assert found.answer[1].startswith(whole_line)
    busy = explained(BASE, at_stage(1, gc_ms=400)(BASE), tmp_path / "busy")
    assert "wait for executors" not in " ".join(busy.answer)


def test_what_works_against_the_change_is_no_part_of_it(tmp_path: Path) -> None:
    much = at_stage(1, rows=90_000_000)(BASE)
    found = explained(much, whole(startup_ms=10_500)(BASE), tmp_path)
    assert found.seconds < 0
    assert found.answer[0].startswith("−")
    assert " %), including +10.0 s in the wait for executors: " in found.answer[0]
    assert "of which" not in found.answer[0]
    assert "+10.0 s of it" not in found.answer[0]
    assert ". +10.0 s: waiting for executors." in found.answer[0]


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_changed_leads_with_its_share(name: str, tmp_path: Path) -> None:
    edit, cause, least = PLANTED[name]
    found = explained(BASE, edit(BASE), tmp_path)
    first = found.causes[0]
    assert first.cause == cause, [(c.cause, c.seconds) for c in found.causes]
    assert found.seconds > 0.2
    assert first.share is not None
    assert least <= first.share <= 1.15
    assert found.answer[0].endswith(".")


@pytest.mark.parametrize("name", PLANTED)
def test_causes_add_up_and_the_way_back_is_minus_the_way_there(name: str, tmp_path: Path) -> None:
    edit, _, _ = PLANTED[name]
    a, b = one(BASE, tmp_path / "a"), one(edit(BASE), tmp_path / "b")
    there, back = explain([a], [b]), explain([b], [a])
    assert there.seconds == pytest.approx(b[0].total - a[0].total, abs=1e-9)
    for found in (there, back):
        assert sum(c.seconds for c in found.causes) == pytest.approx(found.seconds, abs=1e-6)
        for each in found.causes:
            parts = sum(part.seconds for part in each.parts)
            assert parts == pytest.approx(each.seconds, abs=1e-9)
    swap = {"alone/a": "alone/b", "alone/b": "alone/a"}
    ways = [{c.cause: c.seconds for c in found.causes} for found in (there, back)]
    for cause, seconds in ways[0].items():
        assert ways[1][swap.get(cause, cause)] == pytest.approx(-seconds, abs=1e-6)


def test_the_same_run_changes_nothing(tmp_path: Path) -> None:
    found = explained(BASE, BASE, tmp_path)
    assert (found.seconds, found.causes) == (0.0, [])
    assert found.answer == ["Nothing changed: elapsed time and what it consists of are the same."]


def test_a_stage_in_the_middle_does_not_shift_those_after_it(tmp_path: Path) -> None:
    same = Planned(name="count at job.py:5", rows=6_000_000)
    a = replace(BASE, stages=(BASE.stages[0], same, BASE.stages[2]))
    b = replace(BASE, stages=(BASE.stages[0], same, same, BASE.stages[2]))
    found = explained(a, b, tmp_path)
    assert found.causes[0].cause == "alone/b"
    assert len(found.causes[0].parts) == 1


def test_sentences_have_the_numbers_and_the_stage(tmp_path: Path) -> None:
    found = explained(BASE, at_stage(1, rows=5_000_000)(BASE), tmp_path)
    text = found.answer[0]
    assert "stage 1 (collect at job.py:7) reads 2.5 times the rows" in text
    assert text.startswith("+")


def test_a_spill_is_named_beside_the_waits_that_hold_it(tmp_path: Path) -> None:
    found = explained(BASE, at_stage(1, wait_ms=900, spilled_bytes=3 << 30)(BASE), tmp_path)
    assert found.causes[0].cause == "waits"
    assert "they spilled 48.0 GiB, 0 B before" in found.causes[0].sentence


def test_slow_hosts_are_named(tmp_path: Path) -> None:
    found = explained(BASE, replace(BASE, slow_host=3.0), tmp_path)
    assert "in B tasks take longer on host-0 than elsewhere" in found.causes[0].sentence
    back = explained(replace(BASE, slow_host=3.0), BASE, tmp_path / "back")
    assert "in A tasks take longer on host-0 than elsewhere" in back.causes[0].sentence


def test_groups_of_runs_have_intervals_over_runs(tmp_path: Path) -> None:
    def run(name: str, rows: int) -> list[Unit]:
        return one(at_stage(1, rows=rows)(BASE), tmp_path / name)

    a = [run(f"a{n}", 1_000_000 + 10_000 * n) for n in range(3)]
    b = [run(f"b{n}", 2_000_000 + 10_000 * n) for n in range(3)]
    first = explain(a, b).causes[0]
    assert (first.cause, first.method) == ("input", "runs")
    assert first.low is not None
    assert first.high is not None
    assert 0 < first.low < first.seconds < first.high
    assert explain(a[:1], b[:1]).causes[0].low is None


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["runs", "iterations"])
def test_causes_of_many_runs_add_up_whatever_their_numbers(inside: bool, tmp_path: Path) -> None:
    kinds = [one(at_stage(1, rows=1_000_000 * n)(BASE), tmp_path / f"{n}")[0] for n in range(1, 6)]
    sides = [[kinds[n % 3] for n in range(7)], [kinds[2 + n % 3] for n in range(8)]]
    a, b = ([side] if inside else [[unit] for unit in side] for side in sides)
    found = explain(a, b)
    first, second = (sum(unit.total for unit in side) / len(side) for side in sides)
    assert found.seconds == pytest.approx(second - first, abs=1e-9)
    assert sum(each.seconds for each in found.causes) == pytest.approx(found.seconds, abs=1e-6)
    for each in found.causes:
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.seconds <= each.high


def paused(pauses: Sequence[float], folder: Path) -> list[list[Unit]]:
    """Give runs of a job that pauses for so many seconds."""
    return [
        one(replace(BASE, pause_ms=round(1000 * pause)), folder / str(number))
        for number, pause in enumerate(pauses)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 10])
def test_as_many_runs_on_both_sides_are_as_sure_as_a_test_of_means(
    count: int, tmp_path: Path
) -> None:
    draw = np.random.default_rng(7)
    a = paused(draw.normal(2, 0.3, count), tmp_path / "a")
    b = paused(draw.normal(3, 0.5, count), tmp_path / "b")
    found = explain(a, b)
    totals = [[unit.total for (unit,) in side] for side in (b, a)]
    # Up to six of a side are paired all with all, more one by one.
    plain = stats.ttest_ind(*totals, equal_var=False) if count == 6 else stats.ttest_rel(*totals)
    assert (found.low, found.high) == pytest.approx(plain.confidence_interval(0.95), rel=1e-6)


@pytest.mark.slow
def test_more_runs_on_one_side_are_as_sure(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    pauses = draw.normal(2, 0.3, 9), draw.normal(3, 0.3, 10)
    widths = []
    a, b = (paused(side, tmp_path / name) for side, name in zip(pauses, "ab", strict=True))
    totals = [[unit.total for (unit,) in side] for side in (b, a)]
    plain = stats.ttest_ind(*totals, equal_var=False).confidence_interval(0.95)
    for seed in range(8):
        # Which is paired with which is chance.
        order = np.random.default_rng(seed).permutation(10)
        found = explain(a, [b[at] for at in order])
        assert found.low is not None
        assert found.high is not None
        widths.append((found.high - found.low) / (plain.high - plain.low))
    assert 0.9 < np.mean(widths) < 1.15


def test_a_task_with_most_of_the_rows_makes_no_host_slow(tmp_path: Path) -> None:
    """It is the input's; what hosts differ by in these logs costs next to nothing."""
    found = explained(BASE, at_stage(1, skew=12.0)(BASE), tmp_path)
    slow = sum(abs(one.seconds) for one in found.causes if one.cause == "slow_host")
    assert slow < 0.01 * found.seconds
