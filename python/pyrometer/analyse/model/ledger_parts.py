"""Ledgers of parts of a run, of one task beside others, and differences of two sides."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.analyse.model.ledger import View
from pyrometer.estimate import Estimate

Part = Literal["iteration", "sql", "stage", "operator", "task"]


class LedgerGroup(BaseModel):
    """The slot view of one part of a run.

    Attributes
    ----------
    by : str
        What kind of part.
    label : str
        What to call it.
    rest : bool
        All parts that are not told apart, together.
    app_index, iteration, sql_id, stage_id, stage_attempt, task_attempt_id : int or None
        Which part it is; ``operator`` is its name.
    tasks_count : int or None
        Task attempts in it.
    view : View
        Where their time went.
    operators : list of LedgerGroup
        Of a task in a report: its time in each operator.
    """

    by: Part
    label: str
    rest: bool = False
    app_index: int | None = None
    iteration: int | None = None
    sql_id: int | None = None
    stage_id: int | None = None
    stage_attempt: int | None = None
    task_attempt_id: int | None = None
    operator: str | None = None
    tasks_count: int | None = None
    view: View
    operators: list[LedgerGroup] = Field(default_factory=list)


class RowDifference(BaseModel):
    """One row of two ledgers: B beside A, per unit of the comparison.

    ``share`` is the difference over that of the totals; ``None`` where these do not differ.
    """

    path: str
    parent: str | None = None
    a_ns: float | None
    b_ns: float | None
    difference: Estimate
    share: float | None = None


class Side(BaseModel):
    """The runs of one side, and how many units they are."""

    runs: list[str]
    n: int


class LedgerDifference(BaseModel):
    """Two sides, row by row: ``pyrometer ledger RUN… --against RUN…``.

    ``unit`` says what a value is the mean of: runs (each the mean of its iterations), iterations of
    one run, or one window, whose intervals are those of its samples.
    """

    a: Side
    b: Side
    unit: Literal["run", "iteration", "window"]
    slot_view: list[RowDifference] = Field(default_factory=list)
    core_view: list[RowDifference] = Field(default_factory=list)
    reason: str | None = None


class Fact(BaseModel):
    """A quantity of the slowest task beside the same of the middle ones."""

    name: str
    unit: str
    task: float | str | None
    middle: float | str | None


class SlowestTask(BaseModel):
    """The slowest task of a stage beside its median: mean of the tasks around it.

    Attributes
    ----------
    task, middle : LedgerGroup
        The task, and the mean of ``middle.tasks_count`` tasks.
    differences : list of RowDifference
        B is the task, A the middle; largest first.
    ended_by : list of RowDifference
        The same of time asleep by who ended it (tier T0).
    facts : list of Fact
        What the event log tells of both.
    why : list of str
        The largest differences in words.
    """

    task: LedgerGroup
    middle: LedgerGroup
    differences: list[RowDifference] = Field(default_factory=list)
    ended_by: list[RowDifference] = Field(default_factory=list)
    facts: list[Fact] = Field(default_factory=list)
    why: list[str] = Field(default_factory=list)
