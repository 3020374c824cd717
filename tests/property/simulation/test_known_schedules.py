"""A schedule that is made in part from a known one, beside the same made as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyrometer.simulation.cluster import Description, Graph
from pyrometer.simulation.known import Known
from pyrometer.simulation.measured import MS, Tasks
from pyrometer.simulation.scheduler import Plan, schedules


@dataclass
class Node:
    """A stage, or a point in the driver's program."""

    after: list[int]
    delay_ms: int = 0
    tasks: int = 0
    pool: int = 0
    near: tuple[int, ...] = ()
    is_retried: bool = False


STAGES = st.builds(
    Node,
    after=st.just([]),
    delay_ms=st.integers(0, 30),
    tasks=st.integers(0, 60),
    pool=st.integers(0, 1),
    near=st.sampled_from([(), (), (0,)]),
    is_retried=st.booleans(),
)
JOBS = st.lists(st.lists(STAGES, min_size=1, max_size=3), min_size=1, max_size=8)
SEEDS = st.integers(0, 2**32)


@st.composite
def applications(draw: st.DrawFn) -> Plan:
    """Draw jobs one after another, of stages side by side: times whole, or in thirds."""
    nodes = [Node([])]
    for stages in draw(JOBS):
        begin = len(nodes) - 1
        nodes += [replace(stage, after=[begin]) for stage in stages]
        nodes.append(Node(list(range(begin, len(nodes))), delay_ms=draw(st.integers(0, 30))))
    random = np.random.default_rng(draw(SEEDS))
    counts = [node.tasks for node in nodes]
    size = sum(counts)
    unit = draw(st.sampled_from([MS, 1, 1 / 3]))
    return Plan(
        graph=Graph(after=[node.after for node in nodes], end=len(nodes) - 1),
        tasks=Tasks(
            duration_ns=random.integers(0, 300, size) * float(unit),
            delay_ns=np.zeros(size),
            level=random.choice(np.array([0, 0, 0, 1, 3], dtype=np.uint8), size),
            wasted=np.zeros(size, dtype=np.uint8),
            retry_of=np.concatenate([np.zeros(0, np.int32), *(_retries(one) for one in nodes)]),
        ),
        delay_ns=np.array([node.delay_ms * float(unit) for node in nodes]),
        counts=counts,
        load=[1.0] * len(nodes),
        pool=[node.pool for node in nodes],
        near=[list(node.near) for node in nodes],
        locality_wait_ns=draw(st.sampled_from([0.0, 20.0])) * unit,
        launch_resets_wait=draw(st.booleans()),
    )


def _retries(node: Node) -> NDArray[np.int32]:
    """Let the last task of some stages be another attempt at the first."""
    found = np.full(node.tasks, -1, dtype=np.int32)
    if node.is_retried and node.tasks > 1:
        found[-1] = 0
    return found


@st.composite
def clusters(draw: st.DrawFn) -> Description:
    """Draw executors of two kinds, of which some come later, or go."""
    executor = st.builds(
        _executor, st.integers(1, 3), st.integers(0, 1), st.integers(0, 2), st.integers(0, 400),
        st.none() | st.integers(0, 900), st.booleans(),
    )  # fmt: skip
    slots = st.integers(1, 3)
    return [_executor(draw(slots), 0), _executor(draw(slots), 1), *draw(st.lists(executor))]


def _executor(
    slots: int, pool: int, host: int = 0, add: int = 0, remove: int | None = None,
    dynamic: bool = False,
) -> dict[str, Any]:  # fmt: skip
    return {
        "slots": slots, "pool": pool, "host": host, "site": host, "add": (0, add * MS),
        "remove": None if remove is None else (0, remove * MS), "dynamic": dynamic,
    }  # fmt: skip


@given(
    plan=applications(),
    cluster=clusters(),
    share=st.sampled_from([0.0, 0.05, 1.0]),
    factor=st.floats(0, 2),
    seed=SEEDS,
)
def test_what_is_scheduled_in_part_takes_as_long_as_scheduled_as_a_whole(
    plan: Plan, cluster: Description, share: float, factor: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    duration_ns, delay_ns = (
        np.where(random.random(times.size) < share, times * factor, times)
        for times in (plan.tasks.duration_ns, np.asarray(plan.delay_ns))
    )
    stretches = np.vstack([np.ones(delay_ns.size), random.random((2, delay_ns.size))])
    scenarios: list[dict[str, Any]] = [{}, *({"stretch": n} for n in range(len(stretches)))]

    known = Known(plan, cluster)
    in_part = known.elapsed_ns(
        duration_ns, delay_ns, plan.locality_wait_ns, cluster, scenarios, stretches
    )

    changed = replace(plan, tasks=replace(plan.tasks, duration_ns=duration_ns), delay_ns=delay_ns)
    whole = schedules(changed, [cluster], scenarios, stretches=stretches)
    assert in_part == [one.elapsed_ns for one in whole]
