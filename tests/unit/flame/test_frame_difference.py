"""Differences of profiles: from tables to the verdict, the terminal and the page."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.support.generated import CLASS, add_plan, add_samples, add_source
from tests.support.simulation.contexts import two_contexts
from tests.support.tables import StageSpec, World

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.flame.difference.difference import NO_DIFFERENCE, FrameDifference, frame_difference
from pyrometer.flame.difference.sides import read_side
from pyrometer.store.imported import import_profiles

KINDS = [(10, "cast", "WholeStageCodegen"), (11, "cast", "WholeStageCodegen"),
         (13, "operator", "WholeStageCodegen")]  # fmt: skip
CLUSTER = "WholeStageCodegen[HashAggregate ← Project ← BroadcastNestedLoopJoin]"
LAMBDAS = [
    ("a.B$$Lambda$12.0x00007f01", "apply"),
    ("a.B", "lambda$map$3"),
    ("jdk.internal.reflect.GeneratedMethodAccessor44", "invoke"),
    ("a.B$$anon$2", "next"),
]


def world(task_ms: int = 900, tasks: int = 4) -> World:
    """One warm-up and two measured iterations; under the join's code, frames with numbers."""
    made = World([StageSpec([task_ms] * tasks, iteration=i) for i in range(3)])
    add_plan(made, 40)
    add_samples(made, KINDS)
    add_source(made, 0)
    for number, (class_name, method) in enumerate(LAMBDAS):
        made.add("frames", frame_id=100 + number, class_name=class_name, method=method, line=number,
                 kind="c2")  # fmt: skip
    for row in made.rows["stacks"]:
        row["frame_ids"] = [100, 101, 102, 103, *row["frame_ids"]]
    return made


def renumbered(made: World) -> World:
    """Give the same world as another JVM would have it: other numbers, other lines below."""
    other = deepcopy(made)
    for row in other.rows["frames"]:
        row["frame_id"] = 500 - row["frame_id"]
        if row["class_name"].startswith(CLASS):
            row["class_name"] = CLASS + "7"
            row["method"] = re.sub(r"_0(\$?)$", r"_3\1", row["method"])
        else:
            row["class_name"] = re.sub(
                r"\d+\.0x\w+$|\d+$", lambda n: "98/0x01" if "x" in n[0] else "98", row["class_name"]
            )
            row["method"] = re.sub(r"\$\d+$", "$61", row["method"])
            row["line"] += 1000
    for row in other.rows["stacks"]:
        row["frame_ids"] = [500 - frame for frame in row["frame_ids"]]
    for row in other.rows["samples"]:
        row["codegen_stage_id"] = row.get("codegen_stage_id") and 7
    for row in other.rows["plan_nodes"]:
        row["codegen_stage_id"] = row["codegen_stage_id"] and 7
        row["name"] = row["name"].replace("(1)", "(7)")
    for row in other.rows["codegen_sources"]:
        row.update(class_name=CLASS + "7", codegen_stage_id=7)
        row["tree"] = row["tree"].replace("*(1)", "*(7)")
    for row in other.rows["codegen_lines"]:
        row["method"] = row["method"].replace("_0", "_3")
    return other


def compared(tmp_path: Path, a: World, b: World) -> FrameDifference:
    return frame_difference([a.write(tmp_path / "a")], [b.write(tmp_path / "b")])


def of(found: list[Any], name: str, event: str = "cpu") -> Any:
    return next(one for one in found if one.name == name and one.event == event)


def test_the_same_profile_from_another_jvm_is_not_different(tmp_path):
    made = compared(tmp_path, world(), renumbered(world()))
    assert made.verdict == NO_DIFFERENCE
    names = {frame.name for frame in made.frames}
    assert {f"{CLUSTER}.hashAgg_doAggregateWithoutKey", f"{CLUSTER}.processNext"} <= names
    assert {"a.B$$Lambda.apply", "a.B.lambda$map$*", "a.B$$anon$*.next"} <= names
    for one in (*made.whole, *made.operators, *made.expressions, *made.frames):
        assert one.total.change.value == 0
        assert one.total.samples_a_count == one.total.samples_b_count > 0
    assert of(made.expressions, "BroadcastNestedLoopJoin: cast(lo as timestamp)")


def test_two_clusters_that_hold_other_operators_are_not_one(tmp_path):
    other = world()
    for row in other.rows["plan_nodes"]:
        if row["name"] == "Project":
            row.update(name="Filter", simple_string="Filter (v#43 > 1)")
    made = compared(tmp_path, world(), other)
    assert made.verdict == "different"
    elsewhere = CLUSTER.replace("Project", "Filter")
    assert of(made.frames, f"{CLUSTER}.processNext").total.verdict == "only in A"
    assert of(made.frames, f"{elsewhere}.processNext").total.verdict == "only in B"


def test_clusters_are_named_after_the_plan_of_the_application_that_ran_then(tmp_path):
    made = two_contexts()
    add_plan(made, 40)
    add_samples(made, KINDS)
    for row in list(made.rows["plan_nodes"]):
        name = row["name"].replace("Project", "Filter")
        made.add("plan_nodes", **{**row, "app_index": 1, "name": name})
    (side,) = read_side([made.write(tmp_path)])
    elsewhere = CLUSTER.replace("Project", "Filter")
    assert {f"{CLUSTER}.processNext", f"{elsewhere}.processNext"} <= set(side.sums["name"].tolist())


