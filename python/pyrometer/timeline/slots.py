"""Tracks of the timeline about slots: how many there were and ran tasks, in all and by host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.ledger.host_slots import define_places
from pyrometer.pages.axis import Axis, Line, occupancy
from pyrometer.pages.columns import Pack, floats, integers, texts
from pyrometer.store.lives import define_lives
from pyrometer.store.tables import Tables
from pyrometer.timeline.machine import Track, series_column

MAX_HOSTS = 8
"""Hosts that are drawn: those with most task time."""
_HELP = (
    "Mean number of task attempts running at once. Below the number of slots, cores wait for work."
)
_SLOTS = """
    SELECT cores_count // greatest(1, coalesce(TRY_CAST(json_extract_string(
               spark_conf, '$."spark.task.cpus"') AS INTEGER), 1)) AS slots,
           coalesce(p.host, '?') AS host,
           coalesce(add_wall_ns, born_wall_ns) AS start,
           coalesce(remove_wall_ns, gone_wall_ns) AS finish
    FROM executors JOIN lives USING (app_index)
    LEFT JOIN h_places p USING (app_index, executor_id)
    WHERE cores_count > 0 AND start IS NOT NULL AND finish IS NOT NULL
"""

Floats = npt.NDArray[np.float64]


def running_tracks(
    tables: Tables, axis: Axis, pack: Pack, start: Floats, end: Floats, hosts: Sequence[str]
) -> list[Track]:
    """Draw task attempts that ran at once below the slots that were registered.

    Parameters
    ----------
    tables, axis, pack
        The run, its axis, and where columns go.
    start, end : array of float
        Of all task attempts, ms on the axis.
    hosts : sequence of str
        Where each of them ran, as its executor registered (``h_places``).

    Returns
    -------
    list of Track
        One of all; where executors were on several hosts, one of each of these, too.
    """
    slots = _slots(tables)
    found = [_track(axis, pack, "running", "Running tasks", start, end, slots)]
    names = {*hosts, *({} if slots is None else slots["host"])} - {"?"}
    if len(names) < 2:
        return found
    code = {name: number for number, name in enumerate(sorted({*names, *hosts}))}
    each = np.fromiter((code[name] for name in hosts), np.int64, len(hosts))
    time = np.bincount(each, np.nan_to_num(end - start), len(code))
    shown = sorted(names, key=lambda name: (-time[code[name]], name))[:MAX_HOSTS]
    for number, name in enumerate(sorted(shown)):
        mine, own = each == code[name], None
        if slots is not None:
            there = np.array(slots["host"], dtype=object) == name
            own = {key: np.asarray(values)[there] for key, values in slots.items()}
        title = f"Running tasks · {name}"
        found.append(_track(axis, pack, f"running{number}", title, start[mine], end[mine], own))
    if len(names) > len(shown):
        found[-1]["note"] = f"{len(shown)} of {len(names)} hosts are drawn"
    return found


def _track(
    axis: Axis, pack: Pack, name: str, title: str, start: Floats, end: Floats, slots: Any
) -> Track:
    line = Line(occupancy(axis, start, end))
    return {
        "id": name,
        "kind": "series",
        "title": title,
        "unit": "count",
        "help": _HELP,
        "series": [series_column(pack, name, "running tasks", line)],
        "capacity": _capacity(axis, pack, name, slots),
    }


def _slots(tables: Tables) -> dict[str, Any] | None:
    """Slots of each executor, and when it was there; None where none reports its cores."""
    if not tables.has("executors") or not tables.has("apps"):
        return None
    define_lives(tables)
    define_places(tables)
    found = tables.columns(_SLOTS)
    slots = integers(found["slots"])
    if not slots.sum():
        return None
    times = {name: floats(found[name]) for name in ("start", "finish")}
    return {"slots": slots, "host": texts(found["host"]), **times}


def _capacity(axis: Axis, pack: Pack, name: str, slots: Any) -> dict[str, Any] | None:
    """Slots that were registered, over time."""
    if slots is None or not slots["slots"].sum():
        return None
    start = np.repeat(axis.from_wall(slots["start"]), slots["slots"])
    end = np.repeat(axis.from_wall(slots["finish"]), slots["slots"])
    line = Line(occupancy(axis, start, np.maximum(start, end)))
    of = "slots" if name == "running" else f"{name}.slots"
    return series_column(pack, of, "slots", line)
