"""Recorded machines: what reads a host is run on each, laid out as files below a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.cli.main import run_verb
from pyrometer.collect.doctor.bundle import FIELDS, FILES, gather, lay_out, write
from pyrometer.collect.host.facts import Machine, read
from pyrometer.collect.host.numa_watch import NumaWatch
from pyrometer.collect.host.placement import placement
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import resolve_layout

FIXTURES = Path(__file__).parents[2] / "fixtures"
TOPOLOGIES = sorted((FIXTURES / "topology").glob("*.tree"))
COUNTERS = sorted((FIXTURES / "sysfs").glob("*.tree"))
SHAPES = {
    # Machine: packages are seen by caches and nodes; CPUs, cores, nodes with memory.
    "xeon-2-nodes": (16, 16, 2),
    "xeon-4-nodes": (40, 40, 4),
    "epyc-8-nodes": (96, 48, 8),
    "opteron-8-nodes": (48, 48, 8),
    "kunpeng-4-nodes": (128, 128, 4),
}
SECRETS = ("hostname", "Serial", "serial", "uuid", "address", "/home", "cmdline", "machine-id")


def laid(root: Path, tree: Path) -> Machine:
    lay_out(tree.read_text(), root)
    return read(root)


@pytest.mark.parametrize("name", SHAPES)
def test_cpus_cores_and_nodes_are_those_of_the_machine(tmp_path: Path, name: str) -> None:
    machine = laid(tmp_path, FIXTURES / f"topology/{name}.tree")
    cores = {cpu.core for cpu in machine.cpus}
    assert (len(machine.cpus), len(cores), len(machine.nodes)) == SHAPES[name]


def test_dies_of_an_epyc_share_two_caches_each_and_hardware_threads_lie_on_one_node(
    tmp_path: Path,
) -> None:
    machine = laid(tmp_path, FIXTURES / "topology/epyc-8-nodes.tree")
    by_number = {cpu.number: cpu for cpu in machine.cpus}
    caches: dict[int, set[str]] = {}
    for cpu in machine.cpus:
        place = tmp_path / f"sys/devices/system/cpu/cpu{cpu.number}/cache/index3/id"
        caches.setdefault(cpu.node, set()).add(place.read_text().strip())
        assert by_number[cpu.core].node == cpu.node
    assert {len(ids) for ids in caches.values()} == {2}
    assert len(set.union(*caches.values())) == 16


@pytest.mark.parametrize("tree", TOPOLOGIES, ids=lambda one: one.stem)
@pytest.mark.parametrize("smt", [True, False])
def test_executors_bound_to_nodes_lie_there_with_cpus_and_memory(
    tmp_path: Path, tree: Path, smt: bool
) -> None:
    machine = laid(tmp_path, tree)
    nodes = sorted({cpu.node for cpu in machine.cpus} & set(machine.nodes))
    levels = parse_treatment(
        [f"layout.executors={len(nodes)}", "layout.cores_per_executor=1", "numa.bind=bind",
         f"numa.nodes={','.join(map(str, nodes))}"]
    )  # fmt: skip
    every = frozenset(cpu.number for cpu in machine.cpus)
    found = placement(resolve_layout(levels), machine, every, smt=smt)
    assert len(found.executors) == len(nodes)
    where = {cpu.number: cpu.node for cpu in machine.cpus}
    for executor, node in zip(found.executors, nodes, strict=True):
        assert {where[cpu] for cpu in executor.cpus} == {node}
        assert executor.memory == ("bind", (node,))
        if not smt:
            assert executor.cpus <= machine.first_threads


@pytest.mark.parametrize("tree", TOPOLOGIES, ids=lambda one: one.stem)
def test_memory_of_executors_is_told_on_each_machine(tmp_path: Path, tree: Path) -> None:
    machine = laid(tmp_path, tree)
    for node in machine.nodes:
        lay_out(f"sys/devices/system/node/node{node}/numastat: numa_hit {node + 1}\n", tmp_path)
    local, other = machine.nodes[0], machine.nodes[-1]
    maps = f"c0 bind:{local} anon=100 N{local}=99 N{other}=1 kernelpagesize_kB=64"
    lay_out(f"proc/7/numa_maps: {maps}\nproc/7/cmdline: CoarseGrainedExecutorBackend\n", tmp_path)
    watch = NumaWatch(True, lambda: [7], tmp_path)
    watch.begin()
    watch.look()
    found = watch.reached()
    assert found["bound_ratio"] == pytest.approx(0.99)
    assert [one["node"] for one in found["nodes"]] == sorted(machine.nodes)
    assert sum(found["executors"][0]["bytes_by_node"].values()) == 100 * 65536


@pytest.mark.parametrize("tree", [*TOPOLOGIES, *COUNTERS], ids=lambda one: one.stem)
def test_a_bundle_of_a_machine_lays_the_same_machine_out_again(tmp_path: Path, tree: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    machine = laid(first, tree)
    bundle = gather(first)
    lay_out(bundle.text(), second)
    assert read(second) == machine
    assert gather(second).lines == bundle.lines
    # Counters of the processor and of memory come along with their formats and events.
    for place in first.glob("sys/bus/event_source/devices/*/events/*"):
        assert (second / place.relative_to(first)).read_text() == place.read_text()


def test_a_bundle_holds_no_name_of_the_machine(tmp_path: Path, capsys, monkeypatch) -> None:
    lay_out(
        "proc/cpuinfo: processor\t: 0\nproc/cpuinfo: model name\t: Cortex\n"
        "proc/cpuinfo: Serial\t\t: 10000000abcdef\nproc/cpuinfo: model name\t: Cortex\n"
        "proc/meminfo: MemTotal:  16 kB\nproc/meminfo: MemFree: 3 kB\n"
        "sys/class/dmi/id/product_uuid: 1234\nproc/sys/kernel/hostname: mine\n"
        "sys/devices/system/node/node0/meminfo: Node 0 MemTotal:  16 kB\n"
        "sys/devices/system/node/node0/meminfo: Node 0 MemFree:  9 kB\n",
        tmp_path,
    )
    text = gather(tmp_path).text()
    assert text.count("Cortex") == 1
    assert "Node 0 MemTotal" in text
    assert not [word for word in ("abcdef", "1234", "mine", "MemFree") if word in text]
    listed = " ".join([*FILES, *FIELDS, *(f for fields in FIELDS.values() for f in fields)])
    assert not [word for word in SECRETS if word in listed]


def test_this_machine_s_bundle_is_written_once_and_lays_out(tmp_path: Path, capsys) -> None:
    path = tmp_path / "machine.tree"
    assert run_verb(["doctor", "--bundle", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["lines_count"] > 3
    assert laid(tmp_path / "again", path).cpus == read().cpus
    assert run_verb(["doctor", "--bundle", str(path)]) == 2
    assert "is there already" in capsys.readouterr().err
    with pytest.raises(CapabilityError, match="neither CPUs nor nodes"):
        write(tmp_path / "other", tmp_path / "empty")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "no" / "folder", Path("/"))


def test_a_bundle_with_a_host_card_is_refused(tmp_path: Path, capsys) -> None:
    path = tmp_path / "machine.tree"
    assert run_verb(["doctor", "--bundle", str(path), "--card"]) == 2
    assert "--bundle has no host card" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("line", ["../x: 1", "/etc/passwd: 1", "no colon", "sys/../../x: 1"])
def test_a_bundle_that_leads_out_of_its_folder_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match="line 1"):
        lay_out(line, tmp_path)


@given(st.text(max_size=300))
def test_any_text_is_laid_out_below_the_folder_or_refused(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        try:
            lay_out(text, root)
        except (UsageError, ValueError):
            return
        assert {one.name for one in Path(folder).iterdir()} <= {"root"}
