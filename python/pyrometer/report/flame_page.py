"""The flame graph of a run as a page of its own."""

from __future__ import annotations

from pathlib import Path

from pyrometer.analyse.scope import Scope
from pyrometer.analyse.told import define_told
from pyrometer.analyse.windows import APPLICATION, MEASURED, choose, windows
from pyrometer.errors import UsageError
from pyrometer.report.axis import find_axis
from pyrometer.report.data import alone
from pyrometer.report.flame import fold, pack_flame
from pyrometer.report.flame_asked import Asked
from pyrometer.report.flame_view import SCHEMA, FlameView, view_of
from pyrometer.report.pack import Pack
from pyrometer.report.page import write_page
from pyrometer.store import Run

# Facts of an event that the page holds; a report, which holds much else, has fewer.
MAX_FACTS = 1_000_000


def write_flame(
    run: str | Path, path: str | Path | None = None, asked: Asked | None = None
) -> FlameView:
    """Write the page, and add up what it opens with.

    Parameters
    ----------
    run : str or Path
        A run directory.
    path : str or Path, optional
        The file to write. Unasked: ``flame.html`` in the run directory.
    asked : Asked, optional
        Samples and dimensions that the page opens with.

    Raises
    ------
    UsageError
        If there is no run at ``run``, if it has no samples or lacks what is asked for, or if the
        file cannot be written.
    """
    target = Path(path) if path is not None else Path(run) / "flame.html"
    asked = asked or Asked()
    with Run.open(run) as opened:
        tables = opened.tables
        none = UsageError(
            f"{run}: no profiler samples, so there is no flame graph",
            "pyrometer run --profile full …",
        )
        if tables is None or not tables.has("samples"):
            raise none
        window = next((w for w in windows(opened) if w.name == MEASURED), None)
        measured = window.iterations if window else ()
        define_told(Scope(opened, choose(opened, APPLICATION)))
        pack, deep = Pack(), Pack()
        folded = fold(tables, MAX_FACTS)
        if folded is None:
            raise none
        flame = pack_flame(tables, folded, pack, find_axis(tables, opened.facts()), deep)
        chosen = asked.settled(tables, measured)
        if asked != Asked():
            flame["opening"] = chosen.link(measured)
        made = view_of(tables, folded, chosen, str(run), flame["note"])
        apps = tables.records("SELECT app_name, spark_version FROM apps")
        summary = {"apps": apps, "window": window.facts().model_dump() if window else None}
        data = alone(SCHEMA, summary, opened.facts(), flame, pack, deep)
    size = write_page(data, target)
    return made.model_copy(update={"page": str(target), "size_bytes": size})
