"""Tasks by thread names, the part of a JVM in Spark, and what is refused before anything starts."""

from __future__ import annotations

import json
import mmap
import os
import pwd
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyrometer.cli.measure.probe import seconds
from pyrometer.collect.attach import hotspot, profiler, profiler_keeper
from pyrometer.collect.attach.hotspot import Jvm, NoAnswerError
from pyrometer.collect.attach.polled_tasks import PolledTasks, Span, named_tasks, write_spans
from pyrometer.collect.attach.profiler import AttachedStacks
from pyrometer.collect.attach.spark_jvm import (
    closed_name,
    configured_log,
    local_folder,
    open_log,
    part_of,
)
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.orchestrator.attach import probe
from pyrometer.store.paths import RunPaths

NAME = '"Executor task launch worker for task {0}.0 in stage {1}.0 (TID {2})"'


def test_names_of_both_kinds_of_dumps():
    old = NAME.format(1, 3, 45) + " #9 daemon prio=5 cpu=1ms tid=0x7f nid=0x1b5f runnable"
    new = NAME.format(2, 3, 46) + " #9 [4711] daemon prio=5 tid=0x7f nid=4711 runnable"
    idle = '"Executor task launch worker-0" #9 nid=0x10 waiting'
    found = dict(named_tasks([old, "   at x.Y(Z.java:1)", idle, new]))
    assert found == {7007: (1, 0, 3, 0, 45), 4711: (2, 0, 3, 0, 46)}


def test_a_task_begins_and_ends_between_two_dumps(tmp_path):
    polled = PolledTasks.__new__(PolledTasks)
    polled.spans, polled._open, polled._last_ns = [], {}, None
    for at, tasks in ((100, {}), (200, {7: 45}), (300, {7: 45}), (400, {7: 46}), (500, {7: 46})):
        polled.take(at, [(tid, (0, 0, 3, 0, task)) for tid, task in tasks.items()])
    assert [(span.task, span.before_ns, span.after_ns) for span in polled.spans] == [
        (45, 100, 400),
        (46, 300, None),
    ]
    file = tmp_path / "plugin-driver-driver-9.ndjson"
    write_spans(file, {"pid": 9}, polled.spans, lambda tasks: {})
    first, second, third = map(json.loads, file.read_text().splitlines())
    assert (first["k"], first["pid"]) == ("process", 9)
    assert (second["k"], second["start_ns"], second["end_ns"]) == ("task", 150, 350)
    assert (third["k"], third["task"], third["start_ns"]) == ("task_start", 46, 350)


class Contained:
    """A JVM in a container: this process, with a task on its main thread."""

    pid, inner_pid, runs = os.getpid(), 1, True

    def __init__(self, failure=None):
        self.failure, self.dumps, self.went_on = failure, 0, threading.Event()

    def lines(self, command):
        self.dumps += 1
        if self.failure or self.dumps > 1:
            self.went_on.set()
        if self.failure:
            raise self.failure
        return [NAME.format(0, 3, 45) + f" #9 tid=0x7f nid={self.pid} runnable"]


def polled_of(jvm, paths):
    polled = PolledTasks(jvm)
    polled.start(paths, jvm.pid)
    assert jvm.went_on.wait(60)
    polled.stop()
    return polled


def test_a_thread_that_ends_while_it_is_looked_at_hides_no_other(tmp_path, monkeypatch):
    read = Path.read_text

    def read_unless_ended(path, *arguments, **more):
        if path.name == "status" and path.parent.name != str(os.getpid()):
            raise ProcessLookupError(3, "No such process")
        return read(path, *arguments, **more)

    monkeypatch.setattr(Path, "read_text", read_unless_ended)
    polled = polled_of(Contained(), RunPaths(tmp_path))
    assert [(span.tid, span.task) for span in polled.spans] == [(os.getpid(), 45)]
    assert polled.report(RunPaths(tmp_path)).reason is None


