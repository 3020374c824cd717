"""Which iterations of a run were warm-up: found once it has ended, as experiments find it."""

from __future__ import annotations

import json

from pyrometer.collect.launch.record import Record, iteration_lines, results
from pyrometer.statistics.warmup import Shape, counting
from pyrometer.store.manifest import Warmup

WHY: dict[Shape, str] = {
    "flat": "all iterations have one level",
    "warm-up": "the iterations before were slower",
    "slowdown": "the iterations before were faster",
    "not steady": "the times do not become steady, so only what was declared is left out",
    "too short": "there are fewer than four iterations, so only what was declared is left out",
}


def mark_warmup(record: Record) -> None:
    """Mark the iterations before a finished run was steady as warm-up, and say why.

    Nothing is run again: of the iterations that were asked for, fewer count.
    """
    numbers, times, declared = _series(record)
    if not times:
        return
    shape, start = counting(times, declared)
    manifest = record.manifest
    manifest.warmup_found = Warmup(
        taken=start, declared=declared, of=len(times), shape=shape, why=WHY[shape]
    )
    try:
        with record.paths.iterations.open("a", encoding="utf-8") as out:
            for number in numbers[declared:start]:
                line = {"k": "warmup", "iteration": number, "warmup": True}
                out.write(json.dumps(line) + "\n")
    except OSError as error:
        record.doubt("run_not_saved", f"{record.paths.iterations}: {error.strerror}.")
    manifest.results = results(record.paths.iterations)
    if shape == "not steady":
        listed = ", ".join(f"{time:.3g}" for time in times)
        record.doubt("not_settled", f"The times of the run's iterations are {listed} s.")


def _series(record: Record) -> tuple[list[int], list[float], int]:
    """Give numbers and times in s of the iterations that ended well, and how many were declared."""
    lines = iteration_lines(record.paths.iterations)
    begun = {one.get("iteration"): one.get("mono_ns") for one in lines if one.get("k") == "start"}
    found = []
    for one in lines:
        number, end = one.get("iteration"), one.get("mono_ns")
        start = begun.get(number)
        if one.get("k") != "end" or one.get("status") != "ok" or not isinstance(number, int):
            continue
        if isinstance(start, int) and isinstance(end, int) and end > start:
            found.append((number, (end - start) / 1e9, bool(one.get("warmup"))))
    found.sort()
    declared = sum(warmup for _, _, warmup in found)
    return [number for number, _, _ in found], [time for _, time, _ in found], declared
