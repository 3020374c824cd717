r"""Time and memory of analysis for three sizes, compared with an older build of the native core.

::

    python -m benchmarks.analysis --beside old/_core.abi3.so --blocks 5 -o out.json

Event logs of 1 000, 10 000 and 100 000 tasks and recordings of 16, 64 and 256 MiB are read to
tables by both cores, in alternating blocks; then `show`, `ledger` and `report` of each log are
timed as a user starts them. A recording of a run of your own (``--recording``) says more than the
small one of the tests, which is repeated. Every arm is a fresh process with its own peak of memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.eventlog.widen import widen
from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, replace, table
from benchmarks.stacks import VALUES, arm, rates
from benchmarks.stacks_input import repeat

TASKS = (1_000, 10_000, 100_000)
RECORDING_MIB = (16, 64, 256)
VERBS = ("show", "ledger", "report")
FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
_MIB = 1 << 20
# Any build of the core can be loaded by its path.
_LOAD = (
    "import importlib.util as u, sys;"
    "s = u.spec_from_file_location('pyrometer._core', sys.argv[1]);"
    "core = u.module_from_spec(s); s.loader.exec_module(core); "
)
_READ = {
    "event log": "core.ingest_eventlogs([sys.argv[2]], sys.argv[3])",
    "recording": "core.ingest_jfr([sys.argv[2]], [], sys.argv[3], 'host')",
}
_VERB = "import sys; from pyrometer.cli.main import main; main(sys.argv[1:])"


def readers(kind: str, file: Path, cores: dict[str, Path]) -> list[Arm]:
    """Build an arm of each core that reads a file of this kind."""
    code = _LOAD + _READ[kind]
    arms = [
        arm(name, sys.executable, "-c", code, str(core), str(file), "{folder}")
        for name, core in cores.items()
    ]
    now = (sys.executable, "-c", code, str(cores["now"]), str(file), "{folder}")
    return [*arms, arm("now, one CPU", "taskset", "-c", "0", *now)]


def verbs(run: Path) -> list[Arm]:
    """Build an arm of each verb that shows a stored run."""
    command = (sys.executable, "-c", _VERB)
    given = {"report": ("-o", "{folder}/page.html")}
    return [arm(verb, *command, verb, str(run), *given.get(verb, ())) for verb in VERBS]


def compare(name: str, arms: Sequence[Arm], size_bytes: int, given: argparse.Namespace) -> Any:
    """Run one comparison and print it; verbs are not compared with each other."""
    plan = Plan(
        name=name, arms=arms, blocks=given.blocks, values=VALUES, seed=given.seed, warmup_blocks=1
    )
    result = alternate(plan, None, lambda text: print(text, file=sys.stderr))
    if arms[0].name not in VERBS:
        print(table(result))
    print(f"{name}:")
    print("\n".join(rates(result, size_bytes)), end="\n\n", flush=True)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    from pyrometer import _core
    from pyrometer.store import ingest_eventlogs

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.analysis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--beside", type=Path, help="an older _core.abi3.so to compare with")
    parser.add_argument(
        "--log", type=Path, default=FIXTURES / "eventlog" / "recorded" / "scan-4.3.0.zstd"
    )
    parser.add_argument(
        "--recording", type=Path, default=FIXTURES / "jfr" / "profile-burn-20632.jfr"
    )
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    cores = {"beside": given.beside.resolve()} if given.beside else {}
    cores["now"] = Path(str(_core.__file__))
    results = []
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
        source = Path(folder) / "input"
        for tasks in TASKS:
            with source.open("wb") as out:
                count = widen(given.log, tasks, out)
            size = source.stat().st_size
            name = f"event log, {count:,} tasks, {size / _MIB:.0f} MiB"
            results.append(compare(name, readers("event log", source, cores), size, given))
            run = Path(folder) / f"run-{tasks}"
            ingest_eventlogs([source], run)
            results.append(compare(f"views, {count:,} tasks", verbs(run), size, given))
        for mib in RECORDING_MIB:
            repeat([given.recording], source, mib * _MIB)
            size = source.stat().st_size
            name = f"recording, {size / _MIB:.0f} MiB"
            results.append(compare(name, readers("recording", source, cores), size, given))
            if given.output:
                replace(given.output, {"comparisons": results})
    failed = [s for result in results for s in result["samples"] if s["exit_code"] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
