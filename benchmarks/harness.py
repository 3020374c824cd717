r"""Paired alternation: every block runs all arms once, in random order; ratios with intervals.

For a Python caller: make arms, call :func:`alternate`, print :func:`table`. From the shell::

    python -m benchmarks.harness --blocks 9 -o out.json \
        --arm off='pyrometer run parquet-scan --profile off' \
        --arm full='pyrometer run parquet-scan --profile full'

The first arm is the baseline. Raw samples are kept in the JSON file, which is replaced after every
block, so that an interrupted benchmark keeps what it has.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import statistics
from benchmarks.execute import Arm, Metrics, execute

SCHEMA = "pyrometer/benchmark/1"
INSTRUMENT = "instrument_cpu_ns"  # metric: CPU of the instrument, accounted directly
TOTAL = "process_cpu_ns"  # metric: what it is a share of; else the CPU of the whole run


@dataclass(frozen=True)
class Sample:
    """One run of one arm, as measured."""

    block: int
    position: int
    arm: str
    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    exit_code: int
    metrics: Mapping[str, float | None]
    canary: Mapping[str, float | None] = field(default_factory=dict)
    stderr_tail: str = ""

    def value(self, name: str) -> float | None:
        """Give a figure of the process or a metric; ``None`` if the run failed or lacks it."""
        if self.exit_code != 0:
            return None
        if name in ("wall_ns", "cpu_ns", "peak_rss_bytes"):
            return float(getattr(self, name))
        return self.metrics.get(name)


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    name : str
        Name of the benchmark.
    arms : sequence of Arm
        The first is the baseline.
    blocks : int
        How often every arm runs.
    values : sequence of str
        Compared figures: ``wall_ns``, ``cpu_ns``, ``peak_rss_bytes`` or metrics of the arms.
    seed : int
        Of the order within blocks and of resampling; printed.
    warmup_blocks : int
        Blocks before, whose samples are kept but not compared (block numbers below 0).
    canary : callable, optional
        Runs before every sample and says how the machine is; kept with the sample.
    timeout_s : float, optional
        Limit of one run.
    """

    name: str
    arms: Sequence[Arm]
    blocks: int
    values: Sequence[str] = ("wall_ns", "cpu_ns")
    seed: int = 0
    warmup_blocks: int = 0
    canary: Callable[[], Metrics] | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"two arms or more of different names are needed, not {names}")


def order(plan: Plan, block: int) -> list[Arm]:
    """Order of the arms within a block: random, and the same for the same seed."""
    arms = list(plan.arms)
    random.Random(f"{plan.seed}/{block}").shuffle(arms)
    return arms


def alternate(
    plan: Plan,
    output: Path | None = None,
    report: Callable[[str], None] = lambda text: None,
    run: Callable[[Arm, float | None], tuple[Any, Metrics]] = execute,
) -> dict[str, Any]:
    """Run the plan and compare every arm with the first.

    Parameters
    ----------
    plan : Plan
        What to run.
    output : Path, optional
        JSON file, replaced after every block.
    report : callable
        Called with each line of progress.
    run : callable
        Runs an arm once; replaced in tests.

    Returns
    -------
    dict
        ``schema, name, seed, host, arms[], samples[], comparisons[]``.
    """
    samples: list[Sample] = []
    started = time.time_ns()
    result = as_data(plan, samples, started)
    for block in range(-plan.warmup_blocks, plan.blocks):
        for position, arm in enumerate(order(plan, block)):
            canary = plan.canary() if plan.canary else {}
            finished, metrics = run(arm, plan.timeout_s)
            sample = Sample(
                block=block,
                position=position,
                arm=arm.name,
                wall_ns=finished.wall_ns,
                cpu_ns=finished.cpu_ns,
                peak_rss_bytes=finished.peak_rss_bytes,
                exit_code=finished.exit_code,
                metrics=metrics,
                canary=canary,
                stderr_tail="" if finished.exit_code == 0 else finished.stderr_tail,
            )
            samples.append(sample)
            state = "" if sample.exit_code == 0 else f" exit code {sample.exit_code}"
            report(f"block {block} {arm.name}: {sample.wall_ns / 1e9:.2f} s{state}")
        result = as_data(plan, samples, started)
        if output is not None:
            replace(output, result)
    return result


def as_data(plan: Plan, samples: Sequence[Sample], started_wall_ns: int) -> dict[str, Any]:
    """Everything of a benchmark so far, as JSON data."""
    return {
        "schema": SCHEMA,
        "name": plan.name,
        "seed": plan.seed,
        "blocks": plan.blocks,
        "started_wall_ns": started_wall_ns,
        "host": {
            "hostname": platform.node(),
            "kernel": platform.release(),
            "cpus_count": os.cpu_count(),
            "python": platform.python_version(),
        },
        "arms": [{"name": arm.name, "command": list(arm.command)} for arm in plan.arms],
        "comparisons": compare(plan, samples),
        "samples": [asdict(sample) for sample in samples],
    }


