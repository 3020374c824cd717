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
    """Say how well the drawn plane tells the classes apart, and find the likeliest one.

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
    """Logistic regression by Newton's method, to where a step changes nothing that counts."""
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
