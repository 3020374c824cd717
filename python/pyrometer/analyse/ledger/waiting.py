"""What tasks waited for: time asleep outside GC pauses, by wait class and operator.

The whole is exact where the scheduler's own events were recorded. Else it is a share of the spans:
by states that the probe saw pass by pass (extended stacks), or by wall-clock samples. Classes are
shares of it by the same observations.
"""

from __future__ import annotations

from collections import defaultdict

from pyrometer.analyse.ledger.closure import SHARE_OF_PARENT
from pyrometer.analyse.ledger.rows import (
    NO_OPERATOR,
    WALL_SAMPLES,
    left_open,
    row,
    sampled,
    slug,
    split,
    weighed,
)
from pyrometer.analyse.ledger.samples import Parts
from pyrometer.analyse.ledger.sums import Sums
from pyrometer.analyse.model import Row
from pyrometer.analyse.waits import Waits, Weighed

PATH = "task/waiting"
EVENTS = "scheduler events"
STATES = "sleeps that the probe saw in task threads; without a stack, split as wall samples of such"


def waiting(found: Sums) -> list[Row]:
    """Tell what tasks waited for, by the best source there is; empty where there is none."""
    if found.off_cpu is not None:
        off, paused = found.off_cpu, found.off_cpu.in_pauses
        whole = row(PATH, asleep_ns(found), off.n, f"probe: {EVENTS}, GC pauses left out")
        left_open(whole, off.asleep_low - paused, off.asleep_high - paused, "sums over seconds")
        return [whole, *classes(found, PATH)]
    found_rows = classes(found, PATH, with_whole=True)
    if found_rows:
        share = found_rows[0].source.removeprefix(f"{SHARE_OF_PARENT}: ")
        found_rows[0].source = f"Σ task spans × {share} asleep, GC pauses left out"
    return found_rows


def asleep_ns(found: Sums) -> int:
    """Give the time that shares of sleeping are shares of: exact, or that of the whole spans."""
    off = found.off_cpu
    return found.wall if off is None else off.asleep - off.in_pauses


def classes(
    found: Sums, path: str, of: set[str | None] | None = None, *, with_whole: bool = False
) -> list[Row]:
    """Split time asleep by wait class and operator.

    Parameters
    ----------
    path : str
        Path of the whole.
    of : set of str or None
        Only the time of these operators, together.
    with_whole : bool
        A row for the whole, too: a share of the spans.
    """
    exact, seen = found.off_cpu is not None, found.states
    if seen is not None and seen.seen().ns:
        return _by_states(found, seen, path, of, with_whole)
    asleep = found.counts.asleep
    total = sum(asleep.values()) if exact else found.counts.walls
    if not total:
        return []
    what = f"{WALL_SAMPLES} that were asleep" if exact else WALL_SAMPLES
    mine: Parts = defaultdict(int)
    for (name, operator), hits in asleep.items():
        if of is None or operator in of:
            mine[name, operator if of is None else None] += hits
    rows = split(path, asleep_ns(found), mine, total, what)
    if with_whole:
        rows.insert(0, sampled(path, asleep_ns(found), sum(mine.values()), total, what))
    return rows


def _by_states(
    found: Sums, seen: Waits, path: str, of: set[str | None] | None, with_whole: bool
) -> list[Row]:
    total = seen.seen() if found.off_cpu is None else seen.slept()
    whole_ns, whole = asleep_ns(found), Weighed()
    by_name: dict[str, dict[str | None, Weighed]] = defaultdict(lambda: defaultdict(Weighed))
    for (name, operator), part in seen.asleep.items():
        if of is None or operator in of:
            by_name[name][operator if of is None else None].add(part)
            whole.add(part)
    rows = [weighed(path, whole_ns, whole, total, STATES)] if with_whole else []
    for name, operators in sorted(by_name.items(), key=lambda o: (-_sum(o[1]).ns, o[0])):
        deeper = f"{path}/{slug(name)}"
        rows.append(weighed(deeper, whole_ns, _sum(operators), total, STATES))
        if set(operators) == {None}:
            continue
        for operator, part in sorted(operators.items(), key=lambda o: (-o[1].ns, o[0] or "")):
            place = f"{deeper}/{slug(operator or NO_OPERATOR)}"
            rows.append(weighed(place, whole_ns, part, total, STATES))
    return rows


def _sum(parts: dict[str | None, Weighed]) -> Weighed:
    whole = Weighed()
    for part in parts.values():
        whole.add(part)
    return whole
