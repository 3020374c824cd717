"""The unit cube: levels come back as themselves, and whatever is drawn may be launched."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.simulation.executor_memory import MOST
from pyrometer.trial.factors import find_factor, parse_level
from pyrometer.tune.space.cube import columns, decode, draw, encode, features, near, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.job import job_from
from pyrometer.tune.space.levels import bounds, with_unit
from pyrometer.tune.space.memory import TAKES, memory_of
from pyrometer.tune.space.named import named_space

G = float(1 << 30)
gib = st.floats(0.5 * G, 8 * G)
asked = st.fixed_dictionaries(
    {},
    optional={
        "spark.executor.memory": gib, "spark.driver.memory": gib,
        "spark.executor.memoryOverhead": st.floats(0.4 * G, 4 * G),
        "spark.executor.pyspark.memory": st.floats(0.2 * G, 4 * G),
        "spark.memory.offHeap.size": st.floats(0.2 * G, 4 * G),
    },
)  # fmt: skip
"""What a job sets of its memory, in bytes."""
hosts = st.fixed_dictionaries(
    {
        "mem_total": st.floats(2 * G, 1024 * G),
        "cpus": st.integers(1, 256).map(float),
        "heap": st.one_of(st.none(), st.floats(0.5 * G, 2 * G)),
    }
)
spaces = st.sampled_from(["spark-sql", "jvm", "layout", "os", "all"])
versions = st.sampled_from([None, "3.5.1", "4.0"])


@settings(max_examples=60)
@given(hosts, spaces, versions, st.randoms(use_true_random=False))
def test_a_point_reads_back_as_its_levels(host, name, version, random) -> None:  # type: ignore[no-untyped-def]
    space = named_space(name, host, spark_version=version)
    found = decode(space, [random.random() for _ in space.knobs])
    again = decode(space, encode(space, found))
    assert again == found
    assert plain(space, found) == found
    for factor, level in found.items():
        parse_level(find_factor(factor), factor, level)
        knob = space.knob(factor)
        value = number_or_text(level)
        if knob.kind != "choice" and level not in knob.special:
            low, high = bounds(knob)
            assert low <= value <= high  # type: ignore[operator]


@settings(max_examples=40)
@given(hosts, spaces, st.integers(0, 2**32))
def test_nothing_that_exceeds_the_machine_is_drawn(host, name, seed) -> None:  # type: ignore[no-untyped-def]
    space = named_space(name, host, spark_version="4.0")
    rng = np.random.default_rng(seed)
    found = draw(space, rng)
    assert infeasible(space, found) is None
    if TAKES & found.keys():
        assert memory_of(found, space.facts or {}).total <= MOST * host["mem_total"]
    beside = near(space, found, rng, [one.factor for one in space.knobs[:2]])
    assert plain(space, beside) == beside


@settings(max_examples=60)
@given(hosts, asked, st.integers(0, 2**32))
def test_whatever_is_launched_fits_into_the_node_and_the_heap(host, asked, seed) -> None:  # type: ignore[no-untyped-def]
    """Points at random, not the engine's draws: each is refused, or has room for all its parts."""
    said = {name: f"{int(size)}b" for name, size in asked.items()}
    said["spark.memory.offHeap.enabled"] = "true"
    job = job_from(said, "local[4]", "4.0.1", {})
    facts = {**host, **job.facts, "writes_parquet": 1.0}
    space = named_space("all", facts, now=job.now, spark_version="4.0.1")
    rng = np.random.default_rng(seed)
    for _ in range(20):
        found = decode(space, rng.random(len(space.knobs)))
        if infeasible(space, found) is not None:
            continue
        held = {one.factor: one.default for one in space.knobs if one.default} | found
        read = {name: number_or_text(with_unit(name, text)) for name, text in held.items()}
        number = {name: one for name, one in read.items() if isinstance(one, float)}
        apart = "layout.executors" in found
        own = job.facts["executor_heap" if apart else "heap"]
        heap = number["jvm.heap"] if "jvm.heap" in found else own
        executors = number["layout.executors"] if apart else 1
        if TAKES & found.keys():
            beside = max(0.1 * heap, 384 << 20)
            each = heap + (asked.get("spark.executor.memoryOverhead", beside) if apart else beside)
            each += asked.get("spark.executor.pyspark.memory", 0.0)
            each += asked.get("spark.memory.offHeap.size", 0.0)
            assert int(executors * each) <= MOST * host["mem_total"] * 1.0001
        assert heap >= 450 << 20 or "jvm.heap" not in found
        if "jvm.young" in found:
            assert number["jvm.young"] <= 0.9 * heap
        slots = number["layout.tasks"] / executors
        if "layout.cores_per_executor" in found:
            slots = number["layout.cores_per_executor"]
        assert executors * slots <= max(2 * host["cpus"], job.facts["slots"])
        fetched = "spark.reducer.maxSizeInFlight"
        grows = heap < own or slots > job.facts["slots"] or number[fetched] > 48 << 20
        if grows and {fetched, "jvm.heap", "layout.tasks"} & found.keys():
            before = 4 * (48 << 20) / job.facts["heap"]
            assert slots * number[fetched] / heap <= max(0.5, before) * 1.0001


@settings(max_examples=40)
@given(hosts, versions, st.integers(0, 2**32))
def test_features_are_finite_and_tell_configurations_apart(host, version, seed) -> None:  # type: ignore[no-untyped-def]
    space = named_space("all", host, spark_version=version)
    rng = np.random.default_rng(seed)
    one, other = (draw(space, rng) for _ in range(2))
    table = features(space, [one, other, {}])
    assert table.shape == (3, len(columns(space)))
    assert np.all((table >= 0) & (table <= 1))
    assert (table[0] == table[1]).all() == (one == other)
