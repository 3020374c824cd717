"""Settings, versions, executors and data of both sides beside each other: what is not the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from pyrometer.accounts.schema import App, ExecutorGroup
from pyrometer.compare.cause_schema import Unlike
from pyrometer.compare.setting_names import can_matter, rank
from pyrometer.compare.sides import Side
from pyrometer.core import units
from pyrometer.core.redaction import redacted
from pyrometer.summary.schema import Summary

_FILES = "number of files read"
_MEMORY = ("memory of an executor", "memory of the driver")
_TOTALS = (
    ("rows read", "input_records_count"), ("bytes read", "input_bytes"),
    ("rows written", "output_records_count"), ("bytes written", "output_bytes"),
    ("shuffle written", "shuffle_written_bytes"),
    ("shuffle rows written", "shuffle_written_records_count"),
    ("spilled to disk", "disk_spilled_bytes"), ("tasks", "tasks_count"),
    ("stages", "stages_count"),
)  # fmt: skip


def side_by_side(a: Side, b: Side) -> list[Unlike]:
    """Give what is not the same on both sides: versions, executors, data, settings.

    Runs of a side that differ from each other are named together. What one side's logs do not say
    is no difference; a setting is one where both sides have settings.
    """
    return list(_unlike(a, b))


def without_settings(side: Side) -> bool:
    """Whether the event logs of a side have no settings: nothing is known of what was set."""
    return not any(app.settings for one in side.summaries for app in one.apps[:1])


def _unlike(a: Side, b: Side) -> Iterator[Unlike]:
    told = not (without_settings(a) or without_settings(b))
    for of, values in _KINDS:
        ours, theirs = ([values(one) for one in side.summaries] for side in (a, b))
        names = dict.fromkeys(name for one in (*ours, *theirs) for name in one)
        if of == "setting":
            names = dict.fromkeys(sorted(names, key=lambda name: (rank(name), name)))
        elif of == "data":
            ratios = {name: _ratio(name, ours, theirs) for name in names}
            names = dict.fromkeys(sorted(names, key=lambda name: -ratios[name]))
        for name in names:
            x, y = (_together(name, side) for side in (ours, theirs))
            # A setting that is not there has its default; anything else is not known.
            known = (told and (of == "setting" or name in _MEMORY)) or None not in (x, y)
            if x != y and known:
                yield Unlike(of=of, name=name, a=x, b=y)


def _ratio(
    name: str, ours: Sequence[Mapping[str, str]], theirs: Sequence[Mapping[str, str]]
) -> float:
    """Give how far apart two amounts are, as they are written: the logarithm of their ratio."""
    amounts = [fmean(_amount(one.get(name)) for one in side) for side in (ours, theirs)]
    return abs(math.log((amounts[1] + 1) / (amounts[0] + 1)))


def _amount(text: str | None) -> float:
    """Read a number as it is written here.

    Examples
    --------
    >>> _amount("1 010"), _amount("2 KiB"), _amount(None)
    (1010.0, 2048.0, 0.0)
    """
    number = re.match(r"[\d .]+", text or "")
    unit = next((n for n, name in enumerate("KMGTP", 1) if f"{name}iB" in (text or "")), 0)
    return float(number.group().replace(" ", "")) * 1024**unit if number else 0.0


def _together(name: str, side: Sequence[Mapping[str, str]]) -> str | None:
    found = sorted({one[name] for one in side if name in one})
    return " | ".join(found) or None


def _versions(summary: Summary) -> dict[str, str]:
    found: dict[str, str] = {}
    for app in summary.apps[:1]:
        for name, value in (
            ("Spark", app.spark_version), ("Java", app.java_version), ("Scala", app.scala_version),
            ("master", app.master),
        ):  # fmt: skip
            if value:
                found[name] = redacted(value)
    return found


def _executors(summary: Summary) -> dict[str, str]:
    app = _app(summary)
    if app is None:
        return {}
    groups: Sequence[ExecutorGroup] = app.executors
    found = {
        "executors": str(sum(one.executors_count for one in groups)),
        "hosts": str(sum(one.hosts_count for one in groups)),
        "executors lost or released": str(sum(one.removed_count for one in groups)),
    }
    cores = [one.cores_count for one in groups]
    if groups and None not in cores:
        found["cores of an executor"] = ", ".join(dict.fromkeys(str(n) for n in cores))
        found["cores in all"] = str(
            sum((one.cores_count or 0) * one.executors_count for one in groups)
        )
    for name, value in zip(_MEMORY, (app.executor_memory, app.driver_memory), strict=True):
        if value:
            found[name] = value
    return found


def _data(summary: Summary) -> dict[str, str]:
    app = _app(summary)
    found = {}
    for name, key in _TOTALS:
        value = None if app is None else app.totals.get(key)
        if value is not None:
            found[name] = units.size(value) if key.endswith("_bytes") else f"{round(value):,}"
    nodes = [node for sql in summary.sql for node in sql.nodes]
    files = [one.value_sum for node in nodes for one in node.metrics if one.metric == _FILES]
    counted = [number for number in files if number is not None]
    told = summary.sql or (app is not None and app.totals.get("tasks_count"))
    # Sources of Spark's second interface do not count their files.
    if counted or (told and not files and not any(n.name.startswith("BatchScan") for n in nodes)):
        found["files read by SQL"] = f"{sum(counted):,}"
    return {name: value.replace(",", " ") for name, value in found.items()}


def _settings(summary: Summary) -> dict[str, str]:
    app = _app(summary)
    if app is None:
        return {}
    return {
        one.name: redacted(f"{one.name}={one.value}").partition("=")[2]
        for one in app.settings
        if can_matter(one.name)
    }


def _app(summary: Summary) -> App | None:
    return summary.apps[0] if summary.apps else None


_KINDS: tuple[tuple[str, Callable[[Summary], dict[str, str]]], ...] = (
    ("version", _versions),
    ("executors", _executors),
    ("data", _data),
    ("setting", _settings),
)
