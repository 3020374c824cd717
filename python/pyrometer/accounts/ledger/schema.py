"""Rows, views and checks of the ledger.

Ledgers of parts of a run, of one task against others, and differences of two sides.

The structure of ledger --json.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from pyrometer.accounts.machine_schema import Method
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model
from pyrometer.window.windows import RunFacts, WindowFacts

NO_AGENTS = "not observed, no agent on these hosts"
"""Why a run of which no host was observed has no core view."""


class Row(Model):
    """One row of a ledger.

    Attributes
    ----------
    path : str
        Names from the top, separated by ``/``.
    parent : str or None
        Path of the row that this one is a part of.
    value_ns, low_ns, high_ns : int or None
        Time and its interval; an exact counter has no interval.
    n : int or None
        Readings, samples or attempts behind it.
    method : str
        ``exact``, ``sampled``, ``apportioned``, ``by_complement`` or ``unavailable``.
    source : str
        Where it comes from, or why it is missing.
    share : float or None
        Of the view's total.
    """

    path: str
    parent: str | None = None
    value_ns: int | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    n: int | None = None
    method: Method = "exact"
    source: str = ""
    share: float | None = None


class View(Model):
    """One view of the ledger: every slot- or core-second of a window once.

    ``ended_by`` is a second breakdown of time asleep, by who ended it; it is never added to the
    rows.
    """

    window: str
    total_ns: int | None = None
    rows: list[Row] = Field(default_factory=list)
    memos: list[Row] = Field(default_factory=list)
    ended_by: list[Row] = Field(default_factory=list)
    closure_ratio: float | None = None
    unclassified_ratio: float | None = None
    sampling_error_ratio: float | None = None
    resolution_ns: int | None = None
    reason: str | None = None


class HostLedger(Model):
    """The account of one of several hosts.

    Attributes
    ----------
    host : str
        Its name.
    together : list of str
        Of many hosts, those that have this account together; empty where it is one's own.
    observed : bool
        Whether a probe ran there, and its times are known.
    tier : str or None
        How well its probes saw threads, of several the worst.
    observed_by : list of str
        Whose probes observed it, and at which tier each.
    pods : list of str
        Pods and containers on it whose streams bear other names than its own.
    same_machine : list of str
        Other hosts of the run that are the same machine, such as pods that no agent saw: one of
        them has its account.
    cpus_count : int or None
        Its CPUs.
    clock : str or None
        How its clock was compared with the axis: ``axis``, ``messages``, ``wall``, ``unknown``;
        ``mixed`` of hosts together.
    bound_ns : int or None
        In the window none of its times is further off; ``None`` where nothing bounds it.
    core_view : View
        Its CPUs × wall.
    slot_view : View
        Slots of the executors there × wall.
    """

    host: str
    together: list[str] = Field(default_factory=list)
    observed: bool
    tier: str | None = None
    observed_by: list[str] = Field(default_factory=list)
    pods: list[str] = Field(default_factory=list)
    same_machine: list[str] = Field(default_factory=list)
    cpus_count: int | None = None
    clock: str | None = None
    bound_ns: int | None = None
    core_view: View
    slot_view: View


class Check(Model):
    """Two sources for the same quantity, compared."""

    name: str
    left_ns: int | None
    right_ns: int | None
    difference_ratio: float | None
    ok: bool | None
    explanation: str


class Ledger(Model):
    """The three views and the cross-checks; ``elapsed_view`` is along the critical path.

    Of several hosts ``core_view`` is the sum, and ``hosts`` has each.
    """

    slot_view: View
    core_view: View
    elapsed_view: View
    checks: list[Check] = Field(default_factory=list)
    hosts: list[HostLedger] = Field(default_factory=list)


Part = Literal["iteration", "sql", "stage", "operator", "task"]


class LedgerGroup(Model):
    """The slot view of one part of a run.

    Attributes
    ----------
    by : str
        What kind of part.
    label : str
        What to call it.
    rest : bool
        All parts that are not shown one by one, together.
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


class RowDifference(Model):
    """One row of two ledgers: B against A, per unit of the comparison.

    ``share`` is the difference over that of the totals; ``None`` where these do not differ. Of a
    time that one side did not measure there is no difference, and ``reason`` says why.
    """

    path: str
    parent: str | None = None
    a_ns: float | None
    b_ns: float | None
    difference: Estimate
    share: float | None = None
    reason: str | None = None


class Side(Model):
    """The runs of one side, and how many units they are."""

    runs: list[str]
    n: int


class LedgerDifference(Model):
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


class Fact(Model):
    """A quantity of the slowest task, and the same of the middle ones."""

    name: str
    unit: str
    task: float | str | None
    middle: float | str | None


class SlowestTask(Model):
    """The slowest task of a stage against the middle: the mean of tasks around the median.

    Attributes
    ----------
    task, middle : LedgerGroup
        The task, and the mean of ``middle.tasks_count`` tasks.
    differences : list of RowDifference
        B is the task, A the middle; largest first.
    ended_by : list of RowDifference
        The same of time asleep by who ended it (tier T0).
    facts : list of Fact
        From the event log of both.
    why : list of str
        The largest differences in words.
    """

    task: LedgerGroup
    middle: LedgerGroup
    differences: list[RowDifference] = Field(default_factory=list)
    ended_by: list[RowDifference] = Field(default_factory=list)
    facts: list[Fact] = Field(default_factory=list)
    why: list[str] = Field(default_factory=list)


class LedgerReport(Model):
    """Structure of ``ledger --json``.

    ``groups`` are the parts that ``by`` asked for, of ``groups_count`` in all; the views are of the
    whole window, or of what a filter kept of it. ``hosts`` has the account of each, where a run has
    several.
    """

    schema_name: str = Field(default="pyrometer/ledger/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    by: Part | None = None
    slot_view: View
    core_view: View
    elapsed_view: View
    checks: list[Check] = Field(default_factory=list)
    hosts: list[HostLedger] = Field(default_factory=list)
    groups: list[LedgerGroup] = Field(default_factory=list)
    groups_count: int | None = None
    slowest_task: SlowestTask | None = None
    against: LedgerDifference | None = None
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = ConfigDict(populate_by_name=True)
