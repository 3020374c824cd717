"""The setting that says into how many parts a shuffle is divided."""

from __future__ import annotations

from collections.abc import Mapping

from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Remedy
from pyrometer.simulation.measured import Stage

OF_SQL, OF_RDDS = "spark.sql.shuffle.partitions", "spark.default.parallelism"


def partitions(
    facts: Facts, stage: Stage, count: int, text: str, levels: Mapping[str, str] | None = None
) -> Remedy:
    """Divide the shuffle that a stage reads into as many parts, by the setting that it obeys.

    Parameters
    ----------
    levels : mapping of str to str, optional
        Further settings, of Spark SQL alone.
    """
    if facts.is_sql(stage):
        return Remedy(
            kind="factor", factor=OF_SQL, level=str(count), levels=dict(levels or {}), text=text
        )
    return Remedy(
        kind="factor", factor=OF_RDDS, level=str(count),
        text=f"{text}, where the code gives no number of its own",
    )  # fmt: skip
