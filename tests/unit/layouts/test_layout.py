"""Layouts: planned on recorded machines, and told from trials."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console
from tests.support import experiments
from tests.support.tables import HOST, StageSpec, World, mono
from tests.unit.collect.test_placing import HOSTS, simulated

from pyrometer.cli.main import run_verb
from pyrometer.collect.doctor.bundle import lay_out, write
from pyrometer.collect.host.facts import Machine, read
from pyrometer.collect.host.placement import placement
from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import Ended, read_plan
from pyrometer.experiments.journal import opened_journal, read_journal
from pyrometer.experiments.judge.files import kept_layouts
from pyrometer.experiments.run.loop import begin
from pyrometer.layouts.analysis import changes, layout_report, optimum, unbound
from pyrometer.layouts.plan import GIB, Host, default_placements, layouts
from pyrometer.layouts.schema import ExecutorPlace, LayoutResult, TrialPlaces
from pyrometer.layouts.terminal import show
from pyrometer.statistics.many import best, dunnett
from pyrometer.trial.factors import parse_treatment, write_numbers
from pyrometer.trial.layout import resolve_layout

TREES = Path(__file__).parents[2] / "fixtures/topology"


def recorded(root: Path, name: str, trees: Path = TREES) -> Machine:
    """Lay a recorded machine out below a folder, and read it."""
    if name in HOSTS:
        return simulated(root, HOSTS[name])
    lay_out((trees / f"{name}.tree").read_text(), root)
    return read(root)


@pytest.mark.parametrize("name", ["xeon-2-nodes", "power8"])
def test_a_bundle_is_a_recorded_machine_as_it_is(tmp_path, name):
    machine = recorded(tmp_path / "there", name)
    write(tmp_path / "theirs.tree", tmp_path / "there")
    assert recorded(tmp_path / "here", "theirs", tmp_path) == machine


def host_of(machine: Machine) -> Host:
    nodes = {node: sum(cpu.node == node for cpu in machine.cpus) for node in machine.nodes}
    return Host(len(machine.cpus), {node: count for node, count in nodes.items() if count})


@pytest.mark.parametrize(
    ("name", "places", "first_of_two_nodes"),
    [
        ("xeon-2-nodes", ["NB", "1B", "2B", "2I"], "0-7"),
        ("xeon-4-nodes", ["NB", "1B", "2B", "3B", "4B", "4I"], "0,4,8,12,16,20,24,28,32,36"),
        ("opteron-8-nodes", ["NB", "1B", "2B", "3B", "4B", "8B", "8I"], "0-5"),
        ("epyc-8-nodes", ["NB", "1B", "2B", "3B", "4B", "8B", "8I"], "0-5,48-53"),
        ("kunpeng-4-nodes", ["NB", "1B", "2B", "3B", "4B", "4I"], "0-31"),
        ("power9-gpu-memory", ["NB", "1B", "2B", "2I"], "0-15"),
        ("power8", ["NB", "1B", "2B", "3B", "4B", "4I"], "0-47"),
    ],
)
def test_layouts_of_recorded_machines_are_placed_on_their_nodes(
    tmp_path, name, places, first_of_two_nodes
):
    machine = recorded(tmp_path, name)
    host, every = host_of(machine), frozenset(cpu.number for cpu in machine.cpus)
    assert default_placements(host) == places
    assert sum(host.nodes.values()) == len(every)
    made, _ = layouts(host, places, None, host.cpus, host.cpus * GIB)
    assert {one.binding.name for one in made} == set(places)
    seen = {}
    for one in made:
        place = one.binding.name
        levels = parse_treatment([f"{k}={v}" for k, v in one.levels().items()])
        assert resolve_layout(levels) == one
        part = host.cpus_in(place)
        # Slots are as many as CPUs of the place, heap is a GiB for each.
        assert one.tasks == part
        assert one.executors * one.heap_bytes == pytest.approx(part * GIB, rel=0.01)
        found = placement(one, machine, every)
        seen[place, one.executors] = found
        bound = [executor.cpus for executor in found.executors]
        if place.endswith("B") and place != "NB":
            assert len(frozenset.union(*bound)) == part
            assert all(len(executor.memory[1]) >= 1 for executor in found.executors)
        else:
            assert bound == []
    two = seen["2B", 2].executors
    assert write_numbers(two[0].cpus) == first_of_two_nodes
    assert not two[0].cpus & two[1].cpus
    assert [place.memory[0] for place in two] == ["bind", "bind"]
    assert seen["1B", 1].application.cpus == two[0].cpus
    most = f"{len(host.nodes)}I"
    assert seen[most, 1].application.memory == ("interleave", tuple(sorted(host.nodes)))
    assert seen["NB", 2].executors == ()


def test_a_host_with_one_node_compares_parts_of_its_cpus_and_says_what_it_lacks():
    host = Host(8, {0: 8})
    assert default_placements(host) == ["NB", "2C", "4C", "8C", "1B"]
    made, out = layouts(host, ["NB", "4C"], [1, 3, 4], 8, 2 * GIB)
    assert [(one.binding.name, one.name) for one in made] == [
        ("NB", "1×8"), ("NB", "4×2"), ("4C", "1×4"),
    ]  # fmt: skip
    assert out == [
        "NB, 3 JVMs: 3 JVMs cannot share 8 task slots equally",
        "4C, 3 JVMs: 3 JVMs cannot share 4 task slots equally",
        "4C, 4 JVMs: a heap of 256 MiB; Spark needs 450",
    ]
    assert made[2].levels() == {
        "layout.executors": "1", "layout.cores_per_executor": "4", "jvm.heap": "1024m",
        "host.cpus": "4", "cpu.bind": "own",
    }  # fmt: skip


def result(place: str, jvms: int) -> LayoutResult:
    time = Estimate(value=1.0, low=None, high=None, level=0.95, n=1, method="t")
    return LayoutResult(
        treatment=f"{place} {jvms}", place=place, layout=f"{jvms}×{8 // jvms}", jvms=jvms,
        slots=8 // jvms, heap_bytes=None, elapsed_s=time,
    )  # fmt: skip


def test_a_place_whose_executors_were_not_apart_is_doubted():
    def ran(place: str, *cpus: str | None) -> LayoutResult:
        executors = [ExecutorPlace(executor_id=str(at), pid=at, cpus=its)
                     for at, its in enumerate(cpus)]  # fmt: skip
        trial = TrialPlaces(trial=3, block=1, executors=executors)
        return result(place, len(cpus)).model_copy(update={"trials": [trial]})

    apart = [ran("2C", "0", "1"), ran("2B", "0-7", "8-15", "0-7"), ran("2C", "0-1")]
    shared = [ran("1B", "0-7", "0-7"), ran("NB", "0-15", "0-15"), ran("2I", "0-15", "0-15")]
    assert unbound([*apart, *shared, ran("2C", None, None)]) == []
    (found,) = unbound([*apart, ran("2C", "0-1", "0-1")])
    assert (found.code, found.message) == ("not_bound", "2C 2×4, trial 3: all on 0-1")


def timed(effects: dict[int, float], noise: float, blocks: int = 6, place: str = "NB"):
    draw = np.random.default_rng(7)
    base = draw.normal(0, 0.2, blocks)
    return [result(place, jvms) for jvms in effects], {
        f"{place} {jvms}": {
            at: float(10 * factor * np.exp(base[at] + draw.normal(0, noise)))
            for at in range(blocks)
        }
        for jvms, factor in effects.items()
    }


def test_an_optimum_inside_is_told_only_where_both_ends_are_surely_worse():
    effects = {1: 1.0, 2: 0.8, 4: 0.82, 8: 1.1}
    found = optimum(*timed(effects, 0.005))
    assert (found.layout, found.interior, found.could_be) == ("2×4", True, ["2×4"])
    assert (found.jvms.value, found.jvms.low, found.jvms.high) == (2, 2, 2)
    noisy = optimum(*timed(effects, 0.6))
    assert not noisy.interior
    assert "8×1" in noisy.told
    assert noisy.told.startswith("interior optimum: none to be seen")
    falling = optimum(*timed({1: 1.0, 2: 0.9, 4: 0.8}, 0.005))
    assert (falling.layout, falling.interior) == ("4×2", False)
    two = optimum(*timed({1: 1.0, 2: 0.8}, 0.005))
    assert (two.layout, two.interior) == ("2×4", False)
    assert "three numbers of JVMs" in two.told
    assert optimum(*timed({1: 1.0, 2: 0.8}, 0.005, blocks=1)).startswith("two blocks")


def test_the_best_is_among_those_that_could_be_as_often_as_promised():
    draw = np.random.default_rng(1)
    true = np.array([1.0, 1.0, 1.02, 1.3])
    held = 0
    for _ in range(400):
        rows = 10 * true * np.exp(draw.normal(0, 0.1, 4)[:, None] + draw.normal(0, 0.05, (4, 4)))
        found = best({str(at): list(rows[:, at]) for at in range(4)})
        held += "0" in found.could_be
    assert held / 400 >= 0.93


def test_critical_values_are_those_of_dunnetts_table():
    # Dunnett 1955, Table 1a, one-sided, 0.95.
    table = {
        (2, 5): 2.44,
        (2, 10): 2.15,
        (3, 10): 2.34,
        (9, 10): 2.81,
        (4, 20): 2.30,
        (5, 60): 2.28,
    }
    assert {key: round(dunnett(0.95, *key), 2) for key in table} == table


def test_places_are_compared_with_the_layouts_that_other_blocks_choose():
    ones, a = timed({1: 1.0, 2: 0.9}, 0.003, place="1B")
    twos, b = timed({1: 0.8, 2: 0.5}, 0.003, place="2B")
    (found,) = changes({"1B": ones, "2B": twos}, {**a, **b}, 0.02)
    assert (found.layout_a, found.layout_b, found.verdict) == ("2×4", "2×4", "faster")
    assert found.speedup.low < 1.8 < found.speedup.high
    # A layout that was lucky in one block is the best of all four, but not of the other three.
    times = {"1B 1": dict.fromkeys(range(4), 10.0), "1B 2": {0: 2.0, 1: 12.0, 2: 12.0, 3: 12.0},
             "2B 1": dict.fromkeys(range(4), 5.0)}  # fmt: skip
    (lucky,) = changes({"1B": ones, "2B": [twos[0]]}, times, 0.02)
    assert lucky.layout_a == "2×4"
    assert lucky.speedup.value == pytest.approx((10 * 12**3) ** 0.25 / 5)
    (none,) = changes({"1B": ones, "2B": twos}, {"1B 1": {0: 1.0}}, 0.02)
    assert (none.speedup, none.reason) == (None, "no block in which all their layouts finished")


def test_verdicts_of_many_pairs_of_places_are_those_of_holm():
    # Four places that do not differ: by chance alone some pair of six looks as if it did.
    found, times = {}, {}
    draw = np.random.default_rng(3)
    for nodes in range(1, 5):
        place = f"{nodes}B"
        found[place] = [result(place, 1)]
        times[f"{place} 1"] = dict(enumerate(10 * np.exp(draw.normal(0, 0.03, 5))))
    made = changes(found, times, 0.02)
    assert len(made) == 6
    alone = [changes({one.a: found[one.a], one.b: found[one.b]}, times, 0.02)[0] for one in made]
    assert all(mine.p >= its.p for mine, its in zip(made, alone, strict=True))
    least = min(range(6), key=lambda at: alone[at].p)
    assert made[least].p == pytest.approx(min(1.0, 6 * alone[least].p))


@pytest.fixture
def told(tmp_path, capsys):
    """Give what is told of two layouts at two places, whose trials are invented runs."""
    root = tmp_path / "told"
    bound = {"host.cpus": "2", "cpu.bind": "own"}
    levels = [
        {"layout.executors": "1", "layout.cores_per_executor": "2", "jvm.heap": "2g"},
        {"layout.executors": "2", "layout.cores_per_executor": "1", "jvm.heap": "1g"},
        {"layout.executors": "2", "layout.cores_per_executor": "1", "jvm.heap": "1g", **bound},
    ]
    plan = experiments.plan([f"t{at}" for at in range(3)], 2, 1)
    for one, its in zip(plan.treatments, levels, strict=True):
        one.levels = its
    begin(root, plan)
    seconds = {"t0": 2.0, "t1": 1.5, "t2": 0.5}
    with opened_journal(root) as journal:
        for trial in plan.trials:
            invented(root / "trials" / trial.folder, int(trial.treatment != "t0"))
            journal.append(
                Ended(
                    trial=trial.number, attempt=1, block=trial.block, treatment=trial.treatment,
                    status="finished", folder=trial.folder, wall_ns=1,
                    seconds=seconds[trial.treatment] * (1 + trial.block / 10),
                )
            )  # fmt: skip
    code = run_verb(["layout", str(root), "--json"])
    done = capsys.readouterr()
    assert code == 0, done.err
    return json.loads(done.out.splitlines()[-1]), done.err


def invented(folder: Path, more: int) -> None:
    """Write a run with executors of their own, a lock that is waited for, and one that spins."""
    world = World([StageSpec([40, 40], iteration=0), StageSpec([40, 40], iteration=1)])
    for number in range(1 + more):
        facts = {"cpus_allowed": str(number), "memory_policy": "default"}
        world.add("processes", host=HOST, pid=50 + number, role="executor", facts=json.dumps(facts),
                  executor_id=str(number), app_id="local-1", start_mono_ns=mono(0))  # fmt: skip
    world.add("frames", frame_id=1, method="ObjectMonitor::TrySpin", kind="cpp")
    world.add("stacks", stack_id=7, frame_ids=[1], truncated=False)
    cpu = [row for row in world.rows["samples"] if row["event"] == "cpu"]
    for row in cpu[::2]:
        row["java_stack"] = 7
    for row in world.rows["samples"]:
        if row.get("wait_class") is not None:
            row["wait_class"] = "lock"
    world.write(folder)


def test_layouts_are_told_from_the_folder_of_an_experiment(told):
    report, text = told
    assert report["schema"] == "pyrometer/layout/1"
    by_name = {one["treatment"]: one for one in report["layouts"]}
    assert [(one["place"], one["layout"]) for one in by_name.values()] == [
        ("NB", "1×2"), ("NB", "2×1"), ("2C", "2×1"),
    ]  # fmt: skip
    first, second = by_name["t0"], by_name["t1"]
    assert first["throughput"] is None
    assert second["throughput"]["value"] == pytest.approx(2.0 / 1.5)
    assert second["elapsed_s"]["n"] == 2
    assert [one["executors"] for one in second["trials"]] == [
        [{"executor_id": "0", "pid": 50, "cpus": "0", "memory": "default"},
         {"executor_id": "1", "pid": 51, "cpus": "1", "memory": "default"}],
    ] * 2  # fmt: skip
    measures = {name: its["value"] for name, its in first["measures"].items()}
    assert 0 < measures["spin_share"] < 1
    assert 0 < measures["lock_share"] < 1
    assert set(report["missing"]) >= {"remote_share", "gc_share"}
    places = {one["place"]: one for one in report["places"]}
    assert places["NB"]["best"]["layout"] == "2×1"
    assert places["2C"]["what"] == "2 CPUs: each JVM bound to its own"
    assert places["2C"]["reason"] == "one layout: there is nothing to choose from"
    (found,) = report["changes"]
    assert (found["a"], found["b"], found["verdict"]) == ("NB", "2C", "faster")
    assert found["speedup"]["value"] == pytest.approx(3.0)
    assert "pid 50 on CPUs 0; pid 51 on CPUs 1" in text
    assert "NB → 2C" in text
    assert "remote: not known" in text
    folder = Path(report["folder"])
    assert str(folder / "report.html") in text
    assert '"pyrometer/layout/1"' in (folder / "report.html").read_text()
    assert kept_layouts(folder) == report
    (folder / "layout.json").write_text('{"schema": "pyrometer/layout/1"')
    assert kept_layouts(folder) is None


def test_a_trial_that_cannot_be_read_lacks_its_measures_alone(told):
    report, _ = told
    folder = Path(report["folder"])
    plan = read_plan(folder)
    shutil.rmtree(folder / "trials" / plan.trials[0].folder)
    again = layout_report(folder, plan, read_journal(folder))
    assert again.done_count == report["done_count"]
    times = [one.elapsed_s.value for one in again.layouts]
    assert times == [one["elapsed_s"]["value"] for one in report["layouts"]]
    assert sorted(one.measures["lock_share"].n for one in again.layouts) == [1, 2, 2]
    assert sorted(len(one.trials) for one in again.layouts) == [1, 2, 2]
    assert again.missing == report["missing"]
    (unread,) = (one.message for one in again.doubts if one.code == "trials_unread")
    assert unread.startswith(f"1 of 6 trials: trial {plan.trials[0].number}: ")


def test_without_a_trial_that_can_be_read_executors_are_not_known(told):
    folder = Path(told[0]["folder"])
    shutil.rmtree(folder / "trials")
    again = layout_report(folder, read_plan(folder), read_journal(folder))
    text = StringIO()
    show(Console(file=text, width=200), again)
    assert text.getvalue().count("no trial could be read") == 3
    assert "reported where it ran" not in text.getvalue()


def test_other_experiments_are_refused(tmp_path, capsys):
    for name, its, message in (
        ("none", [{"jvm.gc": "z"}], "t0 says no layout.executors"),
        ("same", [{"layout.executors": "1", "layout.tasks": "2", "jvm.gc": one} for one in "ab"],
         "varies more than layouts: t0 and t1"),
    ):  # fmt: skip
        plan = experiments.plan([f"t{at}" for at in range(len(its))], 1, 1)
        for one, levels in zip(plan.treatments, its, strict=True):
            one.levels = levels
        begin(tmp_path / name, plan)
        assert run_verb(["layout", str(tmp_path / name)]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--places", "2X"], "'2X' is not a known place"),
        (["--jvms", "1,x"], "expected numbers of JVMs above zero"),
        (["--jvms", "3", "--slots", "4"], "3 JVMs cannot share 4 task slots equally"),
        (["--memory", "plenty"], "--memory=plenty: not a size"),
        (["--memory", "256m"], "Spark needs 450"),
        (["--set", "jvm.gc"], "is not of the form factor=level"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["layout", "parquet-scan", *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "pyrometer-runs").exists()


@pytest.mark.slow
def test_a_dry_run_writes_the_file_alone(tmp_path, capsys):
    root = tmp_path / "dry"
    words = ["parquet-scan", "--jvms", "1", "--slots", "2", "--places", "NB,1C", "--memory", "2g"]
    assert run_verb(["layout", *words, "--dry-run", "-o", str(root)]) == 0
    made = yaml.safe_load((tmp_path / "dry.yaml").read_text())
    assert made["matrix"]["include"][0] == {
        "layout.executors": "1", "layout.cores_per_executor": "2", "jvm.heap": "2048m",
        "cpu.bind": "none",
    }  # fmt: skip
    assert made["baseline"] == made["matrix"]["include"][0]
    assert made["set"] == {"spark.driver.memory": "1g"}
    assert not root.exists()
    assert "block 1:" in capsys.readouterr().out
    assert run_verb(["layout", *words, "--dry-run", "--json", "-o", str(root)]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["schema"] == "pyrometer/experiment-plan/1"
    assert told["plan"]["trials"]


def test_a_workload_without_spark_has_no_layouts(tmp_path, capsys):
    words = ["random-read", "--jvms", "1", "--places", "NB", "-o", str(tmp_path / "reads")]
    assert run_verb(["layout", *words]) == 3
    assert "random-read starts no Spark" in capsys.readouterr().err
    assert not (tmp_path / "reads").exists()


@pytest.mark.parametrize(
    ("doubted", "varied", "code", "silent"),
    [
        (["emulated"], {}, "emulated_in_turn", {"NB", "2B"}),
        ([], {"numa.nodes": "0,1"}, "machine_nodes", {"2B"}),
    ],
)
def test_no_layout_of_machines_is_best_where_their_times_do_not_show_it(
    told, doubted, varied, code, silent
):
    folder = Path(told[0]["folder"])
    plan, entries = read_plan(folder), read_journal(folder)
    for one in plan.treatments:
        one.levels |= {"machine.numa": "2", "machine.cpus": "4", "machine.memory": "4g"}
        one.varied |= varied
    levels = plan.treatments[2].levels
    del levels["host.cpus"], levels["cpu.bind"]
    levels |= {"numa.nodes": "0,1", "numa.bind": "bind"}
    for one in entries.ended.values():
        one.doubted = doubted
    report = layout_report(folder, plan, entries)
    assert code in {one.code for one in report.doubts}
    places = {one.place: one for one in report.places}
    assert set(places) == {"NB", "2B"}
    assert {name for name, one in places.items() if one.best is None} == silent
    (change,) = report.changes
    assert (change.verdict, change.p) == ("cannot tell", None)
    assert change.speedup is not None
    assert (change.reason or "") == places["2B"].reason
