"""A run of random stacks: samples that share as little as samples can."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

KINDS = ("independent", "calls")
NAMES = 2_000
CALLEES = 3
_BATCH = 50_000


def frames_of(kind: str, stacks: int, depth: int, seed: int) -> npt.NDArray[np.int32]:
    """Give distinct stacks, a row each, root first.

    Parameters
    ----------
    kind : str
        ``independent``: every frame is drawn from all names, so that stacks part at the second
        frame. ``calls``: every method calls one of `CALLEES` others, so that they part late.
    stacks, depth : int
        Rows and columns.
    seed : int
        The same gives the same stacks.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is none of {KINDS}")
    rng = np.random.default_rng(seed)
    found = np.empty((0, depth), np.int32)
    while found.shape[0] < stacks:
        missing = stacks - found.shape[0]
        if kind == "independent":
            drawn = rng.integers(0, NAMES, (missing, depth), dtype=np.int32)
        else:
            callees = np.random.default_rng([seed, 1]).integers(0, NAMES, (NAMES, CALLEES))
            drawn = np.zeros((missing, depth), np.int32)
            for level in range(1, depth):
                drawn[:, level] = callees[drawn[:, level - 1], rng.integers(0, CALLEES, missing)]
        found = np.concatenate([found, drawn])
        rows = np.ascontiguousarray(found).view(np.dtype((np.void, found.itemsize * depth)))
        _, first = np.unique(rows, return_index=True)
        found = found[np.sort(first)]
    return found


def write_run(folder: Path, kind: str, stacks: int, depth: int, seed: int) -> None:
    """Write a run directory with one CPU sample of 10 ms of each stack."""
    tables = folder / "tables"
    tables.mkdir(parents=True)
    frames = frames_of(kind, stacks, depth, seed)
    numbers = np.arange(NAMES, dtype=np.int32)
    pq.write_table(
        pa.table(
            {
                "frame_id": numbers,
                "class_name": [f"org.example.part{i % 40}.Worker{i // 10}" for i in range(NAMES)],
                "method": [f"step{i % 10}" for i in range(NAMES)],
                "kind": ["c2"] * NAMES,
            }
        ),
        tables / "frames.parquet",
    )
    schema = pa.schema([("stack_id", pa.int32()), ("frame_ids", pa.list_(pa.int32()))])
    with pq.ParquetWriter(tables / "stacks.parquet", schema) as writer:
        for low in range(0, stacks, _BATCH):
            part = frames[low : low + _BATCH]
            ends = np.arange(part.shape[0] + 1, dtype=np.int32) * depth
            lists = pa.ListArray.from_arrays(ends, part.reshape(-1))
            ids = np.arange(low, low + part.shape[0], dtype=np.int32)
            writer.write_table(pa.table([ids, lists], schema=schema), row_group_size=_BATCH)
    rng = np.random.default_rng([seed, 2])
    pq.write_table(
        pa.table(
            {
                "event": pa.array(["cpu"] * stacks).dictionary_encode(),
                "weight": np.full(stacks, 10_000_000, np.int64),
                "unit": pa.array(["ns"] * stacks).dictionary_encode(),
                "role": pa.array(["task"] * stacks).dictionary_encode(),
                "stage_id": rng.integers(0, 20, stacks),
                "task_attempt_id": rng.integers(0, 4_000, stacks),
                "java_stack": np.arange(stacks, dtype=np.int32),
            }
        ),
        tables / "samples.parquet",
    )
    manifest = {"schema": "pyrometer/manifest/1", "schema_version": 1, "run_id": kind}
    manifest |= {"state": "finished", "workload": {"name": f"{stacks} stacks, {kind}"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
