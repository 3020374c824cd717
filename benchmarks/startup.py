"""What our agent adds to the life of a JVM that does nothing: start, switching on, end.

``java -version`` alone, with the agent and its records, with the logs of collector and compiler as
well, and with the profiler as profile ``full`` has it. Users pay it once for every JVM, driver and
executors.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, table
from pyrometer.collect.launch.environment import properties_text
from pyrometer.collect.probes.base import Probe, merge_needs
from pyrometer.collect.probes.logs import GcProbe, JitProbe
from pyrometer.collect.probes.plugin import PluginProbe
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.units import digits
from pyrometer.store.paths import RunPaths

VALUES = ("wall_ns", "cpu_ns")


def arms(java: str, folder: Path) -> list[Arm]:
    """Build the arms, each with its own raw folder below `folder`; the JVM alone is first."""
    arms = [Arm("alone", (java, "-version"))]
    chosen: dict[str, tuple[Probe, ...]] = {"agent": (PluginProbe(),)}
    chosen["agent, logs"] = (*chosen["agent"], GcProbe(), JitProbe())
    chosen["agent, logs, profiler"] = (
        *chosen["agent, logs"],
        StacksProbe(parse_profile("full").stack_events),
    )
    for name, probes in chosen.items():
        paths = RunPaths(folder / name.replace(", ", "-"))
        paths.raw.mkdir(parents=True)
        needs = merge_needs(probes, paths)
        paths.agent_properties.write_text(properties_text(needs.agent), encoding="utf-8")
        arms.append(Arm(name, (java, *needs.jvm_options, "-version")))
    return arms


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.startup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--java", default="java")
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
        plan = Plan(
            "life of a JVM", arms(asked.java, Path(folder)), asked.blocks, VALUES, asked.seed,
            warmup_blocks=2,
        )  # fmt: skip
        result = alternate(plan, asked.output, report=lambda text: print(text, file=sys.stderr))
    for arm in result["arms"]:
        samples = [
            one for one in result["samples"]
            if one["arm"] == arm["name"] and one["exit_code"] == 0 and one["block"] >= 0
        ]  # fmt: skip
        for value in VALUES:
            low, middle, high = np.quantile([one[value] / 1e6 for one in samples], (0, 0.5, 1))
            print(
                f"{arm['name']}: {value.removesuffix('_ns')} {digits(middle)} ms"
                f" ({digits(low)} … {digits(high)}, n = {len(samples)})"
            )
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
