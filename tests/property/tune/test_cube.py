"""The unit cube: levels come back as themselves, and whatever is drawn may be launched."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.trial.factors import find_factor, parse_level
from pyrometer.tune.space.cube import columns, decode, draw, encode, features, near, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.levels import bounds
from pyrometer.tune.space.memory import MOST, TAKES, memory_of
from pyrometer.tune.space.named import named_space

G = float(1 << 30)
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
