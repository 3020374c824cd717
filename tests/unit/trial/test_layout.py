"""A layout is read from the levels of a treatment in one place, and written back there."""

from __future__ import annotations

import itertools

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import FACTORS, Binding, Layout, is_layout, resolve_layout

GIB = 1 << 30


def resolved(*settings: str) -> Layout:
    return resolve_layout(parse_treatment(settings))


@pytest.mark.parametrize(
    ("settings", "layout", "tasks", "master"),
    [
        ((), Layout(), None, None),
        (("jvm.gc=z", "jvm.heap=2g"), Layout(heap_bytes=2 * GIB), None, None),
        (("layout.tasks=3",), Layout(slots=3), 3, "local[3]"),
        (
            ("layout.executors=2", "layout.cores_per_executor=3"),
            Layout(2, 3), 6, "local-cluster[2,3,1024]",
        ),
        (
            ("layout.executors=2", "layout.tasks=6", "jvm.heap=700m"),
            Layout(2, 3, 700 << 20), 6, "local-cluster[2,3,700]",
        ),
        (
            ("layout.executors=2", "layout.tasks=6", "layout.cores_per_executor=3"),
            Layout(2, 3), 6, "local-cluster[2,3,1024]",
        ),
        (
            ("layout.executors=1", "layout.tasks=2", "layout.cluster=standalone"),
            Layout(1, 2, cluster="standalone"), 2, None,
        ),
        (
            ("layout.executors=1", "layout.tasks=2", "layout.cluster=local-cluster"),
            Layout(1, 2), 2, "local-cluster[1,2,1024]",
        ),
    ],
)  # fmt: skip
def test_levels_become_jvms_slots_heap_and_a_master(
    settings: tuple[str, ...], layout: Layout, tasks: int | None, master: str | None
) -> None:
    found = resolved(*settings)
    assert found == layout
    assert (found.tasks, found.master) == (tasks, master)
    assert found.standalone == ("layout.cluster=standalone" in settings)


@pytest.mark.parametrize(
    ("settings", "binding", "name"),
    [
        (("cpu.bind=none", "numa.bind=none"), Binding(), "NB"),
        (("host.cpus=2", "cpu.bind=own"), Binding(2, own_cpus=True), "2C"),
        (("host.cpus=2",), Binding(2), "host.cpus=2"),
        (("host.cpus=0,2-3",), Binding(frozenset([0, 2, 3])), "host.cpus=0,2-3"),
        (("host.cpus=1-1", "cpu.bind=own"), Binding(frozenset([1]), own_cpus=True),
         "host.cpus=1-1, cpu.bind=own"),
        (("numa.nodes=0,8", "numa.bind=bind"), Binding(nodes=(0, 8), memory="bind"), "2B"),
        (("numa.nodes=0-3", "numa.bind=interleave"),
         Binding(nodes=(0, 1, 2, 3), memory="interleave"), "4I"),
        (("numa.nodes=1",), Binding(nodes=(1,)), "numa.nodes=1"),
        (("numa.bind=interleave",), Binding(memory="interleave"), "numa.bind=interleave"),
    ],
)  # fmt: skip
def test_what_jvms_are_bound_to_has_the_name_of_published_studies(
    settings: tuple[str, ...], binding: Binding, name: str
) -> None:
    found = resolved("layout.executors=2", "layout.tasks=4", *settings).binding
    assert (found, found.name) == (binding, name)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("layout.cores_per_executor=2",), "layout.cores_per_executor needs layout.executors"),
        (("layout.cluster=standalone", "layout.tasks=2"), "layout.cluster needs layout.executors"),
        (("layout.executors=2",), "layout.executors=2 needs layout.cores_per_executor"),
        (("layout.executors=2", "layout.tasks=3"), "needs layout.cores_per_executor"),
        (
            ("layout.executors=2", "layout.tasks=3", "layout.cores_per_executor=2"),
            "layout.tasks=3 is not layout.executors × layout.cores_per_executor = 4",
        ),
        (("cpu.bind=own", "layout.tasks=2"), "cpu.bind=own needs layout.executors"),
    ],
)
def test_levels_that_contradict_each_other_are_refused(
    settings: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        resolved(*settings)
    assert refused.value.remedy


def test_every_layout_is_read_back_from_the_levels_that_it_writes() -> None:
    bindings = [
        Binding(cpus, own, nodes, memory)  # type: ignore[arg-type]
        for cpus, own, nodes, memory in itertools.product(
            (None, 3, frozenset([1]), frozenset([0, 4, 5])),
            (False, True),
            (None, (0,), (0, 8)),
            ("none", "bind", "interleave"),
        )
    ]
    layouts = [
        Layout(executors, slots, heap, cluster, binding)  # type: ignore[arg-type]
        for (executors, slots), heap, cluster, binding in itertools.product(
            ((None, None), (None, 3), (2, 1)),
            (None, GIB),
            ("local-cluster", "standalone"),
            bindings,
        )
        if executors or (cluster == "local-cluster" and not binding.own_cpus)
    ]
    assert len(layouts) == 432
    for layout in layouts:
        levels = layout.levels()
        assert set(levels) <= set(FACTORS)
        assert resolved(*(f"{factor}={level}" for factor, level in levels.items())) == layout


def test_a_factor_of_the_layout_of_data_is_none_of_jvms() -> None:
    assert is_layout("layout.tasks")
    assert not is_layout("data.layout")
