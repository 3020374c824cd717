from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time

import pytest

from pyrometer.workloads import registry, runner
from pyrometer.workloads.launch import launch_spec
from pyrometer.workloads.runner import main
from pyrometer.workloads.values import IterationResult


class FakeContext:
    def __init__(self):
        self.properties = []

    def setLocalProperty(self, key, value):  # noqa: N802
        self.properties.append((key, value))


class FakeSpark:
    def __init__(self):
        self.sparkContext = FakeContext()
        self.stopped = 0

    def stop(self):
        self.stopped += 1


@pytest.fixture
def spark(monkeypatch):
    made = FakeSpark()
    monkeypatch.setattr(runner, "start_session", lambda conf: made)
    handlers = [(n, signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM)]
    yield made
    for number, handler in handlers:
        signal.signal(number, handler)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.BUILTIN, "toy", "tests.support.toy_workload:Toy")

    def go(ending, **more):
        launch_spec("toy", {"ending": ending}, "test", raw_dir=tmp_path, **more)
        code = main([str(tmp_path / "workload.json")])
        path = tmp_path / "iterations.ndjson"
        lines = path.read_text().splitlines() if path.is_file() else []
        return code, [json.loads(line) for line in lines]

    return go


def test_a_failed_part_fails_the_iteration_but_keeps_the_others(run, spark, capsys):
    code, lines = run("part", iterations=2, warmup=0)
    assert code == 1
    assert [line["k"] for line in lines] == ["start", "end"]
    assert (lines[1]["status"], lines[1]["rows"]) == ("failed", 1)
    assert lines[1]["error"] == "1 of 2 failed (q2): told to fail"
    assert [part["error"] for part in lines[1]["parts"]] == [None, "told to fail"]
    assert "toy failed: 1 of 2 failed (q2): told to fail" in capsys.readouterr().err


def test_iterations_are_numbered_from_0_with_the_warm_up_first(run, spark):
    code, lines = run("right", iterations=2, warmup=1)
    assert code == 0
    assert [(r["k"], r["iteration"], r["warmup"]) for r in lines] == [
        ("start", 0, True), ("end", 0, True), ("start", 1, False),
        ("end", 1, False), ("start", 2, False), ("end", 2, False),
    ]  # fmt: skip
    assert {r["status"] for r in lines if r["k"] == "end"} == {"ok"}
    assert [r["mono_ns"] for r in lines] == sorted(r["mono_ns"] for r in lines)
    ends = [r for r in lines if r["k"] == "end"]
    assert {(r["rows"], r["checksum"], r["error"]) for r in ends} == {(0, "0" * 16, None)}
    assert spark.sparkContext.properties[:4] == [
        ("pyrometer.iteration", "0"), ("pyrometer.warmup", "true"),
        ("pyrometer.iteration", None), ("pyrometer.warmup", None),
    ]  # fmt: skip
    assert spark.stopped == 1


def test_wrong_result_ends_the_run_with_3_and_says_what_differs(run, spark, capsys):
    code, lines = run("wrong", iterations=2, warmup=0)
    assert code == 3
    assert len(lines) == 2
    assert (lines[1]["status"], lines[1]["rows"]) == ("wrong_result", 1)
    assert lines[1]["error"] == "rows: expected 0, got 1"
    assert "WRONG RESULT of toy, iteration 0: rows: expected 0, got 1" in capsys.readouterr().err
    assert spark.stopped == 1


def test_exception_ends_the_run_with_1(run, spark, capsys):
    code, lines = run("raise", iterations=2, warmup=0)
    assert code == 1
    assert (lines[1]["status"], lines[1]["error"]) == ("failed", "ValueError: told to raise")
    assert (lines[1]["rows"], lines[1]["checksum"]) == (None, None)
    assert "ValueError: told to raise" in capsys.readouterr().err
    assert spark.stopped == 1


def test_an_iteration_whose_check_raises_is_kept_as_failed(run, spark, monkeypatch):
    def broken(*_):
        raise KeyError("sum")

    monkeypatch.setattr("tests.support.toy_workload.Toy.verify", broken)
    code, lines = run("right", iterations=2, warmup=0)
    assert code == 1
    assert [line["k"] for line in lines] == ["start", "end"]
    assert (lines[1]["status"], lines[1]["error"]) == ("failed", "KeyError: 'sum'")
    assert (lines[1]["rows"], lines[1]["checksum"]) == (0, "0" * 16)
    assert spark.sparkContext.properties[-1] == ("pyrometer.warmup", None)


def test_an_iteration_ends_when_its_result_says(run, spark, monkeypatch):
    ended = []

    def slow(*_):
        ended.append(time.monotonic_ns())
        time.sleep(0.05)
        return IterationResult(0, "0" * 16, ended_mono_ns=ended[0])

    monkeypatch.setattr("tests.support.toy_workload.Toy.run", slow)
    stopped = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: stopped)
    _, lines = run("right", iterations=1, warmup=0)
    assert lines[1]["mono_ns"] == ended[0]
    assert lines[1]["wall_ns"] <= stopped - 50_000_000


def test_iterations_that_cannot_be_written_do_not_end_the_run(run, spark, tmp_path, capsys):
    (tmp_path / "iterations.ndjson").mkdir()
    code, _ = run("right", iterations=3, warmup=0)
    assert code == 0
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_spark_that_does_not_start_is_a_failure_without_iterations(run, monkeypatch, spark, capsys):
    def no_java(conf):
        raise RuntimeError("JAVA_GATEWAY_EXITED")

    monkeypatch.setattr(runner, "start_session", no_java)
    assert run("right") == (1, [])
    assert "JAVA_GATEWAY_EXITED" in capsys.readouterr().err


