"""What was sampled in the runs of one side: sums by frame, operator and expression, and paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.window import facts
from pyrometer.core.errors import UsageError
from pyrometer.flame.difference.paths import WHOLE_WINDOW, define_paths
from pyrometer.statistics.profiles import Side
from pyrometer.store import Run
from pyrometer.store.imported import PROFILE
from pyrometer.window.scope import Scope
from pyrometer.window.windows import RunFacts, choose

Kind = Literal["whole", "self", "total", "operator", "expression"]
Repetition = Literal["iteration", "run"]
Key = tuple[Kind, str, str]  # with event and name
MAX_PATHS = 150_000
REST = "[lightest stacks, left out]"

_SUMS = "sum(weight) AS weight, sum(squares) AS squares, sum(n)::BIGINT AS n"
_BY_KIND = f"""
    SELECT 'whole' AS kind, event, '' AS name, iteration, {_SUMS} FROM path_samples GROUP BY ALL
    UNION ALL
    SELECT 'self', event, name, iteration, {_SUMS} FROM path_samples
        JOIN (SELECT path, arg_max(name_id, place) AS name_id FROM path_frames GROUP BY path)
        USING (path) JOIN frame_texts USING (name_id) GROUP BY ALL
    UNION ALL
    SELECT 'total', event, name, iteration, {_SUMS} FROM path_samples
        JOIN (SELECT DISTINCT path, name_id FROM path_frames) USING (path)
        JOIN frame_texts USING (name_id) GROUP BY ALL
    UNION ALL
    SELECT 'operator', event, operator, iteration, {_SUMS} FROM path_samples
        WHERE operator IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT 'expression', event, operator || ': ' || expression, iteration, {_SUMS}
        FROM path_samples WHERE expression IS NOT NULL AND operator IS NOT NULL GROUP BY ALL
"""
# The heaviest paths over all iterations; the rest is one path.
_PATHS = f"""
    WITH ranked AS (
        SELECT path, row_number() OVER (ORDER BY sum(weight) DESC, path) AS rank
        FROM path_samples GROUP BY path
    )
    SELECT CASE WHEN rank > {MAX_PATHS} THEN -1 ELSE path END AS path, event, iteration, {_SUMS}
    FROM path_samples JOIN ranked USING (path) GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True)
class Paths:
    """Stacks of a run: ``frame`` (flat, root first) of ``path`` (ascending), and their samples."""

    names: list[str]
    path: npt.NDArray[np.int64]
    frame: npt.NDArray[np.int64]
    samples: dict[str, Any]


@dataclass(frozen=True)
class Sampled:
    """One run: its measured iterations (one for a window without) and sums by kind and name."""

    facts: RunFacts
    iterations: tuple[int, ...]
    sums: dict[str, Any]
    paths: Paths | None


def read_side(runs: Sequence[Path], with_paths: bool = False) -> list[Sampled]:
    """Read the runs of one side, one after the other.

    Raises
    ------
    UsageError
        If a run has no samples of CPU or wall time in its measured iterations.
    """
    return [_read(path, with_paths) for path in runs]


def _read(path: Path, with_paths: bool) -> Sampled:
    with Run.open(path) as run:
        window = choose(run, None)
        scope = Scope(run, window)
        define_paths(scope)
        tables = scope.tables
        sums = tables.columns(_BY_KIND)
        if not len(sums["kind"]):
            raise _nothing(path, run, window.name)
        return Sampled(
            facts(run),
            window.iterations or (WHOLE_WINDOW,),
            sums,
            _paths(scope) if with_paths else None,
        )


def _nothing(path: Path, run: Run, window: str) -> UsageError:
    """Say that nothing can be compared, and of an imported profile what it has instead."""
    message = f"{path}: no samples of CPU or wall time in its window {window!r}"
    if run.manifest is None or run.manifest.profile != PROFILE:
        return UsageError(message, "sample stacks with pyrometer run --profile full …")
    sampled = run.tables.query("SELECT DISTINCT event, unit FROM samples ORDER BY ALL")
    has = ", ".join(f"{event} in {unit}" for event, unit in sampled)
    return UsageError(
        f"{message}, only {has}: differences are of times",
        "import one in nanoseconds: perf's cpu-clock, or folded stacks of times with --unit ns",
    )


