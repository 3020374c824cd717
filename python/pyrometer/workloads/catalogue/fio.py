"""fio: a file whose blocks hold their offsets, and single reads at random offsets of it."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.workloads.values import Progress

_MIB = 1 << 20


def program() -> str:
    """Find fio.

    Raises
    ------
    CapabilityError
        If it is not installed.
    """
    found = shutil.which("fio")
    if found is None:
        raise CapabilityError("fio is not installed", "apt-get install fio")
    return found


def write_blocks(path: Path, blocks: int, block: int, report: Progress) -> None:
    """Write a file of blocks that hold their own offset, over and over (fio's ``%o``)."""
    with path.open("wb") as out:
        for number in range(blocks):
            if number * block % (64 * _MIB) == 0:
                report("writing blocks", number, blocks)
            out.write(struct.pack("<Q", number * block) * (block // 8))
    report("writing blocks", blocks, blocks)


def read_blocks(
    path: str,
    *,
    engine: str,
    block: int,
    depth: int,
    direct: bool,
    reads: int,
    seed: int,
    quantiles: Mapping[str, float],
) -> dict[str, int]:
    """Read single blocks, `depth` at once, and compare each with what it must hold.

    Parameters
    ----------
    path : str
        A file that `write_blocks` wrote.
    engine : str
        fio's name of it: ``libaio``, ``io_uring``.
    block : int
        Size of a block in bytes.
    depth : int
        Requests that are submitted together and waited for.
    direct : bool
        Whether the page cache is passed by.
    reads, seed : int
        How many reads, and where the random numbers begin.
    quantiles : mapping
        Shares of the reads by name.

    Returns
    -------
    dict
        ``reads_count``, ``latency_<name>_ns`` of each quantile and ``latency_max_ns``.

    Raises
    ------
    CapabilityError
        If fio fails, or a block holds something else.
    """
    # It would drop the file's pages at its start (invalidate): the state is for us to decide.
    options = {
        "name": "random-read",
        "filename": path,
        "readonly": None,
        "rw": "randread",
        "ioengine": engine,
        "iodepth": depth,
        "iodepth_batch_submit": depth,
        "iodepth_batch_complete_min": depth,
        "bs": block,
        "direct": int(direct),
        "invalidate": 0,
        "thread": None,
        "number_ios": reads,
        "randseed": seed,
        "verify": "pattern",
        "verify_pattern": "%o",
        "verify_fatal": 1,
        "clat_percentiles": 0,
        "lat_percentiles": 1,
        "percentile_list": ":".join(str(100 * q) for q in quantiles.values()),
        "output-format": "json",
    }
    words = [f"--{k}" if v is None else f"--{k}={v}" for k, v in options.items()]
    done = subprocess.run(
        [program(), *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise CapabilityError(f"fio failed: {(done.stderr or done.stdout).strip()[-500:]}")
    # Warnings may stand in front.
    read = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    times = {float(q): int(ns) for q, ns in read["lat_ns"]["percentile"].items()}
    return {
        "reads_count": int(read["total_ios"]),
        **{f"latency_{name}_ns": times[100 * q] for name, q in quantiles.items()},
        "latency_max_ns": int(read["lat_ns"]["max"]),
    }
