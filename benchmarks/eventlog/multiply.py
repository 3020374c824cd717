"""Write a large event log from a small one.

The log is written ``k`` times over with ids of jobs, stages, tasks, RDDs, SQL executions and
accumulators shifted, and with times shifted, so that it is one long application: it has ``k``
times the tasks and ``k`` times every total. Events about the application, its environment and
its executors are written once. Nothing larger than a line is held in memory.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ONCE = re.compile(
    rb'^\{"Event":"(?:SparkListener(?:LogStart|ApplicationStart|EnvironmentUpdate|ResourceProfile'
    rb"|Executor(?:Added|Removed)|BlockManager)|DBC)"
)
END = re.compile(rb'^\{"Event":"SparkListenerApplicationEnd"')
# In this order: an id, a time, a list of ids, pairs of id and value.
NUMBERS = re.compile(
    rb'("(?:Stage ID|Task ID|Job ID|RDD ID|executionId|rootExecutionId|accumulatorId)":'
    rb'|"spark\.sql\.execution\.(?:root\.)?id":"|\{"ID":)(\d+)'
    rb'|("(?:(?:Launch|Getting Result|Finish|Submission|Completion) Time|Timestamp|time)":)'
    rb"(\d{13})(?!\d)"
    rb'|("(?:Stage IDs|Parent IDs)":\[)([\d,]+)'
    rb'|("accumUpdates":\[)([\d,\[\]-]+)\]'
)
PAIR = re.compile(rb"\[(\d+),")
NUMBER = re.compile(rb"\d+")


def lines(path: Path) -> Iterator[bytes]:
    """Read a log that is plain or zstd."""
    with path.open("rb") as file:
        packed = file.read(4) == b"\x28\xb5\x2f\xfd"
    if not packed:
        with path.open("rb") as file:
            yield from file
        return
    with subprocess.Popen(["zstd", "-dcq", "--long=31", path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield from process.stdout


def bounds(path: Path) -> tuple[int, int]:
    """Give the highest id and the length in ms of a log."""
    highest, first, last = 0, 1 << 62, 0
    for line in lines(path):
        for _, number, _, time, _, numbers, _, pairs in NUMBERS.findall(line):
            if time:
                first, last = min(first, int(time)), max(last, int(time))
            ids = [number] if number else NUMBER.findall(numbers) or PAIR.findall(pairs)
            highest = max(highest, *map(int, ids), 0)
    return highest, max(0, last - first)


def shifted(line: bytes, ids: int, ms: int) -> bytes:
    """Add ``ids`` to every id of a line and ``ms`` to every time."""

    def add(match: re.Match[bytes]) -> bytes:
        id_key, number, time_key, time, list_key, numbers, pairs_key, pairs = match.groups()
        if id_key:
            return b"%b%d" % (id_key, int(number) + ids)
        if time_key:
            return b"%b%d" % (time_key, int(time) + ms)
        if list_key:
            return list_key + NUMBER.sub(lambda n: b"%d" % (int(n[0]) + ids), numbers)
        moved = PAIR.sub(lambda n: b"[%d," % (int(n[1]) + ids), pairs)
        return bytes(pairs_key) + moved + b"]"

    return NUMBERS.sub(add, line)


def multiply(path: Path, times: int, out: IO[bytes]) -> None:
    """Write the log at ``path`` ``times`` times over to ``out``."""
    highest, length = bounds(path)
    for copy in range(times):
        for line in lines(path):
            if not line.endswith(b"\n"):
                line += b"\n"
            if (copy > 0 and ONCE.match(line)) or (copy < times - 1 and END.match(line)):
                continue
            out.write(shifted(line, copy * (highest + 1), copy * (length + 1000)))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path, help="a log, plain or zstd")
    parser.add_argument("times", type=int, help="how often")
    parser.add_argument("out", type=Path, help="file to write, plain")
    arguments = parser.parse_args()
    with arguments.out.open("wb") as out:
        multiply(arguments.log, arguments.times, out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.0f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
