"""Data of the iterative workloads, and their answers beside those of other libraries."""

from __future__ import annotations

from types import SimpleNamespace

import networkx
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from pyrometer.core.errors import UsageError
from pyrometer.workloads.catalogue import svdpp
from pyrometer.workloads.data import graph, points, ratings
from pyrometer.workloads.data import points as point_answers
from pyrometer.workloads.data import ratings as factors
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.registry import get, resolve
from pyrometer.workloads.values import Prepared, no_progress


@pytest.fixture
def written(tmp_path):
    def write(kind, count=4_000, features=6):
        points.write_dataset(tmp_path, no_progress, kind, count, features)
        return str(tmp_path / "points")

    return write


def whole(path):
    blocks = list(point_answers.read_blocks(path))
    return np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])


@pytest.mark.parametrize("kind", sorted(points.BLOCKS))
def test_points_do_not_depend_on_where_a_block_begins(kind):
    x, label = points.BLOCKS[kind](0, 50, 3)
    later, later_label = points.BLOCKS[kind](20, 30, 3)
    assert (x[20:] == later).all()
    assert (label[20:] == later_label).all()


def test_points_are_read_as_they_were_drawn(written):
    x, label = whole(written("clusters"))
    drawn, cluster = points.cluster_block(0, 4_000, 6)
    assert (x == drawn).all()
    assert (label == cluster).all()


def test_noise_has_mean_zero_and_deviation_one():
    drawn = points.noise(1, 200_000, 1)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1) < 0.01


def test_centres_are_those_of_scikit_learn(written):
    path = written("clusters")
    ours = point_answers.lloyd(path, no_progress, 300)
    x, _ = whole(path)
    theirs = KMeans(
        10, init=np.array(ours["initial"]), n_init=1, max_iter=300, tol=0, algorithm="lloyd"
    ).fit(x)
    assert ours["centres"] == pytest.approx(theirs.cluster_centers_, rel=1e-9)
    assert ours["cost"] == pytest.approx(theirs.inertia_, rel=1e-9)
    assert ours["iterations"] < 300


def test_fewer_iterations_leave_a_greater_cost(written):
    path = written("clusters")
    few, many = (point_answers.lloyd(path, no_progress, n) for n in (2, 10))
    assert (few["iterations"], many["iterations"]) == (2, 10)
    assert few["cost"] > many["cost"]


def test_plane_is_that_of_scikit_learn(written):
    path = written("halfspace")
    ours = point_answers.plane(path, no_progress)
    x, label = whole(path)
    theirs = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1_000).fit(x, label)
    assert ours["coefficients"] == pytest.approx(theirs.coef_[0], rel=1e-4)
    assert ours["intercept"] == pytest.approx(theirs.intercept_[0], rel=1e-4)
    assert ours["positives"] == label.sum()
    assert 0.8 < ours["correct"] / 4_000 < 0.95


@pytest.mark.parametrize("name", ["svm", "logistic-regression"])
def test_points_too_few_to_learn_a_plane_from_are_refused(name, tmp_path):
    with pytest.raises(UsageError, match="the least is 10000 points"):
        resolve(name, {}, "50")
    many = resolve(name, {"workload.features": "100"}, "20000")
    with pytest.raises(UsageError, match=r"20000 points are too few .* 100 features") as raised:
        get(name).prepare(many, DataCache(tmp_path))
    assert "--scale 25000" in str(raised.value.remedy)
    assert list(tmp_path.iterdir()) == []


def test_degrees_follow_a_power_law():
    degrees = sum(np.bincount(target, minlength=6_250) for _, target in graph.blocks(100_000))
    expected = np.cbrt(np.arange(6_251) / 6_250)
    share = degrees.cumsum() / degrees.sum()
    assert share == pytest.approx(expected[1:], abs=0.01)


def test_ranks_are_those_of_networkx():
    ours, known = graph.ranks(no_progress, 5_000, 100)
    net = networkx.MultiDiGraph()
    for source, target in graph.blocks(5_000):
        net.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    assert set(net) == set(np.flatnonzero(known).tolist())
    assert any(net.out_degree(vertex) == 0 for vertex in net)
    theirs = networkx.pagerank(net, alpha=0.85, max_iter=500, tol=1e-12)
    assert len(theirs) > 300
    for vertex, rank in theirs.items():
        assert ours[vertex] == pytest.approx(rank * len(net), rel=1e-6)


def test_summary_of_ranks_names_the_highest():
    rank, known = graph.ranks(no_progress, 5_000, 3)
    summary = graph.page_rank(no_progress, 5_000, 3, top=4)
    assert summary["vertices"] == known.sum()
    assert summary["sums"][0] == pytest.approx(known.sum())
    assert [r for _, r in summary["top"]] == sorted(rank, reverse=True)[:4]


