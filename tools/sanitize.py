"""Run the tests of the crates that have `unsafe` where what is undefined is seen.

`make sanitize`: Miri interprets the reader of JSON (`pyro-ingest`), vector instructions included;
what talks to the kernel (`pyro-probe`), which Miri cannot, runs its own tests under
AddressSanitizer, with leaks, and then records a program of threads at each tier that the machine
allows. Both need a nightly Rust. `PROPTEST_CASES` says how many cases each
property gets from Miri, which is some hundred times slower than the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = f"{platform.machine()}-unknown-linux-gnu"
SANITIZED = ROOT / "target" / "sanitize"
COMPONENTS = ("miri", "rust-src")
TIERS = ("T0", "T1", "auto")
OBSERVED = """
import threading, time
def work(until):
    while time.monotonic() < until:
        sum(range(20_000))
        time.sleep(0.002)
for _ in range(5):
    threads = [threading.Thread(target=work, args=(time.monotonic() + 1,)) for _ in range(20)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""
CASES = "4"
# Both want rustc itself: Miri allows no wrapper, and AddressSanitizer no libc inside the program.
NO_WRAPPER = ["--config", 'build.rustc-workspace-wrapper=""']
# What `container_end` and `string_end` look for at run time.
VECTORS = {"x86_64": "-C target-feature=+avx2,+bmi1,+popcnt,+pclmulqdq"}


def missing(tool: str) -> str | None:
    """Say what is not there for a tool, and the command that brings it."""
    if shutil.which("rustup") is None:
        return "missing: rustup, which brings a nightly Rust. Install: https://rustup.rs"
    if not any(name.startswith("nightly") for name in listed("toolchain", "list")):
        return (
            "missing: a nightly Rust. Install: rustup toolchain install nightly --profile minimal"
            f" --component {','.join(COMPONENTS)}"
        )
    names = listed("component", "list", "--toolchain", "nightly", "--installed")
    lacking = [one for one in COMPONENTS if not any(name.startswith(one) for name in names)]
    if tool == "miri" and lacking:
        return (
            f"missing: {' and '.join(lacking)} of the nightly Rust."
            f" Install: rustup component add --toolchain nightly {' '.join(lacking)}"
        )
    return None


def listed(*words: str) -> list[str]:
    """First words of the lines that rustup prints."""
    done = subprocess.run(["rustup", *words], capture_output=True, text=True, check=False)
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def miri() -> int:
    """Interpret the tests of the reader of JSON."""
    flags = VECTORS.get(platform.machine(), "")
    told = {"RUSTFLAGS": flags, "MIRIFLAGS": "-Zmiri-disable-isolation"}
    command = ["cargo", "+nightly", "miri", "test", *NO_WRAPPER, "--locked"]
    return run([*command, "-p", "pyro-ingest", "--lib", "eventlog::json"], told)


def address() -> int:
    """Run the tests of the probe, and the probe, under AddressSanitizer."""
    # With a target the flag is for our code, and not for build scripts and macros.
    options = [*NO_WRAPPER, "--locked", "-p", "pyro-probe", "--target", TARGET]
    options += ["--target-dir", str(SANITIZED)]
    told = {"RUSTFLAGS": "-Zsanitizer=address"}
    for verb in ("test", "build"):
        if code := run(["cargo", "+nightly", verb, *options], told):
            return code
    return max(recorded(tier) for tier in TIERS)


def recorded(tier: str) -> int:
    """Have the probe record a program of threads that run, sleep and end."""
    probe = SANITIZED / TARGET / "debug" / "pyro-probe"
    with tempfile.TemporaryDirectory() as folder:
        observed = subprocess.Popen([sys.executable, "-c", OBSERVED])
        command = [str(probe), "record", "--root-pid", str(observed.pid), "--raw-dir", folder]
        code = run([*command, "--host", "box", "--tier", tier, "--hz", "50"], {})
        observed.wait()
        report = Path(folder) / "probe-box.report.json"
        read = json.loads(report.read_text()) if report.is_file() else {}
    print(f"{tier}: exit code {code}, threads read at {read.get('tier')}", flush=True)
    return code if read else 1


def run(command: list[str], told: dict[str, str]) -> int:
    """Run a command that is printed first; `PROPTEST_CASES` of the environment wins."""
    print(" ".join([*(f"{name}='{value}'" for name, value in told.items()), *command]), flush=True)
    environment = {"PROPTEST_CASES": CASES if "miri" in command else "64"} | dict(os.environ) | told
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


TOOLS = {"miri": miri, "address": address}


def main() -> int:
    """Run the tools that are asked for, all of them by default; the exit code is the worst."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="*", metavar="|".join(TOOLS))
    chosen = parser.parse_args().tools or list(TOOLS)
    if unknown := set(chosen) - set(TOOLS):
        parser.error(f"unknown: {' '.join(sorted(unknown))}; there is: {' '.join(TOOLS)}")
    told = dict.fromkeys(reason for tool in chosen if (reason := missing(tool)))
    if told:
        print(*told, sep="\n", file=sys.stderr)
        return 3
    return max(TOOLS[tool]() for tool in chosen)


if __name__ == "__main__":
    sys.exit(main())