def test_times_are_per_iteration_and_warm_ups_do_not_count(tmp_path):
    a, b = world(900), world(1800)
    for row in b.rows["samples"]:
        if row["iteration"] == 0:
            row["weight"] *= 100
    made = compared(tmp_path, a, b)
    whole = of(made.whole, "cpu").total
    # 4 tasks of 0.9 s are on a CPU for 70 % of that, sampled every 10 ms.
    assert whole.a.value == pytest.approx(4 * 630e6)
    assert whole.b.value == pytest.approx(4 * 1260e6)
    assert whole.verdict == "slower"
    assert whole.change.low > 0
    assert whole.change.n == 4
    assert (made.a.iterations_count, made.repetition) == (2, "iteration")
    assert [d.code for d in made.doubts] == ["difference_one_run"]
    share = of(made.frames, f"{CLUSTER}.processNext").total.share_change
    assert share.low <= 0 <= share.high


def test_several_runs_are_the_repetitions(tmp_path):
    runs = [world(900 + 10 * n).write(tmp_path / str(n)) for n in range(4)]
    made = frame_difference(runs[:2], runs[2:])
    assert made.repetition == "run"
    assert (made.a.repetitions_count, made.a.iterations_count) == (2, 4)
    assert made.whole[0].total.change.n == 4
    assert made.doubts == []


def test_one_iteration_each_is_a_doubt(tmp_path):
    one = World([StageSpec([900] * 4)])
    made = compared(tmp_path, one, one)
    assert [d.code for d in made.doubts] == ["difference_one_repetition"]
    assert made.whole[0].total.change.method == "sampling noise alone"
    assert made.whole[0].total.change.high > 0


def test_profiles_of_other_tools_are_compared_as_one_iteration(tmp_path):
    sides = [world(900), world(1800)]
    for made in sides:
        rows = made.rows
        made.rows = {name: rows[name] for name in ("samples", "stacks", "frames")}
        for row in made.rows["samples"]:
            row.update(t_ns=None, clock=None, host=None, pid=None, tid=None, iteration=None)
    made = compared(tmp_path, *sides)
    assert (made.a.iterations_count, made.verdict) == (1, "different")
    assert of(made.whole, "cpu").total.a.value == pytest.approx(3 * 4 * 630e6)
    assert of(made.frames, "WholeStageCodegen[*].processNext").total.verdict == "slower"


def test_where_no_iteration_was_measured_the_application_is_one(tmp_path):
    sides = [world(900), world(1800)]
    for made in sides:
        for row in made.rows["iterations"]:
            row["warmup"] = True
    made = compared(tmp_path, *sides)
    assert made.a.iterations_count == 1
    assert of(made.whole, "cpu").total.b.value == pytest.approx(3 * 4 * 1260e6)


def test_runs_without_samples_are_refused(tmp_path):
    empty = World([StageSpec([900])])
    empty.rows["samples"] = []
    with pytest.raises(UsageError, match="no samples of CPU or wall time"):
        compared(tmp_path, world(), empty)


def test_an_imported_profile_without_times_is_told_what_it_lacks(tmp_path):
    (tmp_path / "x.folded").write_text("main;f 30\n")
    import_profiles([tmp_path / "x.folded"], tmp_path / "run")
    with pytest.raises(UsageError, match="only cpu in samples: differences are of times") as error:
        frame_difference([tmp_path / "run"], [tmp_path / "run"])
    assert "--unit ns" in error.value.remedy


def test_sides_that_have_no_event_in_common_are_refused(tmp_path):
    sides = []
    for event in ("cpu", "wall"):
        made = world()
        made.rows["samples"] = [row for row in made.rows["samples"] if row["event"] == event]
        sides.append(made)
    with pytest.raises(UsageError, match="no event in common"):
        compared(tmp_path, *sides)


def test_the_command_prints_the_changes_and_writes_the_page(tmp_path, capsys):
    runs = [str(world(ms).write(tmp_path / str(ms))) for ms in (900, 910, 1800, 1810)]
    page = tmp_path / "diff.html"
    words = ["flame", *runs[:2], "--against", *runs[2:], "-o", str(page), "--json"]
    assert run_verb(words) == 0
    out, err = capsys.readouterr()
    made = json.loads(out.splitlines()[-1])
    assert made["schema"] == "pyrometer/frame-difference/1"
    assert [len(made[side]["runs"]) for side in "ab"] == [2, 2]
    assert re.search(r"CPU .*\+2\.52 s \[\+\d", err)
    assert "false discovery rate" in err
    html = page.read_text(encoding="utf-8")
    content = json.loads(re.search(r'id="content">(.*?)</script>', html)[1])
    assert content["flame"]["events"] == ["cpu", "wall"]
    assert content["flame"]["nodes_count"] > 5
    assert {f["name"] for f in content["frames"]} == {f["name"] for f in made["frames"]}


def test_side_b_may_begin_after_an_equals_sign(tmp_path, capsys):
    runs = [str(world(ms).write(tmp_path / str(ms))) for ms in (900, 910, 1800, 1810)]
    assert run_verb(["flame", *runs[:2], f"--against={runs[2]}", runs[3], "--json"]) == 0
    made = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [len(made[side]["runs"]) for side in "ab"] == [2, 2]


def test_options_about_one_run_do_not_go_with_a_difference(tmp_path, capsys):
    run = str(world().write(tmp_path / "a"))
    assert run_verb(["flame", run, "--against", run, "--by", "stage"]) == 2
    assert run_verb(["flame", run, run]) == 2
    assert "flame takes one run" in capsys.readouterr().err
    assert run_verb(["flame", run, "--against", run, "-o", "page", f"{run}/x"]) == 2
    said = capsys.readouterr().err
    assert "directly after --against" in said
    assert "pyrometer flame RUN… --against" in said
