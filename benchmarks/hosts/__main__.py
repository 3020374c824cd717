"""``python -m benchmarks.hosts RUN``: a recorded run with as many executors as asked for, read.

Each step is a process of its own: its time, its CPU time and the most memory that it had. A run is
read where it lies, and behind an S3 server on this machine, where bytes and requests are counted
(``--no-s3`` leaves that out). Its page is opened in headless Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.hosts.multiply import multiply
from benchmarks.hosts.opened import opened

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "support" / "stores" / "s3_server.py"
REMOTE = ROOT / ".venv-remote" / "bin" / "python"
FETCHED = re.compile(r"fetched ([0-9,]+) of ([0-9,]+) bytes in ([0-9,]+) requests")
VERBS = ("show", "ledger", "explain")
GOALS = {"usable_s": 3.0, "peak_mib": 512.0}


@dataclass(frozen=True)
class Step:
    """What one process took.

    Attributes
    ----------
    name : str
        What it did.
    wall_s, cpu_s : float
        Its times.
    peak_mib : float
        The most memory that it had.
    fetched_bytes, total_bytes, requests : int or None
        Of a run behind a server: what came of what is there.
    """

    name: str
    wall_s: float
    cpu_s: float
    peak_mib: float
    fetched_bytes: int | None = None
    total_bytes: int | None = None
    requests: int | None = None


def step(name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Step:
    """Run a command and account for it.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    """
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        words = [str(word) for word in command]
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, env=env)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - begun
        said.seek(0)
        text = said.read().decode(errors="replace")
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, words, stderr=text)
    fetched = [int(part.replace(",", "")) for found in FETCHED.findall(text) for part in found]
    done = Step(name, wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    if not fetched:
        return done
    every = [sum(fetched[at::3]) for at in range(3)]
    counted = dict(zip(("fetched_bytes", "total_bytes", "requests"), every, strict=True))
    return Step(**{**asdict(done), **counted})


def here(run: Path, verbs: Sequence[str]) -> list[Step]:
    """Read a run where it lies."""
    ours = [sys.executable, "-m", "pyrometer"]
    steps = [step("ingest", [*ours, "ingest", run])]
    steps += [step(verb, [*ours, verb, "--json", run]) for verb in verbs]
    return [*steps, step("report", [*ours, "report", run])]


def elsewhere(run: Path, other: Path, verbs: Sequence[str]) -> list[Step]:
    """Read a run, and compare it with another, behind a server of S3; each with an empty cache."""
    words = [str(run), "runs/one", str(other), "runs/two"]
    server = subprocess.Popen(
        [REMOTE, SERVER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        endpoint = server.stdout.readline().strip()
        steps = []
        for verb in (*verbs, "report", "compare"):
            with tempfile.TemporaryDirectory(prefix="pyrometer-cache-") as cache:
                env = {
                    **os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": cache,
                    "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test",
                    "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
                    "PYROMETER_REMOTE_FETCHED": "1",
                }  # fmt: skip
                command: list[str | Path] = [REMOTE, "-m", "pyrometer", verb, "s3://lab/runs/one"]
                command += ["s3://lab/runs/two"] if verb == "compare" else []
                command += ["-o", Path(cache) / "page.html"] if verb == "report" else []
                steps.append(step(f"{verb} from S3", command, env))
        return steps
    finally:
        server.stdin.close()
        server.wait(60)


def raw_bytes(run: Path) -> int:
    """Give the size of everything that was recorded."""
    return sum(path.stat().st_size for path in (run / "raw").rglob("*") if path.is_file())


def main(arguments: Sequence[str] | None = None) -> int:
    """Multiply, read, print and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("run", type=Path, help="run directory whose executors shipped")
    parser.add_argument("--executors", type=int, default=1000)
    parser.add_argument("--per-host", type=int, default=4)
    parser.add_argument(
        "--recordings", action="store_true", help="with logs and recordings of JVMs"
    )
    parser.add_argument("--no-s3", action="store_true", help="do not read it behind a server")
    parser.add_argument("--verbs", default=",".join(VERBS))
    parser.add_argument("--folder", type=Path, help="where the run is made, and kept")
    parser.add_argument("-o", "--output", type=Path, help="JSON of all figures")
    asked = parser.parse_args(arguments)
    verbs = [verb for verb in asked.verbs.split(",") if verb]
    with tempfile.TemporaryDirectory(prefix="pyrometer-hosts-", dir=asked.run.parent) as scratch:
        folder = asked.folder or Path(scratch, "run")
        if not folder.exists():
            multiply(asked.run, folder, asked.executors, asked.per_host, asked.recordings)
        steps = here(folder, verbs)
        page = folder / "report.html"
        shown = opened(page)
        if not asked.no_s3:
            steps += elsewhere(folder, asked.run, verbs)
        found = {
            "executors": asked.executors, "per_host": asked.per_host,
            "recordings": asked.recordings, "raw_bytes": raw_bytes(folder),
            "tables_bytes": sum(p.stat().st_size for p in (folder / "tables").iterdir()),
            "report_bytes": page.stat().st_size, "opened": shown and asdict(shown),
            "steps": [asdict(one) for one in steps],
        }  # fmt: skip
    for one in steps:
        fetched = ""
        if one.fetched_bytes is not None:
            fetched = (
                f"{one.fetched_bytes:>14,} of {one.total_bytes:,} bytes, {one.requests} requests"
            )
        used = f"{one.wall_s:>9.1f} s{one.cpu_s:>9.1f} CPU s{one.peak_mib:>9.0f} MiB"
        print(f"{one.name:<18}{used}{fetched}")
    for name in ("raw_bytes", "tables_bytes", "report_bytes"):
        print(f"{name:<18}{found[name]:>14,}")
    goal, most = GOALS["usable_s"], max(steps, key=lambda one: one.peak_mib)
    if shown is None:
        print("nobody opened the page: there is no chromium, or no chromedriver")
    else:
        painted = "?" if shown.painted_s is None else f"{shown.painted_s:.2f}"
        print(
            f"the page is painted after {painted} s and usable after {shown.usable_s:.2f} s, of"
            f" which {shown.cpu_s:.2f} CPU s (goal: usable below {goal:g} s)"
        )
    print(
        f"{most.name} has most memory: {most.peak_mib:.0f} MiB (goal: below {GOALS['peak_mib']:g},"
        " however many executors)"
    )
    if asked.output is not None:
        asked.output.write_text(json.dumps(found, indent=1) + "\n")
    met = (shown is None or shown.usable_s < goal) and most.peak_mib < GOALS["peak_mib"]
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
