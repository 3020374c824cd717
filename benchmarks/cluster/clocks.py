"""``clocks``: clocks that were set apart, or drift, against their estimates and printed bounds.

Shifts are those of the hosts' time namespaces. No namespace drifts: a library in front of libc
gives executors' JVMs another CLOCK_MONOTONIC, and no probe runs beside them, as it would have the
true one.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.cluster import __main__ as made

from benchmarks.cluster import figures, results
from benchmarks.cluster.beds import Beds, Cluster, Job, Submission, shown_command
from pyrometer.core.errors import CapabilityError
from pyrometer.store import Run

SHIFTS_S = (0.05, 2.0)
DRIFT_PPM = 200.0
DRIFT = Path(__file__).with_name("drift.c")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sparks", default="4")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0, help="that the job computes")


def cases(asked: argparse.Namespace) -> Iterator[results.Case]:
    """Give the cases: one worker's clock is ahead, the other's behind, by the same."""
    for spark in asked.sparks.split(","):
        planted = [*(("shift_s", one) for one in SHIFTS_S), ("drift_ppm", DRIFT_PPM)]
        for what, by in planted:
            for number in range(asked.repeats):
                yield {"planted": what, "by": by, "spark": spark, "number": number}


@dataclass(frozen=True)
class Line:
    """A piece of an estimate: what is added from a time on a host's clock to another.

    Parameters
    ----------
    begin_ns, end_ns : int
        Times on the host's clock.
    offset_ns, rate : float
        What is added at the begin, and what that gains per nanosecond.
    bound_ns : int or None
        What the estimate says of its own error.
    """

    begin_ns: int
    end_ns: int
    offset_ns: float
    rate: float
    bound_ns: int | None


@dataclass(frozen=True)
class Drift:
    """A clock that gains `ppm` from `base_ns` on, when it showed the true time."""

    base_ns: int
    ppm: float

    def offset_ns(self, shown_ns: int) -> float:
        """Say what is to be added when it shows a time.

        Examples
        --------
        >>> Drift(1_000, 200.0).offset_ns(1_000 + 10**9 + 200_000)
        -200000.0
        """
        return -(shown_ns - self.base_ns) * self.ppm / (1e6 + self.ppm)


def errors(lines: list[Line], truth: Callable[[int], float]) -> tuple[float, int]:
    """Give the largest error at the ends of all lines, and how many ends are beyond their bound.

    Examples
    --------
    >>> errors([Line(0, 100, -5.0, 0.0, 2)], lambda shown: -4.0)
    (1.0, 0)
    >>> errors([Line(0, 100, -5.0, 0.01, 2)], lambda shown: -7.5)
    (3.5, 2)
    """
    worst, beyond = 0.0, 0
    for line in lines:
        for at in (line.begin_ns, line.end_ns):
            error = abs(line.offset_ns + line.rate * (at - line.begin_ns) - truth(at))
            worst = max(worst, error)
            beyond += line.bound_ns is None or error > line.bound_ns
    return worst, beyond


def measure(asked: argparse.Namespace, beds: Beds) -> list[results.Row]:
    """Run a job in each case, and hold the estimates against what was planted."""

    def one(case: results.Case) -> results.Row:
        by = case["by"] if case["planted"] == "shift_s" else 0.0
        specs = [
            replace(spec, clock_s=clock)
            for spec, clock in zip(made.specs(3, 1.0, 3072), (0.0, by, -by), strict=True)
        ]
        cluster = beds.get("standalone", case["spark"], specs)
        if case["planted"] == "shift_s":
            shifts = {
                host.name: spec.clock_s
                for host, spec in zip(cluster.workers, specs[1:], strict=True)
            }
            return run(cluster, asked, {h: _shifted(s) for h, s in shifts.items()}, shifts, {})
        rates = {
            host.name: ppm
            for host, ppm in zip(cluster.workers, (case["by"], -case["by"]), strict=True)
        }
        base = time.monotonic_ns()
        drifts = {host: Drift(base, ppm).offset_ns for host, ppm in rates.items()}
        return run(cluster, asked, drifts, rates, preloaded(cluster.folder, base, rates))

    return results.measure(asked.output, cases(asked), one, asked.again)


def _shifted(by_s: float) -> Callable[[int], float]:
    return lambda _: -by_s * 1e9


def preloaded(folder: Path, base_ns: int, rates: dict[str, float]) -> dict[str, str]:
    """Build the library, and give the settings by which executors have it."""
    library = folder / "drift.so"
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(DRIFT), "-ldl"], check=True
    )
    told = ":".join([str(base_ns), *(f"{host}={ppm}" for host, ppm in rates.items())])
    return {
        "spark.executorEnv.LD_PRELOAD": str(library),
        "spark.executorEnv.PLANTED_DRIFT": told,
        "spark.pyrometer.ship.probe": "off",
    }


def run(
    cluster: Cluster,
    asked: argparse.Namespace,
    truths: dict[str, Callable[[int], float]],
    planted: dict[str, float],
    conf: dict[str, str],
) -> dict[str, Any]:
    """Run a job and compare."""
    folder = cluster.folder / "run"
    words = ["burn", str(asked.seconds), "8", "200000"]
    job = Job(cluster, Submission(words, folder, conf=conf, memory=asked.memory))
    try:
        if code := job.wait(asked.patience):
            raise CapabilityError(f"exit code {code}: {job.said[-1500:]}")
        printed = {one["host"]: one["bound_ns"] for one in figures.said(folder, "ledger")["hosts"]}
        with Run.open(folder) as opened:
            found = [
                {
                    "planted": planted[host],
                    "printed_bound_ns": printed.get(host),
                    **estimate(opened, host, truth),
                }
                for host, truth in truths.items()
            ]
        return {"command": shown_command(job.command), "hosts": found}
    finally:
        job.end(asked.keep and asked.keep / "clocks")


def estimate(opened: Run, host: str, truth: Callable[[int], float]) -> dict[str, Any]:
    """Hold the estimate of a host's clock against the truth, between its first and last record."""
    facts = opened.tables.record(f"SELECT * FROM hosts WHERE host = '{host}'")
    begin, end = facts["first_mono_ns"], facts["last_mono_ns"]
    rows = opened.tables.query(
        "SELECT from_mono_ns, lead(from_mono_ns) OVER (ORDER BY from_mono_ns), offset_ns, rate,"
        f" bound_ns FROM host_clocks WHERE host = '{host}' ORDER BY 1"
    )
    lines = []
    for start, until, offset, rate, bound in rows:
        first, last = max(start, begin), min(end if until is None else until, end)
        if first <= last:
            lines.append(Line(first, last, offset + rate * (first - start), rate, bound))
    if not lines:
        raise CapabilityError(f"no line of the clock of {host} between its records")
    worst, beyond = errors(lines, truth)
    return {
        "host": host, "clock": facts["clock"], "messages": facts["messages_count"],
        "length_ns": end - begin, "lines": len(lines), "worst_error_ns": worst, "beyond": beyond,
        "bound_ns": facts["bound_ns"], "typical_bound_ns": facts["typical_bound_ns"],
        "drift_low_ppm": facts["drift_low_ppm"], "drift_high_ppm": facts["drift_high_ppm"],
    }  # fmt: skip


def each(write: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    """Write something of both hosts."""
    return lambda found: "; ".join(write(host) for host in found["hosts"])


def milliseconds(value_ns: float | None) -> str:
    """Write a time.

    Examples
    --------
    >>> milliseconds(1_234_567), milliseconds(None)
    ('1.23 ms', '?')
    """
    return "?" if value_ns is None else f"{value_ns / 1e6:.2f} ms"


COLUMNS = {
    "planted": each(lambda one: f"{one['planted']:+g}"),
    "largest error": each(lambda one: milliseconds(one["worst_error_ns"])),
    "printed bound": each(lambda one: milliseconds(one["printed_bound_ns"])),
    "typical bound": each(lambda one: milliseconds(one["typical_bound_ns"])),
    "outside, of ends of lines": each(lambda one: f"{one['beyond']} of {2 * one['lines']}"),
    "drift, ppm": each(
        lambda one: (
            "?"
            if one["drift_low_ppm"] is None
            else f"{one['drift_low_ppm']:.0f} to {one['drift_high_ppm']:.0f}"
        )
    ),
    "records over": each(lambda one: f"{one['length_ns'] / 1e9:.0f} s"),
}
