"""What the OS probe costs the threads that it follows, at every switch between them.

Two processes on one CPU pass a byte to and fro: each way is one wake-up and one switch. They do so
alone, and followed at each tier, without counters of threads and with the kernel's own (with
hardware counters as well, where there are any). What the probe itself uses runs on another CPU and
is not in it: ``python -m benchmarks.probe`` has that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, table
from pyrometer import _artifacts
from pyrometer.core.units import digits

VALUES = ("switch_ns",)
ARMS = ("alone", "T2", "T1", "T1 counters", "T0", "T0 counters")
READY_S = 5.0


def passes(count: int) -> float:
    """Pass a byte to a child and back, and give the time of one way.

    Parameters
    ----------
    count : int
        Ways there; as many lead back.

    Returns
    -------
    float
        ns.
    """
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        for _ in range(count):
            os.read(there[0], 1)
            os.write(back[1], b".")
        os._exit(0)
    began = time.perf_counter_ns()
    for _ in range(count):
        os.write(there[1], b".")
        os.read(back[0], 1)
    took = time.perf_counter_ns() - began
    os.waitpid(child, 0)
    for end in (*there, *back):
        os.close(end)
    return took / (2 * count)


def one(name: str, count: int, folder: Path) -> dict[str, Any]:
    """Measure one arm in this process, which the probe follows.

    Raises
    ------
    RuntimeError
        If the probe does not begin.
    """
    tier, _, counters = name.partition(" ")
    probe = None
    if tier != "alone":
        command = [
            str(_artifacts.probe_binary()), "record", "--root-pid", str(os.getpid()),
            "--raw-dir", str(folder), "--host", "bench", "--tier", tier,
            "--thread-counters", "all" if counters else "none",
        ]  # fmt: skip
        probe = subprocess.Popen(command)
        until = time.monotonic() + READY_S
        while not (folder / "probe-bench.report.json").exists():
            if time.monotonic() > until or probe.poll() is not None:
                raise RuntimeError(f"the probe does not begin at {tier}")
            time.sleep(0.01)
    others = sorted(os.sched_getaffinity(0))
    if probe is not None and len(others) > 1:
        os.sched_setaffinity(probe.pid, others[1:])
    os.sched_setaffinity(0, others[:1])
    passes(count // 10)
    found = passes(count)
    if probe is not None:
        probe.terminate()
        probe.wait()
    return {"switch_ns": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.switches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ways", type=int, default=200_000, help="there, and as many back")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", choices=ARMS, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args(arguments)
    if asked.one:
        with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
            print(json.dumps(one(asked.one, asked.ways, Path(folder))))
        return 0
    ways = ("--ways", str(asked.ways))
    arms = [
        Arm(name, (sys.executable, "-m", "benchmarks.switches", "--one", name, *ways))
        for name in ARMS
    ]
    plan = Plan("a wake-up and a switch", arms, asked.blocks, VALUES, asked.seed)
    result = alternate(plan, asked.output, report=lambda text: print(text, file=sys.stderr))
    for name in ARMS:
        taken = [
            sample["metrics"]["switch_ns"] for sample in result["samples"]
            if sample["arm"] == name and sample["exit_code"] == 0 and sample["block"] >= 0
        ]  # fmt: skip
        if taken:
            low, middle, high = np.quantile(taken, (0, 0.5, 1))
            print(f"{name}: {digits(middle)} ns ({digits(low)} … {digits(high)}, n = {len(taken)})")
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
