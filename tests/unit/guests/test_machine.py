"""Descriptions of machines: read from levels, checked, and refused where they do not add up."""

from __future__ import annotations

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.guests.disk import Limits
from pyrometer.guests.machine import Machine, machine_of, split
from pyrometer.guests.numa import Node
from pyrometer.trial.factors import find_factor, parse_treatment

GIB = 1 << 30


def machine(*settings: str, cpus: int = 2) -> Machine:
    found = machine_of(parse_treatment([f"machine.{one}" for one in settings]), cpus)
    assert found is not None
    return found


def test_a_treatment_without_a_machine_makes_none() -> None:
    assert machine_of(parse_treatment(["jvm.heap=1g", "os.thp=never"]), 2) is None


def test_what_is_not_given_is_this_hosts_cpus_and_two_gibibytes() -> None:
    assert machine("lru_gen=off", cpus=3) == Machine(cpus_count=3, lru_gen=False)


def test_on_a_host_of_more_cpus_a_machine_has_as_many_as_it_may() -> None:
    assert machine("lru_gen=off", cpus=384) == machine("cpus=255", "lru_gen=off")
    assert machine("smt=2", cpus=384).cpus_count == 254
    assert machine("numa=3", "memory=3g", cpus=384).cpus_count == 255


def test_levels_of_all_factors_are_in_the_description() -> None:
    found = machine(
        "cpus=4", "memory=3g", "smt=2", "swap=1g", "lru_gen=on", "kernel=6.1.0-51-cloud-amd64",
        "cmdline=transparent_hugepage=never  mitigations=off", "disk=write=50m,iops=100",
        "filesystem=xfs",
    )  # fmt: skip
    assert found == Machine(
        cpus_count=4,
        memory_bytes=3 * GIB,
        threads_per_core=2,
        kernel="6.1.0-51-cloud-amd64",
        cmdline="transparent_hugepage=never mitigations=off",
        swap_bytes=GIB,
        lru_gen=True,
        limits=Limits(None, 50 << 20, 100),
        filesystem="xfs",
    )


