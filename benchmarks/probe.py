"""Cost of the OS probe per reading of a thread at each tier, compared with other readers.

Every arm is a fresh process with 50, 200, 1000 or 5000 threads, of which some run in every period
and the others sleep, as in a Spark executor. ``--before`` adds another binary. What the probe
used between its second report and its last one is divided by the threads that it read
meanwhile: start and end are not in it, processes and the host's series are. At T0 the time of each
of the kernel's events is that of the program on it, by the kernel's own statistics, which are part
of it. With one number of ``--threads``, peers are added: ``open-read-close`` is the same
binary at tier T2 that may keep nothing open. py-spy, where it is installed, samples the stacks of
the same threads at the same rate; its start is in its figure, and it reads Python frames, not the
scheduler's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.canary import canary
from benchmarks.execute import Arm, Metrics
from benchmarks.harness import Plan, alternate, table
from pyrometer import _artifacts
from pyrometer.collect.probes.os import capabilities

VALUES = ("per_reading_ns", "own_cpu_ratio")
EVENTS = ("sched_switch_ns", "sched_waking_ns", "sched_wakeup_ns", "sys_enter_ns", "sys_exit_ns")
# Long enough for the kernel's symbols to be read, once.
SETTLED_SECONDS = 1.5
SIZES = [50, 200, 1000, 5000]


def crew(threads: int, running: int, hz: float) -> threading.Event:
    """Start threads: `running` of them wake up in every period, the others sleep."""
    stop = threading.Event()

    def work(pause: float) -> None:
        while not stop.wait(pause):
            pass

    threading.stack_size(1 << 17)
    for number in range(threads):
        pause = 0.6 / hz if number < running else 3600.0
        threading.Thread(target=work, args=(pause,), daemon=True).start()
    return stop


def observed(
    tier: str,
    max_open: int,
    threads: int,
    running: int,
    seconds: float,
    hz: float,
    binary: str | None = None,
) -> Metrics:
    """Start threads and the probe on this very process; what the probe says of itself."""
    stop = crew(threads, running, hz)
    with tempfile.TemporaryDirectory() as folder:
        program = binary or str(_artifacts.probe_binary())
        command = [program, "record", "--root-pid", str(os.getpid())]
        command += ["--raw-dir", folder, "--host", "h", "--hz", str(hz), "--tier", tier]
        probe = subprocess.Popen([*command, "--max-open", str(max_open)])
        file = Path(folder) / "probe-h.report.json"
        # Thousands of threads have to be looked up first.
        time.sleep(SETTLED_SECONDS + threads / 2500)
        before = json.loads(file.read_text())
        time.sleep(seconds)
        # Of a report while it runs: what it does at its end is not a reading's cost.
        after = json.loads(file.read_text())
        probe.terminate()
        if probe.wait() != 0:
            raise RuntimeError(f"pyro-probe ended with {probe.returncode}")
    stop.set()
    if after["tier"] != tier:
        raise RuntimeError(f"tier {tier} was refused: {after['tier_reason']}")
    return figures(before, after)


def figures(before: dict[str, Any], after: dict[str, Any]) -> Metrics:
    """Compute cost per reading between two of the probe's reports."""

    def grown(name: str) -> int:
        return int(after[name]) - int(before[name])

    readings, own, span = grown("samples_count"), grown("own_cpu_ns"), grown("updated_mono_ns")
    return {
        "per_reading_ns": own / readings if readings else None,
        "own_cpu_ratio": own / span,
        **per_event(before, after),
        "readings_count": readings,
        "rows_count": sum(after["rows_count"].values()) - sum(before["rows_count"].values()),
        "start_cpu_ns": before["own_cpu_ns"],
        "late_p95_ns": after["late"]["p95_ns"],
    }


def per_event(before: dict[str, Any], after: dict[str, Any]) -> Metrics:
    """Compute the cost of each event of the kernel between two of the probe's reports."""
    programs = [
        {row["event"]: row for row in (report.get("events") or {}).get("programs") or []}
        for report in (before, after)
    ]
    costs: Metrics = {}
    for event, row in programs[1].items():
        then = programs[0].get(event, {"count": 0, "cpu_ns": 0})
        count = row["count"] - then["count"]
        if count:
            costs[f"{event}_ns"] = (row["cpu_ns"] - then["cpu_ns"]) / count
    return costs


def py_spy(program: str, threads: int, running: int, seconds: float, hz: float) -> Metrics:
    """Start threads and let py-spy sample this very process."""
    stop = crew(threads, running, hz)
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "record", "--pid", str(os.getpid()), "--rate", str(round(hz))]
        command += ["--duration", str(round(seconds)), "--idle", "--format", "raw"]
        subprocess.run(
            [*command, "--output", f"{folder}/out"], check=True, stdout=subprocess.DEVNULL
        )
    stop.set()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = (used.ru_utime + used.ru_stime) * 1e9
    readings = round(hz) * round(seconds) * threads
    return {
        "per_reading_ns": own / readings,
        "own_cpu_ratio": own / (seconds * 1e9),
        "readings_count": readings,
    }