def _paths(scope: Scope) -> Paths:
    tables = scope.tables
    tables.define("kept_paths", _PATHS)
    frames = tables.columns(
        "SELECT path, name_id FROM path_frames"
        " SEMI JOIN kept_paths USING (path) ORDER BY path, place"
    )
    names = [row[0] for row in tables.query("SELECT name FROM frame_texts ORDER BY name_id")]
    path, frame = frames["path"].astype(np.int64), frames["name_id"].astype(np.int64)
    samples = tables.columns("SELECT * FROM kept_paths")
    if (samples["path"] == -1).any():
        path = np.concatenate(([-1], path))
        frame = np.concatenate(([len(names)], frame))
        names.append(REST)
    return Paths(names, path, frame, samples)


def repetition_of(a: Sequence[Sampled], b: Sequence[Sampled]) -> Repetition:
    """Choose replicates: runs if a side has several, as their iterations are not independent."""
    return "run" if max(len(a), len(b)) > 1 else "iteration"


class Columns:
    """Column of each iteration of a run in a side's matrices, and its weight there."""

    def __init__(self, runs: Sequence[Sampled], repetition: Repetition) -> None:
        self._at: list[dict[int, int]] = []
        self.share: list[float] = []
        n = 0
        for run in runs:
            if repetition == "run":
                self._at.append(dict.fromkeys(run.iterations, n))
                self.share.append(1 / len(run.iterations))
                n += 1
            else:
                self._at.append({i: n + place for place, i in enumerate(run.iterations)})
                self.share.append(1.0)
                n += len(run.iterations)
        self.n = n
        self.iterations = sum(len(run.iterations) for run in runs)

    def of(self, run: int, iterations: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Columns of samples of a run; -1 for those of no measured iteration."""
        at = self._at[run]
        return np.array([at.get(int(i), -1) for i in iterations], np.int64)


class Sums:
    """Time, sampling variance and samples of rows in the repetitions of one side."""

    def __init__(self, rows: int, columns: Columns) -> None:
        self.columns = columns
        self.time = np.zeros((rows, columns.n))
        self.squares = np.zeros((rows, columns.n))
        self.n = np.zeros(rows, np.int64)

    def add(self, run: int, rows: npt.NDArray[np.int64], found: dict[str, Any]) -> None:
        """Add the columns ``iteration``, ``weight``, ``squares`` and ``n`` of a run to rows."""
        at = self.columns.of(run, found["iteration"])
        share = self.columns.share[run]
        rows, at, keep = rows[at >= 0], at[at >= 0], at >= 0
        np.add.at(self.time, (rows, at), found["weight"][keep].astype(float) * share)
        np.add.at(self.squares, (rows, at), found["squares"][keep].astype(float) * share**2)
        np.add.at(self.n, rows, found["n"][keep].astype(np.int64))


def sides(
    a: Sums, b: Sums, which: npt.NDArray[np.int64], whole: int | tuple[Sums, Sums, int]
) -> tuple[Side, Side]:
    """Build the sides of some rows, with one more sample of the usual weight for each.

    Parameters
    ----------
    a, b : Sums
        Both sides.
    which : array of int
        The rows.
    whole : int or (Sums, Sums, int)
        The row of everything sampled, here or in other sums.
    """
    in_a, in_b, place = whole if isinstance(whole, tuple) else (a, b, whole)
    time = a.time[which].sum(axis=1) + b.time[which].sum(axis=1)
    squares = a.squares[which].sum(axis=1) + b.squares[which].sum(axis=1)
    weight = np.divide(squares, time, out=np.zeros_like(time), where=time > 0)
    found = []
    for side, total in ((a, in_a), (b, in_b)):
        more = (weight**2 / side.columns.n)[:, None]
        found.append(
            Side(
                side.time[which], side.squares[which] + more,
                total.time[place], total.squares[place], side.columns.iterations,
            )
        )  # fmt: skip
    return found[0], found[1]
