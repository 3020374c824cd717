"""The folded tree against a straightforward one made of dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.report.flame_tree import KINDS, build_tree

PATHS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=7).map(tuple), min_size=1, max_size=40
)


@given(PATHS, st.randoms(use_true_random=False))
def test_tree_is_the_set_of_prefixes_in_preorder(paths, rng) -> None:
    weights = np.array([rng.randint(1, 9) for _ in paths], dtype=float)
    kinds = [[rng.randrange(len(KINDS)) for _ in path] for path in paths]
    tree = build_tree(
        [np.array(p, np.uint32) for p in paths], [np.array(k, np.uint8) for k in kinds], weights
    )
    expected = sorted({path[: n + 1] for path in paths for n in range(len(path))})
    found, open_frames = [], []
    for frame, depth in zip(tree["frame"].tolist(), tree["depth"].tolist(), strict=True):
        open_frames[depth:] = [frame]
        found.append(tuple(open_frames))
    # Tuples sort as pre-order does: a prefix before what it is a prefix of.
    assert found == expected
    assert [found[leaf] for leaf in tree["leaf"]] == paths

    votes: dict[tuple[int, ...], Counter[int]] = {}
    for path, kind, weight in zip(paths, kinds, weights, strict=True):
        for n, one in enumerate(kind):
            votes.setdefault(path[: n + 1], Counter())[one] += weight
    for node, kind in zip(found, tree["kind"].tolist(), strict=True):
        assert votes[node][kind] == max(votes[node].values())
