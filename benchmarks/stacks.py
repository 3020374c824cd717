r"""Read, fold and draw stacks, compared with other tools on the same input in one run.

Three comparisons of alternating blocks; the first arm of each is Pyrometer's::

    parse   a JFR recording -> tables, -> folded text; async-profiler's jfr-converter -> folded text
    fold    the text of perf script -> folded text; FlameGraph's perl script; inferno
    render  folded text -> SVG; FlameGraph's perl script; inferno; jfr-converter (a page)

    python -m benchmarks.stacks RUN --jfr-converter jfr-converter.jar \
        --flamegraph FlameGraph --inferno ~/.cargo/bin --blocks 7 -o out.json

``RUN`` is a run directory with a recording; its chunks are repeated up to ``--mib``. The text of
perf script is written from its samples (times, threads and stacks are those of the run), so that
one file serves all. Every arm is a fresh process; its weights are summed and printed, so that one
sees whether the tools folded the same samples.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import stacks_input
from benchmarks.execute import Arm, Finished, Metrics
from benchmarks.harness import Plan, alternate, replace, table

MIB = 1 << 20
VALUES = ("wall_ns", "cpu_ns", "peak_bytes")
_CORE = "import sys; from pyrometer import _core; "
_OUT = "{folder}/out"
# The kernel counts memory of the parent at the fork as the child's: a small process in between
# makes peaks comparable, for some 10 ms of CPU in every arm.
_LAUNCH = (
    "import os, resource, sys\n"
    "code = os.spawnvp(os.P_WAIT, sys.argv[2], sys.argv[2:])\n"
    "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024\n"
    "print(peak, file=open(sys.argv[1], 'w'))\n"
    "sys.exit(code)\n"
)


def arm(name: str, *command: str) -> Arm:
    """Build an arm whose peak of memory excludes that of this process."""
    launch = (sys.executable, "-I", "-S", "-c", _LAUNCH, "{folder}/peak")
    return Arm(name, (*launch, *command), metrics=figures)


def pyrometer(name: str, call: str, *arguments: str) -> Arm:
    """Arm of one call of the native core, which finds its arguments in ``sys.argv``."""
    return arm(name, sys.executable, "-c", _CORE + call, *arguments)


def to_stdout(name: str, *command: str) -> Arm:
    """Arm of a command that writes to its standard output."""
    return arm(name, "sh", "-c", 'exec "$@" > "$0"', _OUT, *command)


def figures(finished: Finished) -> Metrics:
    """Peak of memory, and what came out."""
    return {"peak_bytes": int((finished.folder / "peak").read_text()), **written(finished.folder)}


def written(folder: Path) -> Metrics:
    """Lines and sum of weights of the folded text that an arm wrote; size of anything else."""
    out = folder / "out"
    if not out.is_file():
        return {}
    with out.open("rb") as file:
        first = file.readline()
        if first.startswith((b"<", b"<?xml")):
            return {"out_bytes": out.stat().st_size}
        weights = [int(line.rsplit(None, 1)[1]) for line in (first, *file) if line.strip()]
    return {"stacks_count": len(weights), "weight": sum(weights)}


class Peers:
    """Where other tools are, by options or environment; what is absent is said and left out."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.absent: list[str] = []
        self.converter = self._found(given.jfr_converter, "jfr-converter", "")
        self.fold_perl = self._found(given.flamegraph, "FlameGraph", "stackcollapse-perf.pl")
        self.draw_perl = self._found(given.flamegraph, "FlameGraph", "flamegraph.pl")
        self.fold_inferno = self._found(given.inferno, "inferno", "inferno-collapse-perf")
        self.draw_inferno = self._found(given.inferno, "inferno", "inferno-flamegraph")

    def _found(self, where: Path | None, tool: str, name: str) -> str | None:
        path = None if where is None else (where / name if name else where)
        if path is not None and path.is_file():
            return str(path.resolve())
        reason = "not given" if path is None else f"{path} is no file"
        self.absent.append(f"{tool} {name}".strip() + f": {reason}")
        return None


def parse_arms(jfr: Path, peers: Peers) -> list[Arm]:
    """Build arms from a recording to tables, to folded text, and by jfr-converter."""
    ingest = "_core.ingest_jfr([sys.argv[1]], [], sys.argv[2], 'host')"
    fold = f"{ingest}; _core.fold(sys.argv[2], sys.argv[2] + '/out')"
    arms = [
        pyrometer("pyrometer tables", ingest, str(jfr), "{folder}"),
        pyrometer("pyrometer folded", fold, str(jfr), "{folder}"),
    ]
    if peers.converter:
        command = ("java", "-jar", peers.converter, "--cpu", "-o", "collapsed", str(jfr), _OUT)
        arms.append(arm("jfr-converter", *command))
    return arms


