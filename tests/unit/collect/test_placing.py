"""Places of JVMs on simulated hosts, and on this one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.collect.host import bind
from pyrometer.collect.host.facts import Machine, read
from pyrometer.collect.host.placement import Placement, placement, write_java
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.trial.factors import parse_treatment, write_numbers
from pyrometer.trial.layout import resolve_layout

Numbering = list[tuple[int, int]]
"""Node and core of each CPU, by its number."""


def intel(nodes: int, cores: int) -> Numbering:
    """First threads of all cores, node by node, then the second threads."""
    first = [(node, node * cores + core) for node in range(nodes) for core in range(cores)]
    return first * 2


def power8(nodes: tuple[int, ...], cores: int) -> Numbering:
    """Eight threads of a core in a row; nodes numbered with gaps."""
    at = ((node, which * cores + core) for which, node in enumerate(nodes) for core in range(cores))
    return [place for place in at for _ in range(8)]


def arm(nodes: int, cores: int) -> Numbering:
    """One thread a core."""
    return [(node, node * cores + core) for node in range(nodes) for core in range(cores)]


HOSTS = {
    "intel-2": intel(2, 8),
    "amd-4": intel(4, 4),
    "power8": power8((0, 1, 16, 17), 6),
    "arm-4": arm(4, 4),
}


def simulated(root: Path, numbering: Numbering, memory_only: int | None = None) -> Machine:
    system = root / "sys/devices/system"
    (system / "cpu").mkdir(parents=True)
    (system / "cpu/online").write_text(f"{write_numbers(range(len(numbering)))}\n")
    for number, (_, core) in enumerate(numbering):
        folder = system / f"cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        siblings = [other for other, (_, same) in enumerate(numbering) if same == core]
        (folder / "thread_siblings_list").write_text(f"{write_numbers(siblings)}\n")
    nodes = sorted({node for node, _ in numbering} | ({memory_only} - {None}))  # type: ignore[type-var]
    for node in nodes:
        (system / f"node/node{node}").mkdir(parents=True)
        cpus = [number for number, (one, _) in enumerate(numbering) if one == node]
        (system / f"node/node{node}/cpulist").write_text(f"{write_numbers(cpus)}\n")
    (system / "node/has_memory").write_text(f"{write_numbers(nodes)}\n")  # type: ignore[arg-type]
    return read(root)


def placed(machine: Machine, *given: str) -> Placement:
    every = frozenset(cpu.number for cpu in machine.cpus)
    treatment = parse_treatment(given)
    smt = treatment.get("os.smt") != "off"
    return placement(resolve_layout(treatment), machine, every, smt=smt)


def cpus(found: Placement) -> list[str]:
    return [write_numbers(place.cpus or ()) for place in found.executors]


@pytest.mark.parametrize(
    ("host", "each_on_a_node"),
    [
        ("intel-2", ["0-7,16-23", "8-15,24-31", "0-7,16-23", "8-15,24-31"]),
        ("amd-4", ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]),
        ("power8", ["0-47", "48-95", "96-143", "144-191"]),
        ("arm-4", ["0-3", "4-7", "8-11", "12-15"]),
    ],
)
def test_four_executors_are_bound_to_nodes(
    tmp_path: Path, host: str, each_on_a_node: list[str]
) -> None:
    machine = simulated(tmp_path, HOSTS[host])
    layout = ("layout.executors=4", "layout.cores_per_executor=2")
    found = placed(machine, *layout, "numa.bind=bind")
    assert cpus(found) == each_on_a_node
    nodes = [place.memory for place in found.executors]
    assert nodes == [("bind", (machine.nodes[at % len(machine.nodes)],)) for at in range(4)]
    assert (found.application.cpus, found.application.memory) == (None, None)
    every = ("interleave", machine.nodes)
    assert placed(machine, *layout, "numa.bind=interleave").application.memory == every
    assert placed(machine, *layout, "numa.bind=none") == Placement()


def test_fewer_executors_than_nodes_take_several_each(tmp_path: Path) -> None:
    machine = simulated(tmp_path, HOSTS["power8"])
    found = placed(machine, "layout.executors=2", "layout.tasks=48", "numa.bind=bind")
    assert [place.memory for place in found.executors] == [("bind", (0, 1)), ("bind", (16, 17))]
    assert cpus(found) == ["0-95", "96-191"]


def test_a_part_of_the_nodes_alone_is_used(tmp_path: Path) -> None:
    machine = simulated(tmp_path, HOSTS["power8"])
    found = placed(machine, "numa.nodes=0,16", "layout.executors=2", "layout.tasks=2",
                   "numa.bind=bind")  # fmt: skip
    assert write_numbers(found.application.cpus or ()) == "0-47,96-143"
    assert found.application.memory == ("bind", (0, 16))
    assert cpus(found) == ["0-47", "96-143"]
    one = placed(machine, "numa.nodes=1", "numa.bind=bind").application
    assert (write_numbers(one.cpus or ()), one.memory) == ("48-95", ("bind", (1,)))


def test_executors_share_nothing_where_each_has_its_own(tmp_path: Path) -> None:
    machine = simulated(tmp_path, HOSTS["intel-2"])
    layout = ("layout.executors=4", "layout.tasks=4", "cpu.bind=own")
    assert cpus(placed(machine, *layout)) == ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]
    assert cpus(placed(machine, *layout, "numa.bind=bind")) == [
        "0-3,16-19", "8-11,24-27", "4-7,20-23", "12-15,28-31",
    ]  # fmt: skip
    # Three cores for four: threads are shared out, not cores.
    few = placed(machine, *layout, "host.cpus=0-2,16-18")
    assert cpus(few) == ["0", "1,16", "17", "2,18"]
    with pytest.raises(UsageError, match="3 CPUs for 4 executors"):
        placed(machine, *layout, "host.cpus=3")


def test_without_second_threads_first_ones_are_left(tmp_path: Path) -> None:
    machine = simulated(tmp_path, HOSTS["power8"])
    found = placed(machine, "os.smt=off", "host.cpus=3")
    assert write_numbers(found.application.cpus or ()) == "0,8,16"
    assert len(placed(machine, "os.smt=off").application.cpus or ()) == 24


def test_memory_without_cpus_can_be_interleaved_and_not_bound_to(tmp_path: Path) -> None:
    machine = simulated(tmp_path, arm(2, 2), memory_only=4)
    assert machine.nodes == (0, 1, 4)
    found = placed(machine, "layout.executors=2", "layout.tasks=2", "numa.bind=bind")
    assert [place.memory for place in found.executors] == [("bind", (0,)), ("bind", (1,))]
    assert placed(machine, "numa.bind=interleave").application.memory == ("interleave", (0, 1, 4))
    with pytest.raises(UsageError, match="no CPU there"):
        placed(machine, "numa.nodes=4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("numa.bind=bind",), "one NUMA node"),
        (("numa.nodes=1",), "has NUMA nodes 0"),
        (("cpu.bind=own",), "needs layout.executors"),
        (("host.cpus=9",), "may use 4 CPUs: 0-3"),
        (("host.cpus=3-4",), "may use 4 CPUs: 0-3"),
    ],
)
def test_what_a_small_host_does_not_have_is_said(
    tmp_path: Path, given: tuple[str, ...], message: str
) -> None:
    machine = simulated(tmp_path, arm(1, 4))
    with pytest.raises(PyrometerError, match=message):
        placed(machine, *given)


def test_the_java_of_executors_binds_each_to_its_place(tmp_path: Path) -> None:
    mine = sorted(os.sched_getaffinity(0))
    places = placed(
        Machine(tuple(c for c in read().cpus if c.number in mine), (0,)),
        f"layout.executors={len(mine)}", f"layout.tasks={len(mine)}", "cpu.bind=own",
    ).executors  # fmt: skip
    shown = tmp_path / "java"
    says = "import os, sys; print(sorted(os.sched_getaffinity(0)), sys.argv[1:])"
    shown.write_text(f"#!{sys.executable}\n{says}\n")
    shown.chmod(0o755)
    home = write_java(tmp_path / "home", str(shown), places)
    assert len(places) == len(mine) >= 1
    for number, cpu in enumerate(mine):
        words = ["-Da=b c", "Main", "--executor-id", str(number), "--cores", "1"]
        found = subprocess.run(
            [home / "bin" / "java", *words], capture_output=True, text=True, check=True
        )
        assert found.stdout == f"{[cpu]} {words}\n"


def test_who_starts_what_is_bound_never_binds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read while hardware threads are off, and set again, would hold on for good."""
    mine, set_affinity = os.sched_getaffinity(0), os.sched_setaffinity

    def elsewhere(pid: int, cpus: frozenset[int]) -> None:
        assert threading.current_thread() is not threading.main_thread()
        set_affinity(pid, cpus)

    monkeypatch.setattr(os, "sched_setaffinity", elsewhere)
    one = frozenset({min(mine)})
    says = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    inside = bind.started(one, None, lambda: subprocess.check_output(says, text=True))
    assert inside.strip() == str(set(one))
    assert bind.started(None, None, lambda: os.sched_getaffinity(0)) == mine


def test_memory_is_bound_for_what_is_started_and_not_for_us() -> None:
    if not bind.supported():
        needs.machine_lacks("known numbers of its memory policy calls")
    show = ["cat", "/proc/self/numa_maps"]

    def shown() -> str:
        return subprocess.run(show, capture_output=True, text=True, check=True).stdout

    try:
        inside = bind.started(None, ("bind", (0,)), shown)
    except OSError as error:
        needs.machine_lacks(f"the right to bind memory: {error}")
    if not inside:
        needs.machine_lacks("/proc/self/numa_maps")
    policies = [line.split()[1] for line in inside.splitlines() if "stack" in line]
    assert policies
    assert set(policies) == {"bind:0"}
    assert " bind:" not in Path("/proc/self/numa_maps").read_text()
    command = [sys.executable, "-I", bind.__file__, "--memory", "interleave:0", "--", *show]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "interleave:0" in done.stdout
    with pytest.raises(OSError, match="set_mempolicy"):
        bind.started(None, ("bind", (1000,)), shown)


def test_what_is_not_there_is_a_capability() -> None:
    with pytest.raises(CapabilityError):
        placed(read(), "numa.nodes=1000")
