r"""Write an event log with any number of tasks from a small one.

Every task becomes a hundred, one after another within its time; the whole is written as often as
needed, with ids and times shifted (:mod:`benchmarks.eventlog.multiply`)::

    python -m benchmarks.eventlog.widen LOG 100000 out.log
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from benchmarks.eventlog.multiply import END, ONCE, bounds, lines, shifted

WIDTH = 100
"""Tasks that replace one."""

_TASK = re.compile(
    rb'^\{"Event":"SparkListenerTask(?:Start|End)".*?"Task ID":(?P<id>\d+),"Index":(?P<index>\d+),'
    rb'"Attempt":\d+,"Partition ID":(?P<partition>\d+),"Launch Time":(?P<launch>\d+)'
)
_FINISH = re.compile(rb'"Finish Time":(\d+)')
_COUNT = re.compile(rb'("Number of Tasks":)(\d+)')


def widen(log: Path, tasks: int, out: IO[bytes]) -> int:
    """Write a log of at least a number of tasks; returns how many it has.

    Parameters
    ----------
    log : Path
        A small log, plain or zstd, whose tasks all succeeded.
    tasks : int
        Least number of tasks.
    out : file
        Where to write.
    """
    small = list(lines(log))
    finished = {
        int(task["id"]): int(_FINISH.findall(line)[0])
        for line in small
        if b'"SparkListenerTaskEnd"' in line and (task := _TASK.match(line))
    }
    # Accumulators and tasks share one shift of ids; a task needs a hundred.
    highest, length_ms = bounds(log)
    copies = -(-tasks // (WIDTH * len(finished)))
    for copy in range(copies):
        for line in small:
            if (copy > 0 and ONCE.match(line)) or (copy < copies - 1 and END.match(line)):
                continue
            shift = copy * (length_ms + 1000)
            copied = shifted(line, copy * (highest + 1), shift)
            task = _TASK.match(copied)
            if task is None:
                out.write(_COUNT.sub(lambda m: b"%b%d" % (m[1], int(m[2]) * WIDTH), copied))
                continue
            end = finished[int(task["id"]) - copy * (highest + 1)] + shift
            out.writelines(_tasks(copied, task, end))
    return copies * WIDTH * len(finished)


def _tasks(line: bytes, task: re.Match[bytes], finish_ms: int) -> Iterator[bytes]:
    """Give the hundred tasks of one, which share its time."""
    launch_ms = int(task["launch"])
    step = (finish_ms - launch_ms) / WIDTH
    places = [("id", WIDTH), ("index", WIDTH), ("partition", WIDTH)]
    ends = _FINISH.search(line, task.end())
    rest = line[task.end() : ends.start(1)] if ends and int(ends[1]) else line[task.end() :]
    behind = line[ends.end(1) :] if ends and int(ends[1]) else b""
    for number in range(WIDTH):
        parts, at = [], 0
        for name, times in places:
            parts += [line[at : task.start(name)], b"%d" % (int(task[name]) * times + number)]
            at = task.end(name)
        parts += [line[at : task.start("launch")], b"%d" % (launch_ms + int(step * number)), rest]
        if behind:
            parts += [b"%d" % (launch_ms + int(step * (number + 1))), behind]
        yield b"".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path, help="a small log, plain or zstd")
    parser.add_argument("tasks", type=int, help="tasks wanted")
    parser.add_argument("out", type=Path, help="file to write, plain")
    given = parser.parse_args(arguments)
    with given.out.open("wb") as out:
        count = widen(given.log, given.tasks, out)
    print(f"{given.out}: {count:,} tasks, {given.out.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
