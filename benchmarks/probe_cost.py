"""Cost of the OS probe per reading of a thread, beside opening, reading and closing each file.

Every arm is a fresh process with 200 threads that all run in every period, so that the probe reads
both files of each thread in every pass. The peer is the same binary that may keep nothing open.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.canary import canary
from benchmarks.execute import Arm, Metrics
from benchmarks.harness import Plan, alternate, table
from pyrometer import _artifacts

VALUES = ("per_reading_ns", "own_cpu_ns")


def observed(threads: int, seconds: float, max_open: int, hz: float) -> Metrics:
    """Start threads and the probe on this very process; what the probe says of itself."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.6 / hz):
            pass

    crew = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in crew:
        thread.start()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(_artifacts.probe_binary()), "record", "--root-pid", str(os.getpid())]
        command += ["--raw-dir", folder, "--host", "h", "--hz", str(hz)]
        probe = subprocess.Popen([*command, "--max-open", str(max_open)])
        time.sleep(seconds)
        probe.terminate()
        if probe.wait() != 0:
            raise RuntimeError(f"pyro-probe ended with {probe.returncode}")
        report = json.loads((Path(folder) / "probe-h.report.json").read_text())
    stop.set()
    readings, own = report["samples_count"], report["own_cpu_ns"]
    span_ns = report["updated_mono_ns"] - report["started_mono_ns"]
    return {
        "per_reading_ns": own / readings if readings else None,
        "own_cpu_ns": own,
        "own_cpu_ratio": own / span_ns,
        "readings_count": readings,
        "rows_count": report["thread_rows_count"],
        "late_p95_ns": report["late"]["p95_ns"],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probe_cost", description=__doc__)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hz", type=float, default=20.0)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)

    # Run as a program this module is called __main__; a fresh process must import it by its name.
    from benchmarks import probe_cost

    def arm(name: str, max_open: int) -> Arm:
        settings = (chosen.threads, chosen.seconds, max_open, chosen.hz)
        return Arm.of_function(name, probe_cost.observed, *settings)

    plan = Plan(
        name=f"probe on {chosen.threads} running threads",
        arms=[arm("open-read-close", 0), arm("kept open", 8192)],
        blocks=chosen.blocks,
        values=VALUES,
        seed=chosen.seed,
        canary=canary,
    )
    result = alternate(plan, chosen.output, lambda text: print(text, file=sys.stderr))
    print(table(result))
    for name in ("open-read-close", "kept open"):
        found = [s["metrics"] for s in result["samples"] if s["arm"] == name and s["metrics"]]
        for key in ("per_reading_ns", "own_cpu_ratio", "readings_count"):
            values = sorted(m[key] for m in found)
            if values:
                print(f"{name}: {key} median {values[len(values) // 2]:.5g}")
    return 0 if all(sample["exit_code"] == 0 for sample in result["samples"]) else 1


if __name__ == "__main__":
    sys.exit(main())
