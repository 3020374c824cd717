"""A directed graph with few vertices of many edges, and the PageRank of its vertices.

Each edge is drawn by itself: the source is ``V·u²`` and the target ``V·v³`` of uniform `u`, `v`.
So vertex number `i` expects edges in proportion to ``i^(-1/2)`` out and ``i^(-2/3)`` in, which
makes the degrees follow power laws of exponents 3 and 2.5, as in nets of pages and people
(Newman, "The structure and function of complex networks", 2003). The same edge can come twice
and then counts twice. A sixteenth of the vertices has edges in only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyrometer.workloads.data.files import stream, write_lines
from pyrometer.workloads.values import Progress

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

GENERATOR = "graph/1"
EDGES_PER_VERTEX = 16
FILE_EDGES = 1_000_000
MIN_FILES = 4
RESET = 0.15
RESIDUES = 1009
_MANTISSA = 2.0**-53


def vertices_of(edges: int) -> int:
    """Vertices that edges may touch; those that none does are not in the graph."""
    return max(2, edges // EDGES_PER_VERTEX)


def recipe(edges: int) -> dict[str, Any]:
    """Say what determines the bytes of the dataset."""
    return {"generator": GENERATOR, "edges": edges, "pyarrow": pa.__version__}


def blocks(edges: int) -> Iterator[tuple[I64, I64]]:
    """Draw sources and targets, a file's worth at a time."""
    rows = max(1, min(FILE_EDGES, -(-edges // MIN_FILES)))
    for first in range(0, edges, rows):
        yield draw(first, min(rows, edges - first), vertices_of(edges))


def draw(first: int, count: int, vertices: int) -> tuple[I64, I64]:
    """Draw the edges from number `first` on."""
    u, v = ((stream(s, count, first) >> np.uint64(11)) * _MANTISSA for s in (51, 52))
    # Products, not powers: the last bit of a power depends on the library.
    sources = vertices - vertices // 16
    return (u * u * sources).astype(np.int64), (v * v * v * vertices).astype(np.int64)


def write_dataset(folder: Path, progress: Progress, edges: int) -> dict[str, Any]:
    """Write ``edges``: text files, source and target in a line."""
    drawn = ([pa.array(source), pa.array(target)] for source, target in blocks(edges))
    write_lines(folder / "edges", progress, "edges", drawn, edges)
    return {"edges": edges}


def page_rank(progress: Progress, edges: int, iterations: int, top: int) -> dict[str, Any]:
    """Compute what `ranks` gives, summed up as the workload sums it up; `top` ranks are kept."""
    rank, known = ranks(progress, edges, iterations)
    ids = np.flatnonzero(known)
    order = np.lexsort((ids, -rank[ids]))[:top]
    return {
        "vertices": len(ids),
        "sums": [
            float(rank[ids].sum()),
            float((rank[ids] ** 2).sum()),
            float((rank[ids] * (ids % RESIDUES)).sum()),
        ],
        "top": [[int(i), float(rank[i])] for i in ids[order]],
    }


def ranks(progress: Progress, edges: int, iterations: int) -> tuple[F64, npt.NDArray[np.bool_]]:
    """Rank of every vertex by power iteration, and which vertices the graph has.

    As GraphX does: all begin at 1; each iteration gives a vertex 0.15 and 0.85 times what its
    sources pass on, each its rank in equal parts to its edges. What vertices without edges out
    hold is lost, and at the end all are scaled to sum up to the number of vertices.
    """
    vertices = vertices_of(edges)
    out_degree, in_degree = np.zeros(vertices), np.zeros(vertices)
    for source, target in blocks(edges):
        out_degree += np.bincount(source, minlength=vertices)
        in_degree += np.bincount(target, minlength=vertices)
    known = (out_degree + in_degree) > 0
    rank = known.astype(np.float64)
    for done in range(iterations):
        progress("ranking vertices", done, iterations)
        share = rank / np.maximum(out_degree, 1)
        received = np.zeros(vertices)
        for source, target in blocks(edges):
            received += np.bincount(target, weights=share[source], minlength=vertices)
        rank = np.where(known, RESET + (1 - RESET) * received, 0.0)
    progress("ranking vertices", iterations, iterations)
    return rank * (known.sum() / rank.sum()), known
