"""Workloads together as an experiment: who meets whom, where, and when; and how they overlap."""

from __future__ import annotations

import math
import threading
import time

import pytest
from tests.support import experiments

from pyrometer.collect.host import facts
from pyrometer.collect.host.card import this_host
from pyrometer.collect.host.facts import Cpu
from pyrometer.collect.host.facts import Machine as Host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import CapabilityError, UsageError, WorkloadError
from pyrometer.corun.experiment import corun_plan
from pyrometer.corun.plan import members_of, parties
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.run.trials import launches, trials_of
from pyrometer.orchestrator.guest_files import folder_of
from pyrometer.workloads.barrier import Overlap, barrier


@pytest.fixture
def cpus(monkeypatch):
    """Give a way to have so many CPUs, each a core."""

    def have(count):
        host = Host(tuple(Cpu(0, at, at) for at in range(count)), (0,))
        monkeypatch.setattr(facts, "read", lambda: host)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(count)))

    return have


def planned(tmp_path, workloads, neighbours=(), *, settings=(), offsets=(), **how):
    found = parties(members_of(workloads, settings, offsets), neighbours, **how)
    rest = Experiment(
        name="e", workload="together", matrix={}, scale="test", blocks=2, warmup="1", seed=3
    )
    return corun_plan(found, rest, tmp_path)


def test_each_is_alone_and_in_each_company_once_a_block_in_random_order(tmp_path, cpus):
    cpus(2)
    plan = planned(tmp_path, ["parquet-scan", "pagerank"], ["cpu", "memory:2"])
    names = [one.name for one in plan.treatments]
    assert names == [
        "parquet-scan alone", "pagerank alone",
        "parquet-scan beside cpu", "parquet-scan beside memory:2",
        "pagerank beside cpu", "pagerank beside memory:2",
        "parquet-scan beside pagerank", "pagerank beside parquet-scan",
        "parquet-scan beside pagerank, own CPUs", "pagerank beside parquet-scan, own CPUs",
    ]  # fmt: skip
    for block in (1, 2):
        assert sorted(one.treatment for one in plan.trials if one.block == block) == sorted(names)
    orders = [[one.treatment for one in plan.trials if one.block == block] for block in (1, 2)]
    assert orders[0] != orders[1]
    again = planned(tmp_path, ["parquet-scan", "pagerank"], ["cpu", "memory:2"])
    assert again.trials == plan.trials
    assert plan.workloads == ["parquet-scan", "pagerank"]


def test_those_of_a_party_are_launched_together_each_as_what_it_is(tmp_path, cpus):
    cpus(4)
    plan = planned(
        tmp_path, ["parquet-scan", "tpch"], settings=["tpch:query=q06", "jvm.heap=1g"],
        offsets=["tpch:2.5"],
    )  # fmt: skip
    together = [one for one in launches(plan.trials) if len(one) > 1]
    assert [len(one) for one in together] == [2] * 4
    for launch in together:
        made = trials_of(plan, launch, [tmp_path / one.folder for one in launch])
        by_name = {one.name: one for one in made}
        assert by_name["tpch"].treatment["workload.query"] == "q06"
        assert {one.treatment["jvm.heap"] for one in made} == {1 << 30}
        # Who begins first is the load of the other until that begins, too.
        assert by_name["parquet-scan"].overlap == (0.0, 2.5)
        assert by_name["tpch"].overlap == (2.5, 2.5)
        assert by_name["tpch"].co_running == ("parquet-scan",)
        assert new_manifest(by_name["tpch"], this_host(), [], []).treatment["co.run"] == (
            "parquet-scan"
        )
        places = {one.treatment.get("host.cpus") for one in made}
        assert places in ({None}, {"0-1", "2-3"})
    (alone,) = trials_of(
        plan, [one for one in plan.trials if one.treatment == "tpch alone"][:1], [tmp_path]
    )
    assert (alone.name, alone.overlap) == ("tpch", None)
    assert {"host.cpus", "co.run"}.isdisjoint(alone.treatment)


def test_cpus_that_are_named_are_taken_and_one_workload_may_be_there_twice(tmp_path, cpus):
    cpus(4)
    plan = planned(tmp_path, ["pagerank@0", "pagerank@1-2"])
    places = {one.treatment: one.cpus for one in plan.trials if one.cpus}
    assert places == {
        "pagerank beside pagerank#2, own CPUs": "0-0",
        "pagerank#2 beside pagerank, own CPUs": "1-2",
    }


def test_three_at_once(tmp_path, cpus):
    cpus(3)
    plan = planned(tmp_path, ["parquet-scan", "pagerank", "svm"], at_once=True)
    whole = [one for one in launches(plan.trials) if len(one) > 1]
    assert {len(one) for one in whole} == {3}
    assert {one.cpus for launch in whole for one in launch} == {None, "0-0", "1-1", "2-2"}