def test_polling_that_ends_early_says_why(tmp_path):
    polled = polled_of(Contained(ValueError("no number")), RunPaths(tmp_path))
    assert polled.report(RunPaths(tmp_path)).reason == "ValueError: no number"
    refused = polled_of(Contained(CapabilityError("it does not answer")), RunPaths(tmp_path))
    assert refused.report(RunPaths(tmp_path)).reason == "it does not answer"


def test_slow_dumps_take_no_more_of_the_time_than_fast_ones(tmp_path):
    class Slow(Contained):
        def lines(self, command):
            time.sleep(0.06)
            return super().lines(command)

    class Pauses:
        def __init__(self):
            self.asked = []

        def wait(self, seconds):
            self.asked.append(seconds)
            return len(self.asked) > 2

        def set(self):
            pass

    polled = PolledTasks(Slow())
    polled._ended = pauses = Pauses()
    polled.start(RunPaths(tmp_path), os.getpid())
    assert polled.jvm.went_on.wait(60)
    polled.stop()
    assert min(pauses.asked[1:]) >= 100 * 0.06


def test_an_event_log_knows_better(tmp_path):
    spans = [Span(7, 0, 0, 3, 0, 45, 100, 200, 300, 400)]
    file = tmp_path / "plugin-x.ndjson"
    write_spans(file, {}, spans, lambda tasks: {45: (120, 380)})
    told = json.loads(file.read_text().splitlines()[1])
    assert (told["start_ns"], told["end_ns"]) == (120, 380)


def test_the_part_of_a_jvm_in_spark():
    driver = part_of(["java", "org.apache.spark.deploy.SparkSubmit"], {"spark.master": "x"}, None)
    assert driver.role == "driver"
    named = part_of(["java", "Main"], {}, Path("/e/local-1795297171908.inprogress"))
    assert (named.role, named.app_id) == ("driver", "local-1795297171908")
    assert closed_name(Path("/e/local-1.inprogress")) == Path("/e/local-1")
    assert configured_log({"spark.eventLog.enabled": "true"}) == "file:/tmp/spark-events"
    assert configured_log({"spark.eventLog.dir": "/x"}) is None
    assert local_folder("file:/a%20b") == Path("/a b")
    assert local_folder("hdfs://n/a") is None


def test_the_log_that_a_driver_writes_is_among_its_open_files(tmp_path):
    log = tmp_path / "local-1795297171908.zstd.inprogress"
    with log.open("w"):
        assert open_log(os.getpid()) == log
    rolling = tmp_path / "eventlog_v2_local-1" / "events_1_local-1"
    rolling.parent.mkdir()
    with rolling.open("w"):
        assert open_log(os.getpid()) == rolling.parent
    assert open_log(os.getpid()) is None