def arms(given: argparse.Namespace) -> list[Arm]:
    """Build an arm for each available tier and each number of threads."""
    # Run as a program this module is called __main__; a fresh process must import it by its name.
    from benchmarks import probe

    rest = (given.running, given.seconds, given.hz)
    sizes, found = given.threads, []
    binaries = {"": None, **({"before": str(given.before)} if given.before else {})}
    tried = [row for row in capabilities() if row.name == "os"]
    refused = {row.tier: row.reason for row in tried if not row.available}
    for tier in ("T0", "T1", "T2", "T3"):
        if tier in refused:
            print(f"{tier}: {refused[tier]}", file=sys.stderr)
        else:
            found += [
                Arm.of_function(
                    f"{tier} {size} {which}".strip(),
                    probe.observed,
                    tier,
                    8192,
                    size,
                    *rest,
                    binary,
                )
                for size in sizes
                for which, binary in binaries.items()
            ]
    return found if len(sizes) > 1 else found + peers(given)


def peers(given: argparse.Namespace) -> list[Arm]:
    """Build the arms of other readers; print those that are missing."""
    from benchmarks import probe

    shape = (given.threads[0], given.running, given.seconds, given.hz)
    found = [Arm.of_function("open-read-close", probe.observed, "T2", 0, *shape)]
    program = given.py_spy or shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if program is None:
        print("py-spy: not installed (pip install py-spy, or --py-spy PATH)", file=sys.stderr)
    else:
        found.append(Arm.of_function("py-spy", probe.py_spy, str(program), *shape))
    return found


def numbers(text: str) -> list[int]:
    """Read comma-separated numbers."""
    return [int(word) for word in text.split(",")]


def grid(result: dict[str, Any]) -> str:
    """Format the table of tiers and numbers of threads: medians, the binary before in parentheses.

    Examples
    --------
    >>> def sample(arm, ns, ratio):
    ...     return {"arm": arm, "metrics": {"per_reading_ns": ns, "own_cpu_ratio": ratio}}
    >>> samples = [sample("T1 200", 2e3, 0.01), sample("T1 200 before", 4e3, 0.02)]
    >>> print(grid({"samples": [*samples, sample("py-spy", 1.0, 1.0)]}))
    | threads | tier | us per thread-sample | share of a core |
    |---|---|---|---|
    | 200 | T1 | 2.00 (4.00) | 1.00 % (2.00 %) |
    """
    cells: dict[tuple[int, str], dict[str, list[Metrics]]] = {}
    for sample in result["samples"]:
        tier, *words = sample["arm"].split()
        if words and sample["metrics"]:
            cell = cells.setdefault((int(words[0]), tier), {})
            cell.setdefault(" ".join(words[1:]), []).append(sample["metrics"])

    def shown(cell: dict[str, list[Metrics]], key: str, factor: float, unit: str) -> str:
        values = {
            which: statistics.median(float(one[key] or 0) for one in found) * factor
            for which, found in cell.items()
        }
        now, before = (values.get(which) for which in ("", "before"))
        text = "" if now is None else f"{now:.2f}{unit}"
        return text if before is None else f"{text} ({before:.2f}{unit})"

    lines = ["| threads | tier | us per thread-sample | share of a core |", "|---|---|---|---|"]
    lines += [
        f"| {threads} | {tier} | {shown(cell, 'per_reading_ns', 1e-3, '')}"
        f" | {shown(cell, 'own_cpu_ratio', 100, ' %')} |"
        for (threads, tier), cell in sorted(cells.items())
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probe", description=__doc__)
    parser.add_argument("--threads", type=numbers, default=SIZES, help="comma-separated numbers")
    parser.add_argument("--before", type=Path, metavar="PROBE", help="another binary to compare")
    parser.add_argument("--running", type=int, default=20, help="of them run in every period")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hz", type=float, default=20.0)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("--py-spy", metavar="PATH")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    plan = Plan(
        name=f"probe on {', '.join(map(str, given.threads))} threads, {given.running} running",
        arms=arms(given),
        blocks=given.blocks,
        values=VALUES,
        seed=given.seed,
        canary=canary,
    )
    result = alternate(plan, given.output, lambda text: print(text, file=sys.stderr))
    print(table(result))
    print(grid(result))
    for name in (each["name"] for each in result["arms"]):
        samples = [s["metrics"] for s in result["samples"] if s["arm"] == name and s["metrics"]]
        for key in (*VALUES, *EVENTS):
            values = sorted(m[key] for m in samples if m.get(key) is not None)
            if values:
                print(
                    f"{name}: {key} median {values[len(values) // 2]:.4g}"
                    f" (from {values[0]:.4g} to {values[-1]:.4g}, n = {len(values)})"
                )
    return 0 if all(sample["exit_code"] == 0 for sample in result["samples"]) else 1


if __name__ == "__main__":
    sys.exit(main())
