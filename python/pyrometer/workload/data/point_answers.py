"""What learning from generated points must give, found with NumPy and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pyrometer.workload.contract import Progress
from pyrometer.workload.data.points import CLUSTERS, F64, I64, plane_margin

FIT_STEPS = 12


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


def plane(points: str, progress: Progress, count: int) -> dict[str, Any]:
    """Say how well the drawn plane tells the classes apart, and fit a logistic regression.

    The fit is Newton's on the first block, then one step of Newton's on all points: its error
    is of the order of the square of the step.

    Returns
    -------
    dict
        ``positives``: points of class 1; ``correct``: points on their side of the drawn plane;
        ``coefficients`` and ``intercept`` of greatest likelihood, without regularisation.
    """
    fitted: F64 | None = None
    positives = correct = done = 0
    gradient: Any = 0.0
    hessian: Any = 0.0
    for x, label in read_blocks(points):
        progress("fitting", done, count)
        if fitted is None:
            fitted = _newton(x, label)
        step, curvature = _derivatives(x, label, fitted)
        gradient += step
        hessian += curvature
        positives += int(label.sum())
        correct += int(((plane_margin(x) > 0) == (label == 1)).sum())
        done += len(x)
    progress("fitting", count, count)
    assert fitted is not None
    fitted = fitted - np.linalg.solve(hessian, gradient)
    return {
        "positives": positives,
        "correct": correct,
        "coefficients": fitted[:-1].tolist(),
        "intercept": float(fitted[-1]),
    }


def _newton(x: F64, label: I64) -> F64:
    fitted = np.zeros(x.shape[1] + 1)
    for _ in range(FIT_STEPS):
        gradient, hessian = _derivatives(x, label, fitted)
        fitted -= np.linalg.solve(hessian, gradient)
    return fitted


def _derivatives(x: F64, label: I64, fitted: F64) -> tuple[F64, F64]:
    """Gradient and Hessian of the negative log-likelihood; the intercept stands last."""
    design = np.column_stack((x, np.ones(len(x))))
    probability = 1.0 / (1.0 + np.exp(-(design @ fitted)))
    weight = probability * (1.0 - probability)
    return design.T @ (probability - label), (design * weight[:, None]).T @ design
