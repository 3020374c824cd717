"""The search that makes tables: what it asks for, kills at any point, and tables that are read."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.tune.jobs import JOBS, Searched, planned
from benchmarks.tune.made import drift, read_header, write
from benchmarks.tune.search import Limits, carry_out, main, prune
from benchmarks.tune.standings import best_of, standings, weights
from benchmarks.tune.table import read_table
from benchmarks.tune.wide import FRESH, Wide
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tuning import COLLECTOR, PARTITIONS, Simulated

from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import ExperimentPaths, Surroundings
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.space.cube import key
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.named import named_space
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.folder import TuningPaths, read_tuning

GIB = 1 << 30
SPACE = """\
name: three
knobs:
  spark.sql.shuffle.partitions: {from: 1, to: 400}
  jvm.gc: [g1, parallel]
  jvm.heap: {from: 512m, to: 6g}
"""
UNTIL_DONE = math.inf


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    path = tmp_path_factory.mktemp("spaces") / "three.yaml"
    path.write_text(SPACE)
    return Searched("parquet-scan", "nothing launches it", "test", space=str(path))


def made(folder: Path, job: Searched, trials: int = 24, machine: Simulated | None = None, **keys):
    found = machine or Simulated()
    broken = carry_out(
        {"job": job}, folder, Limits(trials, UNTIL_DONE), actions=found.actions, fill=10, **keys
    )
    assert not broken
    return found


def rows(path: Path) -> list[dict[str, str]]:
    """A table without what a clock says."""
    with path.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    return [{k: v for k, v in one.items() if k not in ("wall_ns", "cost_core_ns")} for one in found]


def trials_of(root: Path, kind: str) -> list[int]:
    text = TuningPaths(root).journal.read_text()
    return [one["trial"] for one in map(json.loads, text.splitlines()) if one["k"] == kind]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, job: Searched) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    made(folder, job)
    return folder


def test_every_block_has_the_baseline_and_new_configurations_and_the_best_again(whole: Path):
    found = rows(whole / "job.csv")
    assert len(found) == 24
    by_block = {block: [one for one in found if one["block"] == block] for block in "012"}
    for block, trials in by_block.items():
        bare = [one for one in trials if not (one[PARTITIONS] or one[COLLECTOR] or one["jvm.heap"])]
        assert len(bare) == 1, block
    names = Counter((one[PARTITIONS], one[COLLECTOR], one["jvm.heap"]) for one in found)
    assert sum(count > 1 for count in names.values()) >= 3
    # Its place in the block is drawn.
    places = {
        trials.index(next(one for one in trials if not one[PARTITIONS] and not one[COLLECTOR]))
        for trials in by_block.values()
    }
    assert len(places) > 1


def test_a_table_is_read_and_says_what_the_search_says(whole: Path):
    header = read_header(whole / "job.csv")
    assert header is not None
    table = read_table(whole / "job.csv", header.space.read())
    assert len(table.seen) == sum(header.trials.values()) == 24
    assert header.baselines == len([one for one in table.seen if not one.configuration])
    best = header.best[0]
    # The job likes few partitions and the parallel collector.
    assert int(best.configuration[PARTITIONS]) < 100
    assert best.trials > 1
    assert best.change[1] < best.change[0] < best.change[2] < 0
    base, known = table.truth({}), table.best_known()
    assert base is not None
    assert known / base - 1 == pytest.approx(best.change[0], abs=0.05)
    assert read_table(whole / "job.csv").truth({}) == pytest.approx(base, rel=0.05)


def test_the_header_says_where_a_table_is_from(whole: Path):
    header = read_header(whole / "job.csv")
    assert header is not None
    assert header.machine["cpus_count"]
    assert header.versions["pyrometer"]
    assert header.versions["pyspark"] or os.environ.get("SPARK_HOME")
    assert header.seed == 0
    assert header.began is not None
    assert header.ended is not None
    assert header.began <= header.ended
    assert header.drift.n == header.baselines
    assert header.trials == {"finished": 24}


def test_a_kill_at_any_point_loses_nothing_and_makes_nothing_twice(whole, job, tmp_path_factory):
    @settings(max_examples=5, deadline=None)
    @given(cut=st.floats(0, 1), torn=st.booleans())
    def one(cut: float, torn: bool) -> None:
        _gone_on_with(whole, job, tmp_path_factory.mktemp("cut"), cut, torn)

    one()


@pytest.mark.slow
def test_neither_does_a_kill_at_many_more(whole, job, tmp_path_factory):
    for number in range(60):
        _gone_on_with(whole, job, tmp_path_factory.mktemp("cut"), number / 59, number % 2 == 0)


def _gone_on_with(whole: Path, job: Searched, folder: Path, cut: float, torn: bool) -> None:
    text = (whole / "job" / "journal.ndjson").read_bytes()
    at = round(cut * len(text))
    if not torn:
        at = text.rfind(b"\n", 0, at) + 1
    root = folder / "job"
    root.mkdir()
    TuningPaths(root).plan.write_bytes(TuningPaths(whole / "job").plan.read_bytes())
    TuningPaths(root).journal.write_bytes(text[:at])
    kept = text[: text.rfind(b"\n", 0, at) + 1]
    ended = [one for one in map(json.loads, kept.splitlines()) if one["k"] == "end"]
    machine = made(folder, job)
    assert rows(folder / "job.csv") == rows(whole / "job.csv")
    assert trials_of(root, "tell") == list(range(1, 25))
    assert len(machine.launched) == 24 - len(ended)


def test_it_can_be_stopped_after_any_trial_and_gone_on_with(tmp_path: Path, whole: Path, job):
    launched = 0
    for trials in (1, 5, 6, 13, 24):
        launched += len(made(tmp_path, job, trials).launched)
        assert len(rows(tmp_path / "job.csv")) == trials
    assert launched == 24
    assert rows(tmp_path / "job.csv") == rows(whole / "job.csv")
    # Time is up before anything begins: only the tables are written again.
    text = (tmp_path / "job.csv").read_bytes()
    (tmp_path / "job.csv").unlink()
    assert not carry_out({"job": job}, tmp_path, Limits(99, time.monotonic()), fill=10)
    assert (tmp_path / "job.csv").read_bytes() == text


def test_the_same_seed_searches_the_same_and_another_does_not(tmp_path, whole, job):
    made(tmp_path / "same", job)
    made(tmp_path / "other", job, seed=5)
    header, other = (read_header(one / "job.csv") for one in (tmp_path / "same", whole))
    assert header.best == other.best
    assert rows(tmp_path / "same" / "job.csv") == rows(whole / "job.csv")
    assert rows(tmp_path / "other" / "job.csv") != rows(whole / "job.csv")
    with pytest.raises(UsageError, match="was begun with seed 5, not 6"):
        made(tmp_path / "other", job, seed=6)


def test_what_fails_or_takes_too_long_is_a_row_and_what_was_never_launched_is_none(tmp_path, job):
    def behaviour(levels, count):
        if levels.get(COLLECTOR) == "parallel":
            return Attempt("failed", reason="exit code 9,\nof all things")
        return None

    def seconds(levels):
        return 400.0 if int(levels.get(PARTITIONS, 200)) < 100 else 40.0

    machine = Simulated(behaviour, seconds=seconds, memory=(4e9, 8e9))
    made(tmp_path, job, 40, machine)
    header = read_header(tmp_path / "job.csv")
    assert header.trials["failed"] > 0
    assert header.trials["given up"] > 0
    assert header.left_out["not launched"] > 0
    assert sum(header.trials.values()) + sum(header.left_out.values()) == 40
    found = read_table(tmp_path / "job.csv", header.space.read()).seen
    failed = [one for one in found if one.failed]
    assert {one.failed for one in failed} == {"failed: exit code 9, of all things"}
    assert all(one.configuration[COLLECTOR] == "parallel" for one in failed)
    stopped = [one for one in found if one.censored]
    # Not stopped before three times the baseline.
    assert all(100e9 < one.value < 140e9 for one in stopped)
    # What came to nothing is not run again.
    names = [key(one.configuration) for one in failed]
    assert len(names) == len(set(names))


def test_disturbed_trials_are_marked_as_the_guard_saw_them(tmp_path, job):
    machine = Simulated()
    busy = Surroundings(disturbed=["others used 30 % of the CPUs"])

    def actions():
        found = machine.actions()
        object.__setattr__(
            found.trials, "judge_others",
            lambda first, limits, swap: busy if len(machine.launched) == 3 else Surroundings(),
        )  # fmt: skip
        return found

    carry_out({"job": job}, tmp_path, Limits(6, UNTIL_DONE), actions=actions, fill=10)
    marks = [one["disturbed"] for one in rows(tmp_path / "job.csv")]
    assert marks == ["", "", "others used 30 % of the CPUs", "", "", ""]
    assert read_header(tmp_path / "job.csv").disturbed == 1


def test_stand_ins_that_pay_are_in_the_table_and_others_are_named(tmp_path):
    def seconds(levels):
        queries = levels.get("workload.query", "all")
        share = 1.0 if queries == "all" else len(queries.split("+")) / 22
        share *= 0.05 if levels.get("scale", "1000") != "1000" else 1.0
        return 200.0 * share * (1 + int(levels.get(PARTITIONS, 200)) / 1000)

    def parts(levels):
        few = int(levels.get(PARTITIONS, 200))
        return {f"q{one:02}": 5.0 + few / 100 * (one % 5) for one in range(1, 23)}

    one = Searched("tpch", "nothing launches it", "1000", space="spark-sql")
    machine = Simulated(seconds=seconds, parts=parts)
    made(tmp_path, one, 60, machine)
    header = read_header(tmp_path / "job.csv")
    used = {one.name for one in header.stand_ins if one.left_out is None}
    assert used
    table = read_table(tmp_path / "job.csv", header.space.read())
    assert table.fidelities.keys() == used
    for name in used:
        trials = [one for one in table.seen if one.fidelity == name]
        assert sum(not one.configuration for one in trials) > 1
        full = {key(one.configuration) for one in table.seen if one.fidelity == FULL}
        assert len(full & {key(one.configuration) for one in trials}) > 3


def test_a_job_that_does_not_finish_does_not_stop_the_others(tmp_path, job, capsys):
    bad = Simulated(lambda levels, count: Attempt("failed", reason="exit code 9"))
    good = Simulated()
    machines = iter([bad, good, good, good, good])
    broken = carry_out(
        {"bad": job, "good": job}, tmp_path, Limits(8, UNTIL_DONE),
        actions=lambda: next(machines).actions(), fill=10,
    )  # fmt: skip
    assert broken.keys() == {"bad"}
    assert len(rows(tmp_path / "good.csv")) == 8
    assert "bad: the job as it is does not finish" in capsys.readouterr().err


def test_all_that_is_asked_for_may_be_launched():
    facts = {"mem_total": 8.0 * GIB, "cpus": 2.0}
    space = named_space(["spark-sql", "jvm", "layout"], facts)
    wide, rng = Wide(space, seed=3, fill=20), random.Random(1)
    names, sizes = set(), []
    for _ in range(80):
        asked = wide.ask()
        assert infeasible(space, asked.configuration) is None
        sizes += [len(asked.configuration)] * (asked.why == "fills the space")
        names.add(key(asked.configuration))
        heap = "jvm.heap" in asked.configuration
        value = 1e10 * (0.9 if heap else 1.0) * math.exp(rng.gauss(0, 0.02))
        seen = Observation(asked.configuration, asked.fidelity, asked.block, value, 2 * value)
        wide.tell(seen)
    assert len(names) > 80 / 2
    # Points of the whole cube, and points near the job as it is.
    few = [one for one in sizes if one <= math.ceil(len(space.knobs) / 4)]
    assert 0.25 * len(sizes) < len(few) < 0.75 * len(sizes)
    assert "jvm.heap" in wide.best().configuration


def test_a_space_that_is_small_is_gone_through_and_no_further():
    space = Space("two", (Knob("jvm.gc", "choice", levels=("g1", "parallel"), default="g1"),))
    wide = Wide(space, fill=2 * FRESH)
    for _ in range(30):
        asked = wide.ask()
        wide.tell(Observation(asked.configuration, asked.fidelity, asked.block, 1e9, 1e9))
    assert wide.best() is not None


def test_blocks_are_taken_out_of_what_configurations_are_compared_by():
    rng = random.Random(4)
    levels = {"a": 0.0, "b": -0.2, "c": -0.1}
    seen = []
    for block in range(6):
        weather = 0.3 * block
        for name in ("", "a", *(["b"] if block > 3 else ["c"])):
            value = math.exp(20 + weather + levels.get(name, 0.0) + rng.gauss(0, 0.01))
            seen.append(Observation({"spark.x": name} if name else {}, FULL, block, value, value))
    found = standings(seen)
    names = [one.configuration.get("spark.x", "") for one in found]
    # By raw means the slower blocks of b would put it last.
    assert names[:2] == ["b", "c"]
    assert found[0].change == pytest.approx(-0.2, abs=0.1)
    assert best_of(found).configuration == {"spark.x": "b"}
    assert standings(seen[1:2]) == []


def test_a_baseline_that_failed_once_is_still_what_others_are_compared_with():
    seen = [Observation({}, FULL, block, 1e10, 1e10) for block in range(3)]
    seen += [Observation({}, FULL, 3, None, 1e10, failed="out of memory")]
    seen += [Observation({"spark.x": "1"}, FULL, block, 0.9e10, 1e10) for block in range(3)]
    seen += [Observation({"spark.x": "2"}, FULL, block, 0.5e10, 1e10) for block in range(3)]
    seen += [Observation({"spark.x": "2"}, FULL, 3, None, 1e10, failed="out of memory")]
    found = standings(seen)
    assert [one.configuration for one in found] == [{"spark.x": "1"}, {}]
    assert found[0].change == pytest.approx(math.log(0.9))


def test_one_lucky_trial_makes_no_best():
    seen = [Observation({}, FULL, block, 1e10, 1e10) for block in range(4)]
    seen += [Observation({"spark.x": "1"}, FULL, block, 0.95e10, 1e10) for block in range(4)]
    seen += [Observation({"spark.x": "2"}, FULL, 1, 0.8e10, 1e10)]
    assert best_of(standings(seen)).configuration == {"spark.x": "1"}


def test_factors_that_matter_are_turned_more_often():
    knobs = tuple(Knob(f"spark.{one}", "int", 1, 1000, log=True, default="10") for one in "abc")
    space, rng = Space("three", knobs), random.Random(0)
    seen = [Observation({}, FULL, 0, 1e10, 1e10)]
    for _ in range(30):
        levels = {one.factor: str(rng.randrange(1, 1000)) for one in knobs}
        value = 1e10 * (int(levels["spark.b"]) / 10) ** 0.2
        seen.append(Observation(levels, FULL, 0, value, value))
    found = weights(space, standings(seen))
    assert found.sum() == pytest.approx(1)
    assert found.min() > 0.1
    assert found.argmax() == 1
    assert found[1] > 0.4


def test_drift_has_an_interval_and_is_not_known_of_two():
    found = drift([(at / 4, 23 + 0.01 * at + 0.001 * (at % 3)) for at in range(12)])
    # A hundredth in each of eleven quarters of an hour.
    assert found.low < math.expm1(0.1105) < found.high
    assert found.low > 0.1
    assert drift([(0.0, 23.0), (1.0, 23.0)]).value is None
    assert drift([(0.0, 23.0)] * 5).value is None


def test_of_a_run_that_was_read_its_manifest_is_kept(tmp_path, job):
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    (run / "raw" / "log").write_text("x")
    (run / "file").write_text("x")
    prune(run)
    assert (run / "raw" / "log").exists()
    (run / "manifest.json").write_text("{}")
    prune(run)
    assert [one.name for one in run.iterdir()] == ["manifest.json"]


def test_every_job_can_be_planned_here(tmp_path: Path):
    for name, one in JOBS.items():
        found = planned(name, one, tmp_path / name, seed=1)
        assert found.name == name
        assert len(found.space.knobs) > 20
        assert found.space.facts["mem_total"] <= 8 * GIB
        assert found.engine not in ("own", "tpe")


def test_mistakes_are_one_message(tmp_path, capsys, whole):
    assert main(["tcph", "-o", str(tmp_path)]) == 2
    assert "did you mean 'tpch'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tpch", "-o", str(tmp_path), "--trials", "0"])
    assert "a whole number from 1 on" in capsys.readouterr().err
    (whole / "broken.json").write_text("{}")
    with pytest.raises(UsageError, match="no header of a table"):
        read_header(whole / "broken.csv")
    assert read_header(whole / "none.csv") is None
    assert main(["tpch", "-o", str(tmp_path), "--minutes", "0"]) == 0
    assert "tpch: no trial has ended" in capsys.readouterr().out
    assert write(tmp_path / "tpch", tmp_path) is None
    assert read_tuning(tmp_path / "tpch").seed == 0
    assert ExperimentPaths(tmp_path / "tpch").root.is_dir()