def test_the_page_cache_is_looked_at_before_each_iteration(run, spark):
    _, lines = run("right", iterations=2, warmup=0, cache_state="cold")
    caches = [r["cache"] for r in lines if r["k"] == "start"]
    assert [c["state"] for c in caches] == ["cold", "cold"]
    assert caches[0]["resident_ratio"] is not None or caches[0]["reason"]


class FakeConf(dict):
    """Settings of a session, one of which it does not take."""

    def isModifiable(self, key):  # noqa: N802
        return key != "spark.sql.warehouse.dir"

    set = dict.__setitem__


class FakeSession(FakeSpark):
    """A session that makes others."""

    def __init__(self):
        super().__init__()
        self.conf, self.others = FakeConf(), []

    def newSession(self):  # noqa: N802
        self.others.append(FakeSession())
        return self.others[-1]


def test_treatments_take_turns_each_in_a_session_of_its_own(run, monkeypatch):
    made = FakeSession()
    monkeypatch.setattr(runner, "start_session", lambda conf: made)
    partitions = "spark.sql.shuffle.partitions"
    turns = [({partitions: "7"}, (0, 3)), ({partitions: "8", "cache.state": "warm"}, (1, 2))]
    code, lines = run("right", iterations=2, warmup=2, turns=turns)
    assert code == 0
    assert [one.conf for one in made.others] == [{partitions: "7"}, {partitions: "8"}]
    starts = [line for line in lines if line["k"] == "start"]
    assert [(line["levels"][partitions], line["warmup"]) for line in starts] == [
        ("7", True), ("8", True), ("8", False), ("7", False),
    ]  # fmt: skip
    fixed = [({"spark.sql.warehouse.dir": "/x"}, (0, 1)), ({}, (2, 3))]
    assert run("right", iterations=2, warmup=2, turns=fixed)[0] == 1


ONE_FILE = """\
from pyspark import cloudpickle
from tests.support.toy_workload import Toy

def twice(number):
    return 2 * number

class Twice(Toy):
    def run(self, spark, prepared, spec):
        spark.sent = cloudpickle.dumps(lambda number: twice(number) + 1)
        return super().run(spark, prepared, spec)
"""


def test_functions_of_a_workload_in_one_file_reach_processes_that_cannot_import_it(
    spark, tmp_path, monkeypatch
):
    path = tmp_path / "my.py"
    path.write_text(ONE_FILE)
    launch_spec(str(path), raw_dir=tmp_path, iterations=1, warmup=0)
    assert main([str(tmp_path / "workload.json")]) == 0
    monkeypatch.delitem(sys.modules, str(path))
    assert pickle.loads(spark.sent)(21) == 43


def test_a_canary_is_measured_before_each_iteration(run, spark):
    text = '{"alu_ns": [2], "latency_ns": [90], "copy_bytes_per_s": [1e9]}'
    code, lines = run("right", iterations=1, warmup=1, canary=("echo", text))
    assert code == 0
    seen = [line.get("canary") for line in lines]
    told = {"alu_ns": 2.0, "latency_ns": 90.0, "copy_bytes_per_s": 1e9}
    assert seen == [told, None, told, None]


def test_a_runner_whose_other_side_has_ended_does_not_wait_for_it(run, spark, tmp_path, capsys):
    (tmp_path / "over").touch()
    folder = {"folder": str(tmp_path), "side": 0, "sides": 2}
    code, lines = run("right", iterations=1, warmup=0, barrier=folder)
    assert (code, lines) == (1, [])
    assert "the other side has ended" in capsys.readouterr().err


def test_what_is_load_for_others_is_no_iteration(run, spark, tmp_path):
    # Two sides, of which the other is done already, but begins 50 ms later.
    for word in ("ready", "done"):
        (tmp_path / f"{word}-1").touch()
    beside = {"folder": str(tmp_path), "side": 0, "sides": 2, "overlap": (0.0, 0.05)}
    code, lines = run("right", iterations=1, warmup=1, barrier=beside)
    assert code == 0
    assert [(one["k"], one["iteration"]) for one in lines] == [
        ("start", 0), ("end", 0), ("start", 1), ("end", 1),
    ]  # fmt: skip
    assert lines[2]["mono_ns"] - lines[1]["mono_ns"] >= 50e6
    assert (tmp_path / "done-0").is_file()
    assert (tmp_path / "over").is_file()


@pytest.fixture
def child():
    """A process of ours that has nothing to do with Spark."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate()


class GivenUpError(BaseException):
    pass


def test_a_session_given_up_as_it_begins_ends_its_own_processes_alone(child, monkeypatch):
    begun = []

    def give_up(builder):
        begun.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        raise GivenUpError

    monkeypatch.setattr("pyspark.sql.SparkSession.Builder.getOrCreate", give_up)
    with pytest.raises(GivenUpError):
        runner.start_session({})
    begun[0].stdin.close()
    assert begun[0].wait() == -signal.SIGTERM
    assert child.poll() is None


def test_a_run_without_spark_ends_no_process_of_others(run, spark, child, monkeypatch):
    monkeypatch.setattr("tests.support.toy_workload.Toy.engine", "process")
    assert run("right", iterations=1, warmup=0)[0] == 0
    assert child.poll() is None