def test_what_there_are_too_few_cpus_for_is_left_out(tmp_path, cpus):
    cpus(1)
    plan = planned(tmp_path, ["parquet-scan", "pagerank"])
    (out,) = plan.left_out
    assert out.name == "parquet-scan beside pagerank, own CPUs"
    assert "2 CPUs are needed" in out.reason
    with pytest.raises(CapabilityError, match="nothing can run together here"):
        planned(tmp_path, ["parquet-scan", "pagerank"], shared=False)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Give programs that stand for those that make machines, and memory for one."""
    experiments.makers_of_machines(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    experiments.free_here(monkeypatch, 16 << 30)


def test_all_treatments_have_the_same_machine_and_its_cpus(tmp_path, cpus, tools):
    cpus(1)
    asked = ["machine.cpus=4", "machine.memory=2g"]
    plan = planned(tmp_path, ["parquet-scan", "pagerank"], ["cpu"], settings=asked)
    assert plan.left_out == []
    assert {one.cpus for one in plan.trials} == {None, "0-1", "2-3"}
    for launch in launches(plan.trials):
        made = trials_of(plan, launch, [tmp_path / one.folder for one in launch])
        for one in made:
            assert (one.treatment["machine.cpus"], one.treatment["machine.memory"]) == (4, 2 << 30)
        if len(made) > 1:
            assert folder_of(made) == tmp_path
    with pytest.raises(CapabilityError, match="CPUs 4 are not in the machine"):
        planned(
            tmp_path, ["parquet-scan@0", "pagerank@4"], settings=asked, shared=False
        )  # fmt: skip


@pytest.mark.parametrize(
    ("workloads", "options", "message"),
    [
        (["parquet-scan"], {}, "parquet-scan has nothing to run with"),
        (["parquet-scan@0", "pagerank"], {}, "pagerank has no CPUs of its own"),
        (["parquet-scan@0", "pagerank@0-1"], {}, "CPUs 0 are given twice"),
        (["parquet-scan", "pagerang"], {}, "pagerang"),
        (["parquet-scan", "pagerank"], {"settings": ["jvm.heap"]}, "not of the form factor=level"),
        (["parquet-scan", "pagerank"], {"settings": ["svm:jvm.heap=1g"]}, "one of the workloads"),
        (["parquet-scan", "pagerank"], {"settings": ["codec=none"]}, "codec"),
        (["parquet-scan", "pagerank"], {"offsets": ["pagerank:x"]}, "not of the form WORKLOAD:SEC"),
        (["parquet-scan", "pagerank"], {"neighbours": ["gpu"]}, "co.run has no level 'gpu'"),
        (
            ["parquet-scan", "pagerank"], {"settings": ["pagerank:machine.memory=2g"]},
            "machine.memory: parquet-scan and pagerank run in one virtual machine",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_refused(tmp_path, cpus, workloads, options, message):
    cpus(2)
    with pytest.raises(UsageError, match=message):
        planned(tmp_path, workloads, **options)


class Worker:
    """A runner that counts `of` iterations, and notes what it did and when."""

    def __init__(self, folder, side, of, overlap, work=lambda loads: None):
        told = {"folder": str(folder), "side": side, "sides": 2, "overlap": overlap}
        self.met = barrier(told)
        self.of, self.work = of, work
        self.starts, self.loads = [], 0
        self.came = self.ended = self.left = math.nan

    def load(self):
        self.loads += 1
        self.work(self.loads)

    def run(self):
        self.came = time.monotonic()
        self.met.begin(self.load)
        for number in range(self.of):
            self.met.wait(number)
            self.starts.append(time.monotonic())
            self.work(0)
        self.ended = time.monotonic()
        self.met.end(self.load)
        self.left = time.monotonic()
        self.met.leave()


def at_once(*workers):
    threads = [threading.Thread(target=one.run) for one in workers]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)


def test_the_shorter_is_load_until_the_longer_has_its_iterations(tmp_path):
    repeated = threading.Event()
    short = Worker(tmp_path, 0, 3, (0, 0), lambda loads: repeated.set() if loads > 2 else None)
    # It does not end before the other has repeated its work three times.
    long = Worker(tmp_path, 1, 1, (0, 0), lambda loads: loads or repeated.wait(30))
    at_once(short, long)
    assert repeated.is_set()
    assert (len(short.starts), len(long.starts)) == (3, 1)
    assert short.loads >= 3
    # Nobody begins before all are there, nobody leaves before all are done.
    assert min(short.starts[0], long.starts[0]) >= max(short.came, long.came)
    assert min(short.left, long.left) >= max(short.ended, long.ended)


def test_who_begins_first_counts_from_when_the_last_has_begun(tmp_path):
    first, last = Worker(tmp_path, 0, 1, (0, 1.0)), Worker(tmp_path, 1, 1, (1.0, 1.0))
    at_once(first, last)
    for one in (first, last):
        assert one.starts[0] - one.came >= 1.0
    assert first.loads > 0


def test_who_is_left_alone_does_not_run_for_ever(tmp_path):
    one = Worker(tmp_path, 0, 1, (0.0, 0.0))
    (tmp_path / "ready-1").touch()
    (tmp_path / "over").touch()
    with pytest.raises(WorkloadError, match="the other side has ended"):
        one.run()
    assert len(one.starts) == 1
    (tmp_path / "over").unlink()
    orphan = Overlap(tmp_path, 0, parent=-1)
    with pytest.raises(WorkloadError, match="what started it has ended"):
        orphan.end(lambda: None)