def compare(plan: Plan, samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Compare every arm with the baseline in every figure, over blocks where both have it."""
    table = {(s.block, s.arm): s for s in samples if s.block >= 0}
    blocks = sorted({block for block, _ in table})
    baseline, *others = (arm.name for arm in plan.arms)
    rows = []
    for arm in others:
        pairs = [
            (table[block, baseline], table[block, arm])
            for block in blocks
            if (block, baseline) in table and (block, arm) in table
        ]
        rows += [_comparison(baseline, arm, value, pairs, plan.seed) for value in plan.values]
    return rows


def _comparison(
    baseline: str, arm: str, value: str, pairs: Sequence[tuple[Sample, Sample]], seed: int
) -> dict[str, Any]:
    both = [(a.value(value), b.value(value)) for a, b in pairs]
    kept = [(a, b) for a, b in both if a and b]
    logs = statistics.log_ratios([a for a, _ in kept], [b for _, b in kept])
    shares = [share for _, b in pairs if (share := direct_share(b)) is not None]
    return {
        "baseline": baseline,
        "arm": arm,
        "value": value,
        "ratio": statistics.t_interval(logs).model_dump(),
        "bootstrap": statistics.bootstrap_interval(logs, seed).model_dump(),
        "permutation_p": statistics.permutation_p(logs, seed),
        "detectable_ratio": statistics.detectable_ratio(logs),
        "pair_sd": statistics.spread(logs),
        "left_out_pairs_count": len(both) - len(kept),
        "direct_cpu_share": sum(shares) / len(shares) if shares else None,
        "direct_cpu_share_max": max(shares, default=None),
    }


def direct_share(sample: Sample) -> float | None:
    """CPU of the instrument as its threads and processes were charged, over the application's."""
    instrument = sample.value(INSTRUMENT)
    total = sample.value(TOTAL) or sample.value("cpu_ns")
    return None if instrument is None or not total else instrument / total


def table(result: Mapping[str, Any]) -> str:
    """Comparisons as lines of text."""
    lines = [
        f"{result['name']}: {result['blocks']} blocks, seed {result['seed']}, "
        f"{result['host']['cpus_count']} CPUs; ratio = arm / {result['arms'][0]['name']}",
        f"{'arm':<20}{'value':<24}{'n':>4}{'ratio':>8}  {'95 % interval':<18}"
        f"{'bootstrap':<18}{'p':>7}{'detectable':>12}{'direct CPU':>12}",
    ]
    for row in result["comparisons"]:
        p, detectable, share = (
            row[key] for key in ("permutation_p", "detectable_ratio", "direct_cpu_share")
        )
        lines.append(
            f"{row['arm']:<20}{row['value']:<24}{row['ratio']['n']:>4}"
            f"{_number(row['ratio']['value']):>8}  {_interval(row['ratio']):<18}"
            f"{_interval(row['bootstrap']):<18}{_number(p):>7}{_number(detectable):>12}"
            f"{'-' if share is None else f'{100 * share:.2f} %':>12}"
        )
    failed = [s for s in result["samples"] if s["exit_code"] != 0]
    if failed:
        lines.append(f"{len(failed)} runs failed, first: {failed[0]['stderr_tail'].strip()[-300:]}")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None:
        return "-"
    return f"{estimate['low']:.3f} … {estimate['high']:.3f}"


def replace(path: Path, content: object) -> None:
    """Write JSON so that readers see the old file or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run arms given as words of a shell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness", description=__doc__)
    parser.add_argument("--arm", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--warmup-blocks", type=int, default=0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("--value", action="append", help="compared figure; may be repeated")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--name", default="benchmark")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    arms = []
    for text in chosen.arm:
        name, equals, command = text.partition("=")
        if not equals or not shlex.split(command):
            parser.error(f"--arm {text}: not of the form NAME=COMMAND")
        arms.append(Arm(name, tuple(shlex.split(command))))
    plan = Plan(
        name=chosen.name,
        arms=arms,
        blocks=chosen.blocks,
        values=chosen.value or ("wall_ns", "cpu_ns"),
        seed=chosen.seed,
        warmup_blocks=chosen.warmup_blocks,
        timeout_s=chosen.timeout,
    )
    result = alternate(plan, chosen.output, lambda text: print(text, file=sys.stderr))
    print(table(result))
    return 0 if all(sample["exit_code"] == 0 for sample in result["samples"]) else 1


if __name__ == "__main__":
    sys.exit(main())
