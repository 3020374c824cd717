"""What is said of a run in which no Spark took part, in a sentence and on the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pyrometer.accounts.ledger.schema import Ledger, View
from pyrometer.accounts.machine_schema import Cpu
from pyrometer.accounts.schema import Failed, Iteration, PageCache
from pyrometer.summary import screen
from pyrometer.summary.schema import Summary
from pyrometer.summary.verdict import verdict
from pyrometer.window.windows import RunFacts, WindowFacts

VIEWS = ("slot", "core", "elapsed")


def summary(*shares: float | None, state: str | None = "warm") -> Summary:
    """Iterations of 10, 20, ... ms; the first is the warm-up, and each found so much resident."""
    return Summary(
        run=RunFacts(run_dir="/r", workload="random-read"),
        window=WindowFacts(name="measured", iterations=[1, 2, 3], length_ns=100_000_000),
        totals={},
        failed=Failed(totals={}),
        iterations=[
            Iteration(
                iteration=number,
                warmup=number == 0,
                elapsed_ns=10_000_000 * (number + 1),
                status="success",
                cache=PageCache(
                    state=state, resident_ratio=share, reason="gone" if share is None else None
                ),
                counters={"reads_count": 9, "latency_p50_ns": 1000 * number},
            )
            for number, share in enumerate(shares)
        ],
        cpu=Cpu(process_cpu_ns=25_000_000),
        ledger=Ledger(**{f"{view}_view": View(window="measured") for view in VIEWS}),
    )


def test_levels_are_shown_and_who_chose_them() -> None:
    made = summary(1, 1)
    made.run.treatment = {"jvm.heap": "2g", "cgroup.memory": 7}
    made.run.treatment_origin = {"jvm.heap": "user", "cgroup.memory": "workload"}
    console = Console(file=io.StringIO(), width=80)
    screen.show(console, made)
    told = " ".join(console.file.getvalue().split())
    assert "jvm.heap=2g · cgroup.memory=7 (the workload's own)" in told


def test_the_verdict_says_times_cpu_and_latency_of_the_measured_iterations() -> None:
    assert verdict(summary(1, 1, 1, 1))[0] == (
        "3 iterations without Spark, 30.0 ms each on average; their processes were on a CPU for"
        " 25.0 % of that time; latency of one read or query: p50 2.00 µs (medians)."
    )
    assert verdict(summary())[0] == "No Spark application was seen."


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ((1, 1, 1, 1), "page cache: warm, 100.0 % resident before each iteration"),
        ((0.5, None, 1), "page cache: warm, 50.0 to 100.0 % resident before each iteration"),
        ((None, None), "page cache: warm, resident share not known: gone"),
    ],
)
def test_the_page_cache_has_a_line(shares: tuple[float | None, ...], told: str) -> None:
    out = io.StringIO()
    screen.show(Console(file=out, width=80), summary(*shares))
    shown = out.getvalue().replace("\u00a0", " ")
    assert told in shown
    assert "latency p50" in shown
    assert "Totals" not in shown
    out = io.StringIO()
    screen.show(Console(file=out, width=80), summary(*shares, state=None))
    assert "page cache" not in out.getvalue()