def test_no_user_rates_an_item_twice():
    user, item, rating = (np.concatenate(c) for c in zip(*ratings.blocks(20_000), strict=True))
    assert len(user) == 20_000
    assert len(set(zip(user.tolist(), item.tolist(), strict=True))) == 20_000
    assert (np.diff(user) >= 0).all()
    assert set(rating.tolist()) == {1, 2, 3, 4, 5}
    assert item.max() < ratings.items_of(20_000)


def test_some_users_rate_many_more_items_than_most():
    user = np.concatenate([u for u, _, _ in ratings.blocks(100_000)])
    counts = np.bincount(user)[:-1]
    assert counts.min() == ratings.MIN_RATINGS
    assert np.median(counts) < 2 * ratings.MIN_RATINGS
    assert counts.max() > 10 * ratings.MIN_RATINGS


def test_generator_is_that_of_java():
    # new java.util.Random(42).nextDouble(), twice.
    drawn = factors.JavaRandom(42)
    assert [drawn.next_double(), drawn.next_double()] == [0.7275636800328681, 0.6832234717598454]


def test_training_lowers_the_error_below_that_of_the_mean():
    conf = {"rank": 10, "rate": 0.003, "regularisation": [0.005, 0.015], "seed": 7}
    found = factors.svd(no_progress, 50_000, 10, conf)
    rating = np.concatenate([r for _, _, r in ratings.blocks(50_000)])
    assert found["mean"] == pytest.approx(rating.mean())
    assert found["squared_error"] / 50_000 < 0.9 * rating.var()


def test_training_is_that_of_the_formulas_one_rating_at_a_time():
    conf = {"rank": 2, "rate": 0.01, "regularisation": [0.1, 0.2], "seed": 3}
    found = factors.svd(no_progress, 200, 2, conf)
    assert found["squares"] == pytest.approx(_by_hand(200, 2, conf), rel=1e-9)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_checksum_holds_only_what_does_not_depend_on_the_order_of_messages(monkeypatch, ordered):
    def checksum(*numbers):
        program = SimpleNamespace(run=lambda *_: [9, *numbers], addsCorrections=lambda: ordered)
        monkeypatch.setattr(svdpp, "java_class", lambda spark, name: program)
        spark = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
        prepared = Prepared(paths={"ratings": "ratings"})
        return svdpp.SvdPlusPlus().run(spark, prepared, resolve("svdpp", {}, "test")).checksum

    assert (checksum(3.5, 1.0) == checksum(3.5, 2.0)) is not ordered
    assert checksum(3.5, 1.0) != checksum(3.6, 1.0)


def _by_hand(count, iterations, conf):
    """Koren's model with plain loops: sums of squares of biases and factors."""
    drawn = factors.JavaRandom(conf["seed"])
    start = [[drawn.next_double() for _ in range(2)] for _ in range(2)]
    edges = [
        tuple(map(int, e)) for block in ratings.blocks(count) for e in zip(*block, strict=True)
    ]
    mean = sum(r for _, _, r in edges) / count
    state = {}
    for side in (0, 1):
        for key in {e[side] for e in edges}:
            own = [e[2] for e in edges if e[side] == key]
            bias = sum(own) / len(own) - mean
            state[side, key] = [list(start[0]), list(start[1]), bias, len(own) ** -0.5]
    rate, (g6, g7) = conf["rate"], conf["regularisation"]
    for _ in range(iterations):
        for key in {e[0] for e in edges}:
            user = state[0, key]
            seen = [state[1, i][1] for u, i, _ in edges if u == key]
            user[1] = [user[0][k] + user[3] * sum(y[k] for y in seen) for k in (0, 1)]
        change = {key: [[0.0, 0.0], [0.0, 0.0], 0.0] for key in state}
        for u, i, rating in edges:
            (p, z, bu, norm), (q, y, bi, _) = state[0, u], state[1, i]
            guess = mean + bu + bi + q[0] * z[0] + q[1] * z[1]
            error = rating - min(max(guess, 1.0), 5.0)
            du, di = change[0, u], change[1, i]
            for k in (0, 1):
                step = rate * (error * norm * q[k] - g7 * y[k])
                du[0][k] += rate * (error * q[k] - g7 * p[k])
                di[0][k] += rate * (error * z[k] - g7 * q[k])
                du[1][k] += step
                di[1][k] += step
            du[2] += rate * (error - g6 * bu)
            di[2] += rate * (error - g6 * bi)
        for key, (first, second, bias) in change.items():
            for k in (0, 1):
                state[key][0][k] += first[k]
                state[key][1][k] += second[k]
            state[key][2] += bias
    sides = ([s for (side, _), s in state.items() if side == n] for n in (0, 1))
    users, items = map(list, sides)
    return [
        sum(s[2] ** 2 for s in users),
        sum(s[2] ** 2 for s in items),
        sum(x * x for s in users for x in s[0]),
        sum(x * x for s in items for x in s[0]),
    ]