def fold_arms(text: Path, peers: Peers) -> list[Arm]:
    """Build arms from the text of perf script to folded text."""
    call = '_core.fold(sys.argv[1], sys.argv[2], \'{"format": "perf-script"}\')'
    arms = [pyrometer("pyrometer", call, str(text), _OUT)]
    if peers.fold_perl:
        arms.append(to_stdout("FlameGraph", "perl", peers.fold_perl, str(text)))
    if peers.fold_inferno:
        arms.append(to_stdout("inferno", peers.fold_inferno, str(text)))
    return arms


def render_arms(folded: Path, peers: Peers) -> list[Arm]:
    """Build arms from folded text to a picture."""
    options = '{\\"source\\": {\\"format\\": \\"folded\\"}}'
    call = f'_core.render_svg(sys.argv[1], sys.argv[2], "{options}")'
    arms = [pyrometer("pyrometer", call, str(folded), _OUT)]
    if peers.draw_perl:
        arms.append(to_stdout("FlameGraph", "perl", peers.draw_perl, str(folded)))
    if peers.draw_inferno:
        arms.append(to_stdout("inferno", peers.draw_inferno, str(folded)))
    if peers.converter:
        command = ("java", "-jar", peers.converter, "-o", "html", str(folded), _OUT)
        arms.append(arm("jfr-converter", *command))
    return arms


def rates(result: dict[str, Any], size_bytes: int) -> list[str]:
    """Speed, memory and what came out of every arm, as lines of text."""
    lines = []
    for name in (each["name"] for each in result["arms"]):
        samples = [
            s
            for s in result["samples"]
            if s["arm"] == name and s["exit_code"] == 0 and s["block"] >= 0
        ]
        if not samples:
            lines.append(f"{name}: every run failed")
            continue
        cpu_s = statistics.median(s["cpu_ns"] for s in samples) / 1e9
        wall_s = statistics.median(s["wall_ns"] for s in samples) / 1e9
        peak = max(s["metrics"]["peak_bytes"] for s in samples) / MIB
        metrics = {k: v for k, v in samples[0]["metrics"].items() if k != "peak_bytes"}
        out = ", ".join(f"{key} {value:.10g}" for key, value in metrics.items())
        lines.append(
            f"{name}: {size_bytes / MIB / cpu_s:.1f} MiB per CPU second, {wall_s:.2f} s elapsed, "
            f"peak {peak:.0f} MiB" + (f"; {out}" if out else "")
        )
    return lines


def compare(name: str, arms: Sequence[Arm], size_bytes: int, given: argparse.Namespace) -> Any:
    """Run one comparison and print it."""
    if len(arms) < 2:
        print(f"{name}: nothing to compare with")
        return None
    plan = Plan(
        name=f"{name}, {size_bytes / MIB:.0f} MiB",
        arms=arms,
        blocks=given.blocks,
        values=VALUES,
        seed=given.seed,
        warmup_blocks=1,
    )
    result = alternate(plan, None, lambda text: print(text, file=sys.stderr))
    print(table(result))
    print("\n".join(rates(result, size_bytes)), end="\n\n", flush=True)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""

    def place(variable: str) -> Path | None:
        value = os.environ.get(variable)
        return Path(value) if value else None

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stacks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="a run directory with a recording")
    parser.add_argument("--mib", type=int, default=128, help="size of the recording (%(default)s)")
    parser.add_argument("--perf-mib", type=int, default=48, help="of perf's text (%(default)s)")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path)
    for option, variable, what in (
        ("--jfr-converter", "PYROMETER_BENCH_JFR_CONVERTER", "jar of tools.profiler:jfr-converter"),
        ("--flamegraph", "PYROMETER_BENCH_FLAMEGRAPH", "folder of FlameGraph's scripts"),
        ("--inferno", "PYROMETER_BENCH_INFERNO", "folder of inferno's programs"),
    ):
        text = f"{what}; default: ${variable}"
        parser.add_argument(option, type=Path, default=place(variable), help=text)
    given = parser.parse_args(arguments)
    peers = Peers(given)
    for text in peers.absent:
        print(f"left out: {text}")
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
        inputs = stacks_input.make(given.run, Path(folder), given.mib * MIB, given.perf_mib * MIB)
        size = {path: path.stat().st_size for path in (inputs.jfr, inputs.perf, inputs.folded)}
        results = [
            compare("parse JFR", parse_arms(inputs.jfr, peers), size[inputs.jfr], given),
            compare("fold perf script", fold_arms(inputs.perf, peers), size[inputs.perf], given),
            compare("render", render_arms(inputs.folded, peers), size[inputs.folded], given),
        ]
    done = [result for result in results if result]
    if given.output:
        replace(given.output, {"left_out": peers.absent, "comparisons": done})
    failed = [s for result in done for s in result["samples"] if s["exit_code"] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