def test_what_cannot_be_observed_is_refused_at_once(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="there is no process"):
        probe([2**22 + 1], run_dir=tmp_path / "r")
    with pytest.raises(UsageError, match="not a HotSpot JVM"):
        Jvm(os.getpid())
    sleeper = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    try:
        monkeypatch.setattr(hotspot.os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(CapabilityError, match="belongs to user") as refused:
            Jvm(sleeper.pid)
        assert f"pyrometer attach {sleeper.pid}" in (refused.value.remedy or "")
        monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
        with pytest.raises(CapabilityError, match="belongs to user #") as refused:
            Jvm(sleeper.pid)
        words = shlex.split(refused.value.remedy or "", comments=True)
        # That user may be unable to enter the folder of this Python.
        said = ["sudo", sys.executable, "-m", "pyrometer", "attach", str(sleeper.pid)]
        # Nor are this user's folders fit for root.
        assert words == [*said, "-o", f"/var/tmp/pyrometer-{sleeper.pid}"]
    finally:
        sleeper.kill()
        sleeper.wait()
    assert not (tmp_path / "r").exists()


def test_a_jvm_that_does_not_see_the_run_directory_is_not_touched(tmp_path):
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    # Below the root of a process that is not there nothing is seen either.
    away = SimpleNamespace(pid=2**22 + 1, uid=os.geteuid())
    with pytest.raises(CapabilityError, match=f"does not see {paths.raw}") as refused:
        AttachedStacks(away, "java", StacksProbe({"cpu": "10ms"})).start(paths, away.pid)
    assert f"pyrometer probe --pid {away.pid}" in (refused.value.remedy or "")
    assert list(paths.raw.iterdir()) == []


class Answering:
    """A JVM that takes whatever it is told, but for the words that it is deaf to, or refuses."""

    runs = True
    why: type[CapabilityError] = NoAnswerError

    def __init__(self, deaf="", times=sys.maxsize, **more):
        self.pid, self.uid, self.told = os.getpid(), os.geteuid(), []
        self.deaf, self.times = deaf, times
        vars(self).update(more)

    def load(self, library, options):
        self.told.append(options)
        if self.deaf and options.startswith(self.deaf) and len(self.told) <= self.times:
            raise self.why("it said no")
        return 0


def attached(jvm, tmp_path, monkeypatch):
    monkeypatch.setattr(profiler, "library", lambda jvm: Path("/lib.so"))
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    stacks = AttachedStacks(jvm, "java", StacksProbe({"cpu": "10ms"}))
    stacks.start(paths, jvm.pid)
    return stacks


@pytest.mark.parametrize(
    ("deaf", "why", "stays", "told"),
    [
        ("stop", NoAnswerError, True, "the profiler was not stopped yet: it said"),
        ("stop", CapabilityError, False, "the profiler did not stop: it said"),
        ("", NoAnswerError, False, ""),
    ],
)
def test_what_waits_for_our_death_stays_where_the_jvm_does_not_answer(
    deaf, why, stays, told, tmp_path, monkeypatch
):
    ended = []
    keeper = SimpleNamespace(start=lambda *words: None, stop=ended.append, pids=[])
    monkeypatch.setattr(profiler, "Detached", lambda: keeper)
    stacks = attached(Answering(deaf, why=why), tmp_path, monkeypatch)
    stacks.stop()
    assert (ended == []) == stays
    reason = stacks.report(RunPaths(tmp_path)).reason or ""
    assert reason.startswith(told)
    assert bool(reason) == bool(told)


@pytest.mark.parametrize(("why", "times"), [(NoAnswerError, 3), (CapabilityError, 1)])
def test_a_jvm_that_does_not_answer_is_asked_again_to_stop_its_profiler_and_one_that_refuses_is_not(
    why, times, monkeypatch
):
    jvm = Answering("stop", times=2, why=why)
    monkeypatch.setattr(profiler_keeper, "Jvm", lambda pid: jvm)
    monkeypatch.setattr(profiler_keeper, "RETRY_S", 0.0)
    profiler_keeper.main(os.getpid(), os.getpid(), Path("/lib.so"), "stop")
    assert jvm.told == ["stop"] * times


def test_a_jvm_whose_agent_has_loaded_a_profiler_is_left_alone(tmp_path, monkeypatch):
    copy = tmp_path / "libasyncProfiler-1234.so"
    copy.write_bytes(b"library")
    jvm = Answering()
    with copy.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        copy.unlink()
        with pytest.raises(CapabilityError, match=r"of its own .*-1234\.so") as refused:
            attached(jvm, tmp_path, monkeypatch)
    # It may have ended its recording, and cannot be unloaded.
    assert "restart it without the agent" in (refused.value.remedy or "")
    assert f"pyrometer probe --pid {jvm.pid}" in (refused.value.remedy or "")
    assert jvm.told == []
    assert list(RunPaths(tmp_path).raw.iterdir()) == []


def test_a_jvm_whose_user_cannot_enter_the_run_directory_is_not_touched(tmp_path, monkeypatch):
    def does(action):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fchown", lambda *words: None)
    jvm = Answering(uid=os.geteuid() + 1, user=SimpleNamespace(does=does))
    with pytest.raises(CapabilityError, match="Permission denied") as refused:
        attached(jvm, tmp_path, monkeypatch)
    assert "-o" in (refused.value.remedy or "")
    assert jvm.told == []


@pytest.mark.parametrize("text", ["0", "-1s", "x", "5d", ""])
def test_a_duration_that_is_none(text):
    with pytest.raises(UsageError, match="--duration"):
        seconds(text)
