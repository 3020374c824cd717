"""Results of trials held against those of the job as it is: as far as that agrees with itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyrometer.core import units
from pyrometer.experiments.folder import Ended


@dataclass(frozen=True)
class Agreed:
    """What runs of the job as it is agree on; ``None``: they do not, or none of them knows it.

    Attributes
    ----------
    rows, checksum
        Of the result, where it is declared.
    written : float or None
        Rows that the tasks of an iteration wrote, of a command those of all of it.
    jobs : bool
        Whether each of them had jobs of Spark.
    different, runs : int
        How many results they gave, in how many runs.
    """

    rows: int | None = None
    checksum: str | None = None
    written: float | None = None
    jobs: bool = False
    different: int = 0
    runs: int = 0

    def surely(self) -> Agreed:
        """Give what holds of them whether or not their checksum repeats: one run does not show."""
        return self if self.runs > 1 else replace(self, checksum=None)


def agreed(runs: Iterable[Ended]) -> Agreed:
    """Say what runs of the job as it is agree on."""
    known = [one for one in runs if one.status == "finished"]
    rows = {one.rows for one in known if one.rows is not None}
    checksums = {one.checksum for one in known if one.checksum is not None}
    written = {found for one in known if (found := written_by(one)) is not None}
    return Agreed(
        rows=rows.pop() if len(rows) == 1 else None,
        checksum=checksums.pop() if len(checksums) == 1 else None,
        written=written.pop() if len(written) == 1 else None,
        jobs=bool(known) and all(one.work.get("jobs") for one in known),
        different=len({(one.rows, one.checksum) for one in known if one.checksum is not None}),
        runs=sum(one.checksum is not None for one in known),
    )


def written_by(one: Ended) -> float | None:
    """Rows that an iteration of a trial wrote; ``None`` where no event log says so."""
    written = one.work.get("rows_written")
    return None if written is None else written / max(1, len(one.series_s))


def another(right: Agreed, one: Ended) -> str | None:
    """Say how the result of a trial is not that of the job as it is; ``None``: nothing shows it."""
    rows = right.rows is not None and one.rows not in (None, right.rows)
    if rows or (right.checksum is not None and one.checksum not in (None, right.checksum)):
        return (
            f"another result: {_result(one.rows, one.checksum)}; the baseline has"
            f" {_result(right.rows, right.checksum)}"
        )
    written = written_by(one)
    if right.written is not None and written is not None and written != right.written:
        return (
            f"another result: it wrote {units.counted(round(written), 'row')}; the baseline writes"
            f" {units.count(round(right.written))}"
        )
    if right.jobs and one.work.get("jobs") == 0:
        return "another result: it ran no job of Spark; the baseline does"
    return None


def _result(rows: int | None, checksum: str | None) -> str:
    said = [] if rows is None else [units.counted(rows, "row")]
    return ", ".join([*said, *([] if checksum is None else [f"checksum {checksum}"])])


def result_of(right: Agreed, one: Ended) -> str | None:
    """Give the result of a trial as far as it is compared; ``None`` where nothing is."""
    if right.checksum is not None and one.checksum is not None:
        return f"{one.rows} {one.checksum}"
    if right.rows is not None and one.rows is not None:
        return f"{one.rows} rows"
    written = written_by(one)
    return None if right.written is None or written is None else f"{round(written)} rows written"


def not_compared(right: Agreed) -> str | None:
    """Say what of results could not be compared, for the verdict; ``None``: all of them were.

    Examples
    --------
    >>> not_compared(Agreed(rows=10, checksum="aa")), not_compared(Agreed())
    (None, 'results not compared')
    >>> not_compared(Agreed(rows=10, different=3))
    'of results only the number of rows compared'
    >>> not_compared(Agreed(written=10.0))
    'results not compared, only how many rows were written'
    """
    if right.checksum is not None:
        return None
    if right.rows is not None:
        return "of results only the number of rows compared"
    if right.written:
        return "results not compared, only how many rows were written"
    return "results not compared"
