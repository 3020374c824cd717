"""The network link of a host is at its limit while tasks wait for it.

What it is
    Shuffles, or reads of remote storage, move more than the interface of a host can: all its
    tasks share what there is, and more of them at once only wait longer.

Mechanism
    While the link is at its limit, bytes set the pace. With twice the link, or half the bytes,
    tasks need half of that time, if so much of it is waiting. From each task on the host the
    simulator removes its wait for shuffle blocks and remote reads, up to half of its time, for the
    part of its stage in which the link was at its limit: the part by seconds (low end) or by bytes
    (high end). Where the link moved less than the tasks fetched, its part is smaller by as much.
    When what a host sends is at the limit, tasks of other hosts wait, as far as they fetched from
    it.

Evidence
    Bytes that the busiest interface of each host received and sent in each second. The link's speed
    is not recorded: the limit is the rate exceeded in one second out of a hundred. It is certain
    where that is what an Ethernet link shows when it is full; otherwise only as far as the rate did
    not follow the number of tasks, and the low end is nothing where that number never changed.

Remedy
    Fewer bytes: columns and filters before the shuffle, `spark.io.compression.codec=zstd`, blocks
    fetched from the same host; a faster network, or the same slots on more hosts.

When it is wrong
    The rate is that of the other side (a store that limits each client, disks, a proxy), or of
    requests each of which takes its time: see `scan.remote-storage-latency`.

Source
    /proc/net/dev; IEEE 802.3 for speeds and frames. How many bytes the remedies save is not
    measured; it is assumed (`ACHIEVED`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.hosts.network_links import (
    Link,
    behind,
    elasticity,
    links,
    waits_for_store,
)
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.places import where as in_stages
from pyrometer.explain.evidence.saying import code, factor, machine, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.store.sql.text import literal

ACHIEVED = (0.5, 1.0)
"""Of half the bytes: a denser codec saves a quarter of them, a link twice as fast is all of it."""
_FETCH, _REMOTE = "shuffle_fetch_wait_time_ns", "shuffle_read_remote_bytes"
_SECONDS = (
    "SELECT quantile_cont(rate, 0.99) FROM (SELECT 1e9 * (value - lag(value) OVER w)"
    " / (t_mono_ns - lag(t_mono_ns) OVER w) AS rate FROM os_series WHERE host = {}"
    " AND scope = {} AND name = '{}_bytes' WINDOW w AS (ORDER BY t_mono_ns))"
)
"""By readings, where the rule takes seconds."""


def _missing(facts: Facts) -> str | None:
    if facts.has("os_series") and facts.tables.scalar(
        "SELECT count(*) FROM os_series WHERE scope LIKE 'net/%' AND scope <> 'net/lo'"
    ):
        return None
    return "no series of network interfaces"


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    store = waits_for_store(facts)
    fetch = np.where(facts.tasks[_REMOTE] > 0, np.nan_to_num(facts.tasks[_FETCH]), 0.0)
    if not (store.any() or fetch.any()):
        return
    # Of both directions the one that holds more: the same waits are not counted twice.
    best: dict[str, tuple[float, Suspect]] = {}
    for link in links(facts):
        mine = behind(facts, link.host)
        found = None if mine is None else _suspect(facts, link, mine, fetch, store)
        if found is not None and found[0] > best.get(link.host, (0.0,))[0]:
            best[link.host] = found
    yield from best.values()


@dataclass
class _Held:
    """What tasks waited while a link was at its limit, by number of the stage.

    Attributes
    ----------
    whole : dict of int to float
        All that they waited for blocks and remote reads.
    low_ns, high_ns : float
        What half the bytes would take from it, at least and at most.
    """

    blocks: dict[int, Floats] = field(default_factory=dict)
    reads: dict[int, Floats] = field(default_factory=dict)
    whole: dict[int, float] = field(default_factory=dict)
    low_ns: float = 0.0
    high_ns: float = 0.0


def _hold(facts: Facts, link: Link, mine: Any, fetch: Floats, store: Floats) -> _Held:
    found, full = _Held(), link.at_limit
    for stage in facts.stages:
        where, seconds = facts.place_of(stage.number), link.seconds_of(facts, stage)
        moved, at = link.rates[seconds], full[seconds]
        own, tasks = mine[where], facts.tasks_of(stage.number)
        # What a host sends is waited for by tasks of others, and by its own where they write.
        fetches = own if link.name == "received" else ~own
        blocks = np.where(fetches, fetch[where], 0.0)
        asks = link.name == "received" or np.nan_to_num(tasks["output_bytes"]) > 0
        reads = np.where(own & asks, store[where], 0.0)
        waited = blocks + reads
        if not at.any() or not waited.any() or not moved.any():
            continue
        asked = float(np.nansum(np.where(fetches, tasks[_REMOTE], 0.0)))
        if link.name == "received":  # a row needs a byte at least
            size = np.fmax(tasks["input_bytes"], tasks["input_records_count"])
            asked += float(np.nansum(np.where(reads > 0, size, 0.0)))
        carried = min(1.0, float(moved.sum()) / asked) if asked > 0 else 1.0
        kept = np.minimum(1.0, tasks.duration_ns / 2 / np.maximum(waited, 1.0)) * carried
        part = float(moved[at].sum() / moved.sum())
        found.blocks[stage.number] = blocks * kept * part
        found.reads[stage.number] = reads * kept * part
        found.whole[stage.number] = float(waited.sum())
        found.low_ns += float((waited * kept).sum()) * min(part, float(at.mean()))
        found.high_ns += float((waited * kept).sum()) * part
    return found


def _suspect(
    facts: Facts, link: Link, mine: Any, fetch: Floats, store: Floats
) -> tuple[float, Suspect] | None:
    held, at = _hold(facts, link, mine, fetch, store), link.at_limit
    if held.high_ns <= 0:
        return None
    stages = [facts.stages[number] for number in held.whole]
    sure = 1.0 if link.speed else 1 - elasticity(facts, link, mine, stages)
    least = sure * held.low_ns / held.high_ns
    spot = place(facts, "host", held.whole, host=link.host)
    by_reading = _SECONDS.format(
        literal(link.host), literal(f"net/{link.interface}"), link.name
    )  # fmt: skip
    which = (
        f"as much as a full link of {units.rate(link.speed / 8)} shows"
        if link.speed
        else "the limit of the link or of the other side"
    )
    return (1 + least) / 2 * held.high_ns, Suspect(
        place=spot,
        mechanism=(
            f"{link.interface} of {link.host} {link.name} {units.rate(link.limit)}, {which}, in"
            f" {int(at.sum())} of {at.size} seconds, and tasks of"
            f" {units.counted(len(stages), 'stage')} waited"
            f" {units.duration(sum(held.whole.values()))} for blocks and remote reads."
        ),
        change=(Less("fetch_wait", held.blocks), Less("network", held.reads)),
        extent=Extent((1 + least) / 2, least, 1.0, int(at.sum())).times(*ACHIEVED),
        evidence=[
            shown_by(f"bytes {link.name} in a second, at most in 99 % of readings",
                     float(facts.tables.scalar(by_reading) or 0), "bytes", "os_series", by_reading,
                     "/timeline", at.size),
            shown_by("fetch wait time", float(fetch.sum()), "ns", "tasks",
                     f"SELECT coalesce(sum({_FETCH}), 0) FROM tasks WHERE {in_stages(facts)}"
                     f" AND {_REMOTE} > 0", page(spot), facts.tasks.count),
        ],
        remedies=[
            factor("spark.io.compression.codec", "zstd", "send fewer bytes: a denser codec"),
            code("shuffle fewer columns", 'a.join(b, "k").select("k", "v")',
                 'a.select("k", "v").join(b.select("k"), "k")'),
            machine(f"give {link.host} a faster network, or spread its slots over more hosts"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="network.saturated",
    title="The network link of a host is full",
    cause="network bandwidth",
    suspects=_suspects,
    needs=(Need(_missing, PROFILE),),
    explains=("network.slow", "shuffle.fetch-wait"),
    refute="Run half as many tasks on the host: if the link moves half as much, it was not full.",
)
