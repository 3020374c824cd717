"""Runs compared: unlike sides are doubted first, sides have names, parts add up to the change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, S, StageSpec, World, wall

from pyrometer.compare.alike import differences_of_kind
from pyrometer.compare.changes import changes, operator_changes
from pyrometer.compare.lists import times_of
from pyrometer.compare.runs import compare_runs
from pyrometer.compare.sides import Side, sides_of
from pyrometer.compare.stage_tasks import COLUMNS
from pyrometer.compare.stage_work import units_of
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

Capture = pytest.CaptureFixture[str]
BEFORE = (StageSpec([400, 300], iteration=1), StageSpec([200], iteration=1, gap_ms=50))
AFTER = (StageSpec([900, 300], iteration=1), StageSpec([200], iteration=1, gap_ms=400))


def run_of(folder: Path, name: str, stages: tuple[StageSpec, ...], app: str = "job") -> Path:
    folder.joinpath(name).mkdir()
    world = World(list(stages))
    world.rows["apps"][0]["app_name"] = app
    return world.write(folder / name)


def of(path: Path) -> Summary:
    with Run.open(path) as run:
        return summary(run)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return run_of(tmp_path, "before", BEFORE)


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return run_of(tmp_path, "after", AFTER)


def side(name: str, *paths: Path) -> Side:
    return Side(name, [of(path) for path in paths])


def test_parts_add_up_to_the_change_and_the_largest_comes_first(before: Path, after: Path) -> None:
    a, b = side("before", before), side("after", after)
    found = changes(a, b)
    ours, theirs = (one.summaries[0].elapsed.total_ns or 0 for one in (a, b))
    assert sum(one.seconds for one in found) == pytest.approx((theirs - ours) / 1e9, abs=1e-9)
    assert (found[0].cause, found[0].place) == ("stage", "stage 0")
    assert found[0].seconds == pytest.approx(0.5, abs=0.01)
    assert [one.cause for one in found[1:2]] == ["driver"]
    assert found[1].seconds == pytest.approx(0.35, abs=0.01)


def test_a_stage_of_one_side_alone_says_which(before: Path, tmp_path: Path) -> None:
    more = run_of(tmp_path, "more", (*BEFORE, StageSpec([700], iteration=1)))
    found = changes(side("before", before), side("more", more))
    alone = next(one for one in found if one.only)
    assert (alone.place, alone.only, alone.a_s) == ("stage 2", "more", 0)


def test_stages_that_a_cut_list_lacks_are_in_the_rest(before: Path, after: Path) -> None:
    a, b = side("before", before), side("after", after)
    b.summaries[0].elapsed.stages = b.summaries[0].elapsed.stages[:1]
    found = changes(a, b)
    assert [one.place for one in found if one.cause == "stage"] == ["stage 0"]
    assert any(one.cause == "rest" for one in found)
    ours, theirs = (one.summaries[0].elapsed.total_ns or 0 for one in (a, b))
    assert sum(one.seconds for one in found) == pytest.approx((theirs - ours) / 1e9, abs=1e-9)


def test_operators_are_compared_by_name_and_node(before: Path, after: Path) -> None:
    found = operator_changes(side("a", before), side("b", after))
    assert found
    assert abs(found[0].seconds) == max(abs(one.seconds) for one in found)
    assert all(one.seconds == pytest.approx(one.b_s - one.a_s) for one in found)


@pytest.mark.parametrize(
    ("change", "code", "severity"),
    [
        ({"workload": "other"}, "different_workloads", "error"),
        ({"profile": "full"}, "different_profiles", "warning"),
        ({"scale": 10}, "different_scales", "warning"),
        ({"host": {"hostname": "elsewhere"}}, "different_hosts", "warning"),
        (
            {"machine": {"accelerator": "kvm", "host": {"hostname": "h"}}},
            "different_hosts",
            "warning",
        ),
        ({"spark_version": "3.5.0"}, "different_spark", "info"),
    ],
)
def test_unlike_sides_are_a_doubt(
    before: Path, change: dict[str, object], code: str, severity: str
) -> None:
    one, other = of(before), of(before)
    for summary_ in (one, other):
        summary_.run = summary_.run.model_copy(
            update={"workload": "scan", "profile": "light", "scale": 1, "host": {"hostname": "h"}}
        )
    assert differences_of_kind(Side("a", [one]), Side("b", [other])) == []
    other.run = other.run.model_copy(update=change)
    found = differences_of_kind(Side("a", [one]), Side("b", [other]))
    assert [(doubt.code, doubt.severity) for doubt in found] == [(code, severity)]


@pytest.mark.parametrize(
    ("accelerator", "hostname", "codes"),
    [
        ("kvm", "h", []),
        ("tcg", "h", ["different_hosts"]),
        ("kvm", "elsewhere", ["different_hosts"]),
    ],
)
def test_virtual_machines_of_one_host_are_one_machine_whatever_their_size(
    before: Path, accelerator: str, hostname: str, codes: list[str]
) -> None:
    one, other = of(before), of(before)
    for summary_, cpus, how, name in ((one, 1, "kvm", "h"), (other, 4, accelerator, hostname)):
        machine = {"accelerator": how, "host": {"hostname": name, "cpu_model": "EPYC"}}
        update = {"host": {"hostname": f"guest{cpus}", "cpus_count": cpus}, "machine": machine}
        summary_.run = summary_.run.model_copy(update=update)
    found = differences_of_kind(Side("a", [one]), Side("b", [other]))
    assert [doubt.code for doubt in found] == codes


def test_other_results_of_the_same_workload_are_an_error(before: Path) -> None:
    one, other = of(before), of(before)
    for number, summary_ in enumerate((one, other)):
        for iteration in summary_.iterations:
            iteration.result_checksum = f"c{number}"
    found = differences_of_kind(Side("a", [one]), Side("b", [other]))
    assert [doubt.code for doubt in found] == ["different_results"]


def test_names_are_levels_that_differ_else_folders(before: Path, after: Path) -> None:
    a, b = of(before), of(after)
    assert [one.name for one in sides_of([(before, a)], [(after, b)])] == ["before", "after"]
    a.run = a.run.model_copy(update={"treatment": {"jvm.heap": "1g", "spark.x": "1"}})
    b.run = b.run.model_copy(update={"treatment": {"jvm.heap": "2g", "spark.x": "1"}})
    named = sides_of([(before, a)], [(after, b)])
    assert [one.name for one in named] == ["jvm.heap=1g", "jvm.heap=2g"]


def test_the_command_says_that_different_things_ran_before_anything_else(
    before: Path, tmp_path: Path, capsys: Capture
) -> None:
    other = run_of(tmp_path, "other", AFTER, app="something else")
    done = inside(capsys, "compare", str(before), str(other), "--json")
    assert done.code == 0, done.stderr
    text = done.stderr
    assert text.lstrip().startswith("error Different programs ran: job on one side")
    assert "% of it: " in text
    data = json.loads(done.stdout)
    assert data["doubts"][0]["code"] == "different_workloads"
    assert [data["pairs"][0][key] for key in ("a", "b")] == ["before", "other"]
    assert {"cause", "place", "seconds", "evidence"} <= set(data["differences"][0])


def test_one_application_on_each_side_has_no_interval(before: Path, after: Path) -> None:
    report = compare_runs([before], [after], margin=0.02)
    assert report.pairs[0].verdict == "cannot tell"
    assert "one_run_each" in [doubt.code for doubt in report.doubts]


def test_an_application_that_was_not_seen_to_end_counts_beside_one_that_was(
    tmp_path: Path,
) -> None:
    world = World([StageSpec([400])])
    world.add("apps", app_index=1, app_id="local-2", start_wall_ns=wall(1000))
    world.add("jobs", app_index=1, job_id=0, submit_wall_ns=wall(1100), end_wall_ns=wall(2000))
    with Run.open(world.write(tmp_path)) as run:
        assert times_of(run) == [2000 * MS]


def test_no_task_is_read_of_applications_that_were_seen_to_begin_and_end(tmp_path: Path) -> None:
    world = World([StageSpec([400])])
    with Run.open(world.write(tmp_path)) as run:
        run.tables.define_view("tasks", "SELECT 'nothing of tasks' AS what")
        assert times_of(run) == [world.end_ms * MS]


def test_a_run_that_is_given_twice_on_a_side_is_named(
    before: Path, after: Path, tmp_path: Path, capsys: Capture
) -> None:
    link = tmp_path / "link"
    link.symlink_to(before)
    for again in (before, link, before / ".." / before.name):
        done = inside(capsys, "compare", str(before), str(again), "--against", str(after))
        assert done.code == 2
        told = " ".join(done.stderr.split())
        assert "is given twice on one side" in told
        assert "the same run counted twice says nothing about noise" in told
    assert inside(capsys, "compare", str(before), "--against", str(before)).code == 0


def waiting_on_both(folder: Path) -> Path:
    """Write a run whose tasks wait alike on two hosts, and behind others on one of them."""
    two = TwoHosts([StageSpec([1000, 1000, 2000, 2000], sql_id=None)], WestClock(2 * S))
    for row in two.rows["thread_counters"]:
        row["run_delay_ns"] *= 3
    two.take(WEST, 0.5)
    folder.mkdir()
    return two.write(folder)


def test_waits_are_divided_host_by_host(tmp_path: Path) -> None:
    path = waiting_on_both(tmp_path / "run")
    known = of(path)
    each = {one.host: one for one in known.contention.hosts}
    assert each.keys() == {HOST, WEST}
    behind = {host: one.behind_others_ns.value for host, one in each.items()}  # type: ignore[union-attr]
    queue = {host: float(one.run_queue_ns or 0) for host, one in each.items()}
    assert behind[WEST] / queue[WEST] > behind[HOST] / queue[HOST] + 0.2  # type: ignore[operator]
    ((unit,),) = [units_of(path, known)]
    shares = unit.stages[0].held.shares[COLUMNS.index("waits")]
    waited = shares["behind_others"] + shares["run_queue"]
    expected = sum(map(float, behind.values())) / sum(queue.values())  # type: ignore[arg-type]
    assert shares["behind_others"] / waited == pytest.approx(expected, rel=1e-3)


def test_hosts_whose_waits_were_not_divided_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.accounts.contention.MOST_HOSTS", 1)
    a, b = (waiting_on_both(tmp_path / name) for name in "ab")
    (line, _) = (
        one for one in compare_runs([a], [b], 0.02).explanation.cannot_tell
        if "who had the CPUs that tasks waited for" in one
    )  # fmt: skip
    assert line.startswith("a: who had the CPUs that tasks waited for on ")
    assert f"on {HOST} is not known" in line
