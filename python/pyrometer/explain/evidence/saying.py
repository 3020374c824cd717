"""Short ways for rules to name a place, a number with its source, and a remedy."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Literal
from urllib.parse import urlencode

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.schema import Evidence, Layer, Place, Remedy
from pyrometer.statistics.shares import LEVEL, Z

WANTED_FILE_BYTES = 1 << 27
"""Of a file: the default of ``spark.sql.files.maxPartitionBytes``, what a task reads."""


_PRIMITIVES = {
    "Z": "boolean", "B": "byte", "C": "char", "S": "short", "I": "int", "J": "long", "F": "float",
    "D": "double",
}  # fmt: skip


def place(
    facts: Facts, layer: Layer, cost: Mapping[int, Any] | Collection[int] = (), **more: Any
) -> Place:
    """Name the stage that a cause costs most, and how many it concerns.

    Parameters
    ----------
    cost : mapping of int to float, or collection of int
        What it costs by number of the stage.
    **more : optional
        Further attributes of the place.
    """
    if not cost:
        return Place(layer=layer, **more)
    costs = cost if isinstance(cost, Mapping) else dict.fromkeys(cost, 0.0)
    stage = facts.stages[max(costs, key=lambda number: (costs[number], -number))]
    return Place(
        layer=layer, stage_id=stage.stage_id, stage_attempt=stage.attempt,
        stages_count=len(costs), **more,
    )  # fmt: skip


def page(where: Place) -> str:
    """Give the report's page of a place: its stage, else the ledger."""
    if where.stage_id is None:
        return "/ledger"
    return f"/stage/{where.stage_id}/{where.stage_attempt or 0}"


def flame(**words: str) -> str:
    """Give the fragment of the page that shows the flame graph, of an event, with a name found.

    Examples
    --------
    >>> flame(event="alloc", find="f(x)")
    '/flame?event=alloc&find=f%28x%29'
    """
    return f"/flame?{urlencode(words)}"


def timeline(start_wall_ns: float, end_wall_ns: float) -> str:
    """Give the fragment of the page that shows a time range; Unix times."""
    return f"/timeline/{round(start_wall_ns)}/{round(end_wall_ns)}"


def java_name(name: str) -> str:
    """Write the class of an array, as the JVM names it, in the way that programs do.

    Examples
    --------
    >>> java_name("[I"), java_name("[[Ljava.lang.String;"), java_name("java.util.HashMap")
    ('int[]', 'java.lang.String[][]', 'java.util.HashMap')
    """
    inner = name.lstrip("[")
    if inner == name:
        return name
    element = _PRIMITIVES.get(inner) or inner.removeprefix("L").removesuffix(";")
    return element + "[]" * (len(name) - len(inner))


def shown_by(
    what: str,
    value: float | Estimate,
    unit: str,
    table: str,
    query: str | None,
    link: str,
    n: int = 1,
) -> Evidence:
    """Give a number as evidence; a bare one was counted, or is the sum of so many samples."""
    if isinstance(value, Estimate):
        estimate = value
    elif table == "samples":
        estimate = of_samples(float(value), n)
    else:
        estimate = exactly(float(value), n)
    return Evidence(
        what=what, estimate=estimate, unit=unit, table=table, query=query, link=link
    )  # fmt: skip


def of_samples(value: float, n: int) -> Estimate:
    """Give a sum of samples, which fall at random: its error is that of their number.

    Of a number of samples that is not known, or of one, there is no interval.

    Examples
    --------
    >>> found = of_samples(1e9, 100)
    >>> round(found.low / 1e6), round(found.high / 1e6)
    (804, 1196)
    """
    off = Z / math.sqrt(n) if n > 1 else None
    return Estimate(
        value=value, low=None if off is None else max(0.0, value * (1 - off)),
        high=None if off is None else value * (1 + off), level=LEVEL, n=n, method="poisson",
    )  # fmt: skip


def factor(name: str, level: str, text: str, **levels: str) -> Remedy:
    """Give a remedy that can be tried without a human."""
    return Remedy(kind="factor", factor=name, level=level, text=text, levels=levels)


def code(
    text: str,
    before: str | None = None,
    after: str | None = None,
    *,
    kind: Literal["code", "data"] = "code",
    example: bool = True,
) -> Remedy:
    """Give an edit of the user's code as a remedy.

    Parameters
    ----------
    before, after : str, optional
        The edit.
    kind : str
        ``data`` where the edit is made where data are written.
    example : bool
        Whether the edit only shows what is meant; not where its names are the user's own.
    """
    shows = before is not None or after is not None
    return Remedy(kind=kind, text=text, before=before, after=after, example=example and shows)


def data(text: str, before: str, after: str) -> Remedy:
    """Give an edit of what writes the data as a remedy, by an example."""
    return code(text, before, after, kind="data")


def compact(size: float, least: int, what: str = "df.write.parquet(path)") -> tuple[int, Remedy]:
    """Say in how many files of `WANTED_FILE_BYTES` so many bytes fit, and how they get there."""
    wanted = max(math.ceil(size / WANTED_FILE_BYTES), least, 1)
    text = f"compact the files to about {units.size(WANTED_FILE_BYTES)}"
    after = what.replace("df.", f"df.repartition({wanted}).", 1)
    return wanted, data(text, what, after)


def machine(text: str) -> Remedy:
    """Give a change of the machine as a remedy."""
    return Remedy(kind="machine", text=text)
