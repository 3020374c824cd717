"""The tree of runs holds every path, at the run that it says."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.flame.tree import KINDS, Paths, build_tree

FRAMES = st.tuples(st.integers(0, 3), st.integers(0, len(KINDS) - 1))
PATHS = st.lists(st.lists(FRAMES, min_size=1, max_size=7), min_size=1, max_size=25)


@given(PATHS)
def test_runs_hold_every_path_and_the_kind_that_most_of_them_see(paths):
    flat = [frame for path in paths for frame in path]
    made = build_tree(
        Paths(
            np.array([frame for frame, _ in flat], np.uint32),
            np.array([kind for _, kind in flat], np.uint8),
            np.array([len(path) for path in paths], np.int64),
            np.ones(len(paths)),
        )
    )
    seen = defaultdict(Counter)
    for path in paths:
        names = tuple(frame for frame, _ in path)
        for depth, (_, kind) in enumerate(path):
            seen[names[: depth + 1]][kind] += 1

    place, names, of_run, prefixes = 0, [], [], []
    for run, depth in zip(made.run.tolist(), made.depth.tolist(), strict=True):
        del names[depth:]
        for at in range(place, place + run):
            names.append(int(made.frame[at]))
            prefixes.append(tuple(names))
            votes = seen[tuple(names)]
            assert votes[int(made.kind[at])] == max(votes.values())
        place += run
        of_run.append(tuple(names))
    assert place == made.frame.size == made.kind.size
    assert sorted(prefixes) == sorted(seen)
    assert prefixes == sorted(prefixes)
    assert [of_run[leaf] for leaf in made.leaf] == [tuple(f for f, _ in path) for path in paths]
    assert made.run.size <= 2 * len({tuple(f for f, _ in path) for path in paths})
