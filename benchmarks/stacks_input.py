"""Input for the comparison of tools that read stacks, from a real run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import duckdb

from pyrometer import _core

# Stacks to write at once.
_BATCH = 2000


class Inputs(NamedTuple):
    """Files of the same run: a recording, text as of perf script, and folded text."""

    jfr: Path
    perf: Path
    folded: Path


def make(run: Path, folder: Path, jfr_bytes: int, perf_bytes: int) -> Inputs:
    """Write the three files.

    Parameters
    ----------
    run : Path
        A run directory that holds recordings.
    folder : Path
        Where to write.
    jfr_bytes : int
        Least size of the recording; its chunks are repeated.
    perf_bytes : int
        Least size of the text of perf script; samples are repeated, at later times.
    """
    recordings = sorted((run / "raw").glob("profile-*.jfr"))
    if not recordings:
        raise SystemExit(f"{run / 'raw'}: no recording (profile-*.jfr); run with --profile full")
    inputs = Inputs(folder / "large.jfr", folder / "perf.txt", folder / "stacks.folded")
    repeat(recordings, inputs.jfr, jfr_bytes)
    tables = folder / "tables"
    tables.mkdir()
    _core.ingest_jfr([str(path) for path in recordings], [], str(tables), "host")
    with inputs.perf.open("w") as out:
        write_perf_script(tables, out, perf_bytes)
    _core.fold(str(inputs.perf), str(inputs.folded), json.dumps({"format": "perf-script"}))
    return inputs


def repeat(recordings: list[Path], out: Path, size_bytes: int) -> None:
    """Write recordings one behind the other: a recording is a sequence of chunks."""
    with out.open("wb") as file:
        for path in itertools.cycle(recordings):
            if file.tell() >= size_bytes:
                return
            content = path.read_bytes()
            if not content:
                raise SystemExit(f"{path}: empty")
            file.write(content)


def frame_lines(db: duckdb.DuckDBPyConnection, tables: Path) -> dict[int, str]:
    """Every frame as perf script writes it, Java by a map of compiled code."""
    rows = db.execute(
        "SELECT frame_id, class_name, method, line, kind, library FROM read_parquet(?)",
        [str(tables / "frames.parquet")],
    ).fetchall()
    lines = {}
    for number, class_name, method, line, kind, library in rows:
        address = 0x7F00_0000_0000 + 64 * number
        if kind == "kernel":
            lines[number] = (
                f"\t{0xFFFF_FFFF_8000_0000 + number:16x} {method}+0x1 ([kernel.kallsyms])\n"
            )
        elif class_name:
            symbol = f"L{class_name.replace('.', '/')};::{method}"
            lines[number] = f"\t{address:16x} {symbol}+{line or 0:#x} (/tmp/perf-1.map)\n"
        else:
            where = f"/usr/lib/{library}" if library else "[unknown]"
            lines[number] = f"\t{address:16x} {method}+0x1c ({where})\n"
    return lines


def stack_texts(db: duckdb.DuckDBPyConnection, tables: Path) -> dict[int, str]:
    """Every stack as perf script writes it, leaf first."""
    frames = frame_lines(db, tables)
    stacks = {}
    cursor = db.execute(
        "SELECT stack_id, frame_ids FROM read_parquet(?)", [str(tables / "stacks.parquet")]
    )
    while rows := cursor.fetchmany(_BATCH):
        for number, frame_ids in rows:
            stacks[number] = "".join(frames[frame] for frame in reversed(frame_ids))
    return stacks


def samples(db: duckdb.DuckDBPyConnection, tables: Path) -> Iterator[tuple[int, int, int, int]]:
    """Process, thread, time and stack of the samples of the CPU, in order of time."""
    cursor = db.execute(
        "SELECT pid, tid, t_ns, java_stack FROM read_parquet(?) "
        "WHERE event = 'cpu' AND java_stack IS NOT NULL ORDER BY t_ns, tid, java_stack",
        [str(tables / "samples.parquet")],
    )
    while rows := cursor.fetchmany(_BATCH):
        yield from rows


def write_perf_script(tables: Path, out: IO[str], size_bytes: int) -> None:
    """Write samples of the CPU, over and over until the text is large enough."""
    with duckdb.connect() as db:
        stacks = stack_texts(db, tables)
        for turn in itertools.count():
            before = out.tell()
            for pid, tid, t_ns, stack in samples(db, tables):
                t_us = (t_ns + turn * 1_000_000_000_000) // 1000
                head = f"java {pid}/{tid} [{tid % 2:03d}] {t_us // 10**6}.{t_us % 10**6:06d}:"
                out.write(f"{head}   10000000 cpu-clock:ppp: \n{stacks[stack]}\n")
            if out.tell() == before:
                raise SystemExit(f"{tables}: no sample of the CPU with a stack")
            if out.tell() >= size_bytes:
                return
