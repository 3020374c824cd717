"""The flame graph of a run as a separate page.

Frames by self and total weight, over a tree of stacks.

The selected samples as numbers: hottest frames and groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from pyrometer.attribution.samples import define_stack_labels
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.flame.facts import FOLDED
from pyrometer.flame.names import runners
from pyrometer.flame.pack import Folded, fold, pack_flame
from pyrometer.flame.selection import Chosen, Selection
from pyrometer.flame.tree import Ints
from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.pages.page import alone, write_page
from pyrometer.statistics.shares import LEVEL, wilson
from pyrometer.store import Run
from pyrometer.store.remote.opened import address, beside, place_of
from pyrometer.store.tables import Tables
from pyrometer.window.scope import Scope
from pyrometer.window.windows import APPLICATION, MEASURED, choose, windows

# Frames of the tree that are processed together, to limit memory.
_BLOCK = 4_000_000
# A frame with more of the weight than this stands in practically all stacks.
ALL_SHARE = 0.995


@dataclass(frozen=True)
class HotFrame:
    """A frame by name: its self weight and its total; a recursive call counts once.

    ``decides``: what is spent under it is not simply all that is spent under its caller.
    """

    frame: str
    own: float
    total: float
    n: int
    decides: bool


def hottest(folded: Folded, chosen: npt.NDArray[np.bool_], most: int) -> list[HotFrame]:
    """Give the frames with the largest self weight, the largest total, and those that decide.

    Parameters
    ----------
    folded : Folded
        Samples on a tree.
    chosen : bool array
        Which facts count.
    most : int
        Frames by self, by total, and by total of those that decide, each.
    """
    tree, facts, names = folded.tree, folded.facts, len(folded.strings)
    size, leaf = tree.run.size, folded.leaf[chosen]
    weight, n = facts["weight"][chosen], facts["n"][chosen]
    own = np.bincount(leaf, weight, size)
    under, samples = (tree.under(np.bincount(leaf, column, size)) for column in (weight, n))
    last = tree.frame[np.cumsum(tree.run) - 1]
    self_of = np.bincount(last, own, names)
    total_of, n_of = np.zeros(names), np.zeros(names)
    for frame, run in _outermost(tree.frame, tree.run, tree.ends, under > 0, names):
        total_of += np.bincount(frame, under[run], names)
        n_of += np.bincount(frame, samples[run], names)
    decides = _decides(folded, total_of, n_of, float(weight.sum()))
    leading = {
        int(place)
        for column in (self_of, total_of, np.where(decides, total_of, 0))
        for place in np.argsort(-column, kind="stable")[:most]
        if column[place] > 0
    }
    found = [
        HotFrame(
            folded.strings[i], float(self_of[i]), float(total_of[i]), int(n_of[i]), bool(decides[i])
        )
        for i in leading
    ]
    return sorted(found, key=lambda row: (-row.own, -row.total, row.frame))


def _decides(
    folded: Folded,
    total: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64],
    whole: float,
) -> npt.NDArray[np.bool_]:
    """Tell which frames say where the weight went.

    Not those that all stacks share; nor runners (see `pyrometer.flame.names`), which only lead on;
    nor, of frames that always call one another, any but the first: they weigh the same.
    """
    able = (total > 0) & (total < ALL_SHARE * whole) & (runners(folded.strings) == 0)
    seen, first = np.unique(folded.tree.frame, return_index=True)
    place = np.full(total.size, folded.tree.frame.size, np.int64)
    place[seen] = first
    order = np.flatnonzero(able)
    order = order[np.lexsort((place[order], n[order], total[order]))]
    run = np.searchsorted(np.cumsum(folded.tree.run), place[order], "right")
    found = np.zeros(total.size, np.bool_)
    caller, until = (-1.0, -1.0), -1  # weights of the last one that was found, end of its subtree
    for name, at in zip(order.tolist(), run.tolist(), strict=True):
        weighs = (float(total[name]), float(n[name]))
        if weighs != caller or at >= until:
            found[name], caller, until = True, weighs, int(folded.tree.ends[at])
    return found


def _outermost(
    frame: npt.NDArray[np.uint32],
    run: Ints,
    ends: Ints,
    weighs: npt.NDArray[np.bool_],
    names: int,
) -> Iterator[tuple[npt.NDArray[np.uint32], Ints]]:
    """Frames that are in no other frame of the same name, with their runs, in blocks of names.

    In pre-order, a frame is inside another of the same name if it begins before the furthest end
    of those so far.
    """
    runs = np.repeat(np.arange(run.size, dtype=np.int32), run)
    counts = np.cumsum(np.bincount(frame, minlength=names))
    low = 0
    while low < names:
        done = counts[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(counts, done + _BLOCK, "right")))
        place = np.flatnonzero((frame >= low) & (frame < high))
        place = place[weighs[runs[place]]]
        place = place[np.argsort(frame[place], kind="stable")]
        name, inside = frame[place], runs[place].astype(np.int64)
        # Offset names by more than any run, so that an end reaches no other name.
        apart = name.astype(np.int64) * (run.size + 1)
        reach = np.maximum.accumulate(ends[inside] + apart)
        nested = np.zeros(place.size, np.bool_)
        nested[1:] = inside[1:] + apart[1:] < reach[:-1]
        yield name[~nested], inside[~nested]
        low = high


SCHEMA: Final = "pyrometer/flame/1"
FRAMES_COUNT = 40
GROUPS_COUNT = 40


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class FlameFrame(_Model):
    """A frame by name; a recursive call counts once in its total.

    ``decides`` is false for frames that all stacks share, that only lead on to the next one (thread
    pools, Spark's task runner, iterators), or that weigh just what their caller weighs.
    """

    frame: str
    self_weight: float
    self_share: Estimate
    total_weight: float
    total_share: Estimate
    samples_count: int
    decides: bool


class FlameGroup(_Model):
    """Samples with the same values of the dimensions asked for, in their order; null: none."""

    values: list[str | int | None]
    weight: float
    share: Estimate
    samples_count: int


class FlameView(_Model):
    """Chosen samples of a run (``pyrometer/flame/1``); weights are in ``unit``."""

    schema_: Literal["pyrometer/flame/1"] = Field(default=SCHEMA, alias="schema")
    run_dir: str
    page: str | None = None
    size_bytes: int | None = None
    event: str
    unit: str
    iterations: list[int] | None
    serves: str | None
    by: list[str]
    weight: float
    samples_count: int
    groups: list[FlameGroup]
    frames: list[FlameFrame]
    note: str | None


def view_of(
    tables: Tables,
    folded: Folded,
    chosen: Chosen,
    run_dir: str,
    note: str | None = None,
) -> FlameView:
    """Sum the chosen samples of a run, after `facts_of` has folded them.

    Parameters
    ----------
    tables : Tables
        The run's tables, with the temporary ones of `facts_of`.
    folded : Folded
        The samples of the run.
    chosen : Chosen
        The selection.
    run_dir : str
        Run directory, as it is printed.
    note : str, optional
        What limits dropped.
    """
    tables.define("flame_chosen", f"SELECT * FROM {FOLDED} WHERE {chosen.condition}")
    # A tick of cpu and of wall has the weight of its event's step; of others a sample is a tick.
    ticks = "".join(f" WHEN '{event}' THEN {step}" for event, step in folded.facts["steps"].items())
    square = f"weight * CASE event{ticks} ELSE weight / n END" if ticks else "weight * weight / n"
    whole = tables.record(
        "SELECT coalesce(sum(weight), 0) AS weight, coalesce(sum(n), 0)::BIGINT AS n,"
        f" coalesce(sum({square}), 0) AS squares, any_value(unit) AS unit FROM flame_chosen"
    )
    weight = float(whole["weight"])
    # Kish's effective number (1965, Survey Sampling, 11.7): ticks of cpu and wall differ in weight.
    n = weight**2 / whole["squares"] if whole["squares"] else 0.0

    def share(part: float) -> Estimate:
        value = part / weight if weight else None
        low, high = wilson((value or 0.0) * n, n)
        return Estimate(value=value, low=low, high=high, level=LEVEL, n=round(n), method="wilson")

    return FlameView(
        run_dir=run_dir,
        event=chosen.event,
        unit=whole["unit"] or "ns",
        iterations=None if chosen.iterations is None else list(chosen.iterations),
        serves=chosen.serves,
        by=list(chosen.by),
        weight=weight,
        samples_count=int(whole["n"]),
        groups=[
            FlameGroup(
                values=[row[name] for name in chosen.by],
                weight=row["weight"],
                share=share(row["weight"]),
                samples_count=row["n"],
            )
            for row in _groups(tables, chosen.by)
        ],
        frames=[
            FlameFrame(
                frame=row.frame,
                self_weight=row.own,
                self_share=share(row.own),
                total_weight=row.total,
                total_share=share(row.total),
                samples_count=row.n,
                decides=row.decides,
            )
            for row in hottest(folded, chosen.facts(folded), FRAMES_COUNT)
        ],
        note=note,
    )


def _groups(tables: Tables, by: Sequence[str]) -> list[dict[str, Any]]:
    if not by:
        return []
    names = ", ".join(by)
    return tables.records(
        f"SELECT {names}, sum(weight) AS weight, sum(n)::BIGINT AS n FROM flame_chosen"
        f" GROUP BY {names} ORDER BY weight DESC, {names} LIMIT {GROUPS_COUNT}"
    )


# Most facts of an event on this page; a report, which holds much else, has fewer.
MAX_FACTS = 1_000_000


def write_flame(
    run: str | Path, path: str | Path | None = None, asked: Selection | None = None
) -> FlameView:
    """Write the page, and sum the samples that it opens with.

    Parameters
    ----------
    run : str or Path
        A run directory.
    path : str or Path, optional
        The file to write. Default: ``flame.html`` in the run directory; for a run at an
        address ``<run>.flame.html`` in the current directory.
    asked : Selection, optional
        Samples and dimensions that the page opens with.

    Raises
    ------
    UsageError
        If there is no run at ``run``, if it has no samples or lacks what is asked for, or if the
        file cannot be written.
    """
    run = place_of(run)
    target = Path(path) if path is not None else beside(run, "flame.html")
    asked = asked or Selection()
    with Run.open(run) as opened:
        tables = opened.tables
        none = UsageError(
            f"{address(run)}: no profiler samples, so there is no flame graph",
            "pyrometer run --profile full …",
        )
        if tables is None or not tables.has("samples"):
            raise none
        window = next((w for w in windows(opened) if w.name == MEASURED), None)
        measured = window.iterations if window else ()
        define_stack_labels(Scope(opened, choose(opened, APPLICATION)))
        pack, deep = Pack(), Pack()
        folded = fold(tables, MAX_FACTS)
        if folded is None:
            raise none
        flame = pack_flame(tables, folded, pack, find_axis(tables, opened.facts()), deep)
        chosen = asked.settled(tables, measured)
        if asked != Selection():
            flame["opening"] = chosen.link(measured)
        view = view_of(tables, folded, chosen, address(run), flame["note"])
        apps = tables.records("SELECT app_name, spark_version FROM apps")
        summary = {"apps": apps, "window": window.facts().model_dump() if window else None}
        data = alone(SCHEMA, summary, opened.facts(), flame, pack, deep)
    size = write_page(data, target)
    return view.model_copy(update={"page": str(target), "size_bytes": size})
