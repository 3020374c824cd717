"""Times of event logs on one wall clock, where drivers on several hosts wrote them by their own."""

from __future__ import annotations

from pyrometer.core import schema

OF_DRIVERS = "LEFT JOIN axis_drivers d USING (app_index)"


def drivers(recorded: str) -> str:
    """Write the query of ``axis_drivers``: applications that another wall clock timed.

    Another than that of the axis's host; ``wall_offset_ns`` is how much it was behind.

    Parameters
    ----------
    recorded : str
        Schema of the tables as they were recorded.
    """
    return (
        "SELECT a.app_index, min(h.wall_offset_ns) AS wall_offset_ns"
        f" FROM {recorded}.processes p JOIN {recorded}.apps a USING (app_id)"
        " JOIN axis_hosts h ON h.name = p.host"
        " WHERE p.role = 'driver' AND h.number > 0 AND h.wall_offset_ns <> 0"
        " GROUP BY a.app_index HAVING count(DISTINCT h.host) = 1"
    )


def logged_times(table: schema.Table) -> dict[str, str]:
    """Give times of a driver's log as the wall clock of the axis's host shows them, by column."""
    names = [column.name for column in table.columns]
    if "app_index" not in names:
        return {}
    behind = "::HUGEINT + coalesce(d.wall_offset_ns, 0)"
    return {
        name: f'TRY_CAST(r."{name}"{behind} AS BIGINT)'
        for name in names if name.endswith("_wall_ns")
    }  # fmt: skip