def test_nodes_written_out_say_cpus_and_memory_themselves() -> None:
    found = machine("numa=0,2:1g+1,3:512m+:256m@15")
    assert found.topology is not None
    assert found.topology.nodes == (
        Node((0, 2), GIB), Node((1, 3), GIB // 2), Node((), GIB // 4)
    )  # fmt: skip
    assert (found.cpus_count, found.memory_bytes) == (4, GIB + GIB // 2 + GIB // 4)
    assert found.topology.distances == ((10, 15, 15), (15, 10, 15), (15, 15, 10))


def test_a_number_of_nodes_may_have_a_table_of_distances() -> None:
    found = machine("numa=3@10,21,30/21,10,21/30,21,10", "cpus=3", "memory=3g")
    assert found.topology is not None
    assert found.topology.distances == ((10, 21, 30), (21, 10, 21), (30, 21, 10))


@pytest.mark.parametrize(("level", "iops"), [("2k", 2000), ("1M", 10**6), ("500", 500)])
def test_requests_are_counted_in_thousands(level: str, iops: int) -> None:
    found = machine(f"disk=read=100k,iops={level}").limits
    assert found == Limits(100 << 10, None, iops)


def test_latency_stands_beside_other_limits() -> None:
    assert machine("disk=latency=5ms").limits == Limits(latency_ms=5)
    assert machine("disk=write=1m,latency=1000ms,iops=9").limits == Limits(None, 1 << 20, 9, 1000)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["numa=2@10,21/21", "cpus=2"], "not a table of 2 rows of 2"),
        (["numa=0:1g+1:1g", "memory=3g"], "2048 MiB in all, but machine.memory=3072m"),
        (["numa=0:1g+1:1g", "cpus=4"], "2 CPUs, but machine.cpus=4"),
        (["numa=0:1g+0:1g"], "its CPUs are"),
        (["numa=0:1g+2:1g"], "its CPUs are 0,2"),
        (["numa=:1g+:1g"], "its CPUs are none"),
        (["numa=1-0:1g+0:1g"], "1-0 is not a set of CPUs"),
        (["numa=0-999999999:1g+0:1g"], "0-999999999 is not a set of CPUs"),
        (["numa=0,:1g+1:1g"], "0, is not a set of CPUs"),
        (["numa=0-199:1g+200-399:1g"], "cpus of 400 in all"),
        (["numa=0:1m+1:1m"], "memory of 2.00 MiB in all"),
        (["numa=3", "cpus=4"], "cannot be shared alike"),
        (["numa=0", "cpus=4"], "0 nodes"),
        (["numa=2@9", "cpus=2"], "no level"),
        (["numa=2@10", "cpus=2"], "distance 10 from node 0 to 1"),
        (["numa=0:1g+1:1g@10,20/20"], "not a table of 2 rows of 2"),
        (["numa=0:1g+1:1g@11,20/20,10"], "distance 11 from node 0 to 0"),
        (["numa=0:1g+1:1k"], "not a whole number of MiB"),
        (["cpus=3", "smt=2"], "3 CPUs are not whole cores"),
        (["numa=0,2:1g+1,3:1g", "smt=2"], "a part of a core"),
        (["cmdline=root=/dev/sda1"], "would undo"),
        (["cmdline=mem=1g"], "would undo"),
        (["cmdline=a\x07b"], "characters"),
        (["cmdline=" + "x" * 1025], "1025 characters"),
        (["disk=read=1m,read=2m"], "read is given twice"),
        (["disk=read=1k"], "too little"),
        (["disk=iops=0"], "too little"),
        (["disk=speed=1m"], "no level"),
        (["disk=read=5ms"], "disk=read=5ms: not a size"),
        (["disk=iops=5ms"], "iops=5ms: not a number of requests"),
        (["disk=latency=0ms"], "from 1 to 1000"),
        (["disk=latency=1001ms"], "from 1 to 1000"),
        (["disk=latency=500us"], "latency=500us: not a whole number of milliseconds"),
        (["disk=latency=5"], "not a whole number of milliseconds"),
        (["disk=latency=5m"], "not a whole number of milliseconds"),
        (["disk=latency=5ms,latency=6ms"], "latency is given twice"),
        (["memory=1m"], "out of range"),
        (["swap=100"], "whole pages"),
    ],
)
def test_what_does_not_add_up_is_refused(settings: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        machine(*settings)


def test_the_range_of_a_size_is_said_in_sizes() -> None:
    with pytest.raises(UsageError) as caught:
        machine("memory=1k")
    assert caught.value.remedy == "give from 256m to 1t"


def test_levels_of_the_machine_and_of_what_runs_in_it_are_parted() -> None:
    treatment = parse_treatment(["machine.memory=1g", "jvm.heap=512m", "os.swappiness=10"])
    ours, inside = split(treatment)
    assert list(ours) == ["machine.memory"]
    assert list(inside) == ["jvm.heap", "os.swappiness"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("machine.filesystm", "did you mean 'machine.filesystem'?"),
        ("machine.governor", "machine.* has cmdline, cpus, disk, filesystem, kernel, lru_gen,"),
    ],
)
def test_what_all_of_a_family_begin_with_makes_no_two_alike(name: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=f"unknown factor '{name}'") as caught:
        parse_treatment([f"{name}=xfs"])
    assert (caught.value.remedy or "").startswith(remedy)


@pytest.mark.parametrize(
    "name",
    [
        "kernel", "cmdline", "cpus", "memory", "numa", "smt", "disk", "swap", "lru_gen",
        "filesystem",
    ],
)  # fmt: skip
def test_every_factor_is_declared_as_one_of_the_machine(name: str) -> None:
    factor = find_factor(f"machine.{name}")
    assert (factor.scope, factor.restart) == ("machine", True)
