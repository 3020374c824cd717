"""Points with many features: a mixture of clusters, or two classes that a plane nearly separates.

A point is drawn from its number only, and memory does not grow with their count. Values come from
additions, multiplications and divisions only, whose results IEEE 754 fixes on every machine.

Expected results of learning from generated points, computed with NumPy and without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pyrometer.workloads.data.files import stream, write_file
from pyrometer.workloads.values import Progress

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Block = tuple[F64, I64]
"""Features of some points, a row each, and their labels."""

GENERATOR = "points/1"
FILE_VALUES = 2_000_000
"""Most numbers in one file: 16 MB."""
MIN_FILES = 4
CLUSTERS = 10
SPREAD = 1.25
"""Scale of the coordinates of cluster centres, where that of the noise is 1: clusters overlap."""
INTERCEPT = 0.25
LABEL_NOISE = 0.5
# Of a sum of four uniform 16-bit numbers.
_MEAN, _DEVIATION = 131_070.0, 37_837.23


def recipe(kind: str, count: int, features: int) -> dict[str, Any]:
    """Say what determines the bytes of the dataset."""
    return {
        "generator": GENERATOR,
        "kind": kind,
        "points": count,
        "features": features,
        "pyarrow": pa.__version__,
    }


def noise(name: int, rows: int, columns: int, first: int = 0) -> F64:
    """Draw values near the normal distribution, mean 0 and deviation 1, within ±3.5."""
    bits = stream(name, rows * columns, first * columns)
    total = np.zeros(len(bits), dtype=np.float64)
    for shift in (0, 16, 32, 48):
        total += ((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64)
    return ((total - _MEAN) / _DEVIATION).reshape(rows, columns)


def cluster_centres(features: int) -> F64:
    """Centres of the mixture, a row each."""
    return SPREAD * noise(31, CLUSTERS, features)


def cluster_block(first: int, rows: int, features: int) -> Block:
    """Points of the mixture from number `first` on; the label is the cluster."""
    cluster = (stream(32, rows, first) % np.uint64(CLUSTERS)).astype(np.int64)
    return cluster_centres(features)[cluster] + noise(33, rows, features, first), cluster


def normal_vector(features: int) -> F64:
    """Give the unit vector across the plane between the two classes."""
    raw = np.array([(1 + j % 3) * (-1) ** j for j in range(features)], dtype=np.float64)
    unit: F64 = raw / np.sqrt(float((raw * raw).sum()))
    return unit


def halfspace_block(first: int, rows: int, features: int) -> Block:
    """Points of both classes from number `first` on: 1 above the plane, with noise."""
    x = noise(41, rows, features, first)
    margin = plane_margin(x)
    return x, (margin + LABEL_NOISE * noise(42, rows, 1, first)[:, 0] > 0).astype(np.int64)


def plane_margin(x: F64) -> F64:
    """Signed distance of points from the drawn plane."""
    margin = np.full(len(x), INTERCEPT)
    # Not a matrix product: the order of its additions depends on the library.
    for column, weight in enumerate(normal_vector(x.shape[1])):
        margin += weight * x[:, column]
    return margin


BLOCKS: dict[str, Callable[[int, int, int], Block]] = {
    "clusters": cluster_block,
    "halfspace": halfspace_block,
}


def blocks(kind: str, count: int, features: int) -> Iterator[Block]:
    """Draw all points, a file's worth at a time."""
    rows = max(1, min(FILE_VALUES // features, -(-count // MIN_FILES)))
    for first in range(0, count, rows):
        yield BLOCKS[kind](first, min(rows, count - first), features)


def write_dataset(
    folder: Path, progress: Progress, kind: str, count: int, features: int
) -> dict[str, Any]:
    """Write ``points``: files of ``label double, features array<double>``, one row group each."""
    (folder / "points").mkdir()
    done = 0
    for number, (x, label) in enumerate(blocks(kind, count, features)):
        progress("writing points", done, count)
        table = pa.table(
            {
                "label": pa.array(label.astype(np.float64)),
                "features": pa.ListArray.from_arrays(
                    np.arange(0, x.size + 1, features, dtype=np.int32), x.ravel()
                ),
            }
        )
        done += write_file(folder / "points" / f"part-{number:05}.parquet", table, "snappy")
    progress("writing points", count, count)
    return {"points": count}


FIT_STEPS = 12
FIT_CLOSE = 1e-8


def read_blocks(points: str) -> Iterator[tuple[F64, I64]]:
    """Features and labels of a dataset's points, a file at a time."""
    for path in sorted(Path(points).glob("*.parquet")):
        table = pq.read_table(path)
        rows = table.num_rows
        features = table["features"].combine_chunks().flatten().to_numpy()
        yield features.reshape(rows, -1), table["label"].to_numpy().astype(np.int64)


def lloyd(points: str, progress: Progress, iterations: int) -> dict[str, Any]:
    """Run Lloyd's algorithm from the first points as centres.

    Each iteration assigns every point to its nearest centre and moves the centres to the means;
    one without points stays (Lloyd, "Least squares quantization in PCM", 1982).

    Returns
    -------
    dict
        ``initial`` and ``centres``; ``cost``: sum of squared distances from the centres that the
        last iteration began with, as MLlib reports it; ``iterations``: how many it took, fewer
        than asked for if no centre moves any more.
    """
    first, _ = next(read_blocks(points))
    initial = first[:CLUSTERS]
    centres, cost, took = initial, 0.0, 0
    while took < iterations:
        progress("finding the centres", took, iterations)
        moved, cost = _lloyd_step(centres, points)
        took += 1
        still = bool((moved == centres).all())
        centres = moved
        if still:
            break
    progress("finding the centres", iterations, iterations)
    return {
        "initial": initial.tolist(),
        "centres": centres.tolist(),
        "cost": cost,
        "iterations": took,
    }


def _lloyd_step(centres: F64, points: str) -> tuple[F64, float]:
    sums, sizes, cost = np.zeros_like(centres), np.zeros(len(centres)), 0.0
    for x, _ in read_blocks(points):
        distance = (x * x).sum(axis=1)[:, None] - 2.0 * (x @ centres.T)
        distance += (centres * centres).sum(axis=1)
        nearest = distance.argmin(axis=1)
        member = nearest[:, None] == np.arange(len(centres))
        cost += float(distance[member].sum())
        sizes += member.sum(axis=0)
        sums += member.T.astype(np.float64) @ x
    moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return moved, cost


def plane(points: str, progress: Progress) -> dict[str, Any]:
    """Evaluate how well the drawn plane separates the classes, and find the likeliest one.

    Returns
    -------
    dict
        ``positives``: points of class 1; ``correct``: points on their side of the drawn plane;
        ``coefficients`` and ``intercept`` of greatest likelihood, without regularisation.
    """
    positives = correct = 0
    for x, label in read_blocks(points):
        positives += int(label.sum())
        correct += int(((plane_margin(x) > 0) == (label == 1)).sum())
    *coefficients, intercept = _likeliest(points, progress).tolist()
    return {
        "positives": positives,
        "correct": correct,
        "coefficients": coefficients,
        "intercept": intercept,
    }


def _likeliest(points: str, progress: Progress) -> F64:
    """Logistic regression by Newton's method, until steps are negligible."""
    x, _ = next(read_blocks(points))
    fitted = np.zeros(x.shape[1] + 1)
    for done in range(FIT_STEPS):
        progress("fitting", done, FIT_STEPS)
        gradient, hessian = np.zeros(len(fitted)), np.zeros((len(fitted), len(fitted)))
        for x, label in read_blocks(points):
            slope, curvature = _derivatives(x, label, fitted)
            gradient += slope
            hessian += curvature
        step = np.linalg.solve(hessian, gradient)
        fitted -= step
        if float(abs(step).max()) < FIT_CLOSE:
            break
    progress("fitting", FIT_STEPS, FIT_STEPS)
    return fitted


def _derivatives(x: F64, label: I64, fitted: F64) -> tuple[F64, F64]:
    """Gradient and Hessian of the negative log-likelihood; the intercept stands last."""
    design = np.column_stack((x, np.ones(len(x))))
    probability = 1.0 / (1.0 + np.exp(-(design @ fitted)))
    weight = probability * (1.0 - probability)
    return design.T @ (probability - label), (design * weight[:, None]).T @ design
