"""Groupings: which task attempts belong together.

``l_groups`` maps each task of a grouping to a number from 0; a task that it lacks is left out. The
window is the grouping of everything, with what ran between tasks (``task`` is null there).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyrometer.analyse.scope import Scope

By = Literal["sql", "stage", "task"]
KEYS: dict[By, tuple[str, ...]] = {
    "sql": ("app_index", "sql_id"),
    "stage": ("app_index", "stage_id", "stage_attempt"),
    "task": ("app_index", "stage_id", "stage_attempt", "task_attempt_id"),
}
REST = "rest"


@dataclass(frozen=True)
class Only:
    """Task attempts to look at; ``None`` leaves a column free.

    Attributes
    ----------
    app_index, stage_id, stage_attempt, sql_id, task_attempt_id : int or None
        What they have to be.
    """

    app_index: int | None = None
    stage_id: int | None = None
    stage_attempt: int | None = None
    sql_id: int | None = None
    task_attempt_id: int | None = None

    def where(self) -> str:
        """Give the SQL condition on ``l_tasks t``."""
        parts = [f"t.{name} = {int(v)}" for name, v in vars(self).items() if v is not None]
        return " AND ".join(parts) or "true"

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return all(value is None for value in vars(self).values())


@dataclass(frozen=True)
class Group:
    """One group of a grouping: its number in ``l_groups``, and what its tasks have in common.

    ``keys`` is empty for the window and for the rest of a grouping that was cut.
    """

    number: int
    keys: dict[str, int | None]
    tasks_count: int


def group_all(scope: Scope, only: Only | None = None) -> list[Group]:
    """Put all tasks that ``only`` keeps into one group; unasked, the whole window."""
    if only is None or only.everything:
        sql = "SELECT task, 0 AS number FROM l_tasks UNION ALL SELECT NULL, 0"
    else:
        sql = f"SELECT task, 0 AS number FROM l_tasks t WHERE {only.where()}"
    scope.tables.define("l_groups", sql)
    n = int(scope.tables.scalar("SELECT count(task) FROM l_groups"))
    return [Group(0, {}, n)]


def group_by(scope: Scope, by: By, only: Only, most: int) -> tuple[list[Group], int]:
    """Group tasks; those with most time by themselves, all others together in a last group.

    Parameters
    ----------
    by : str
        What tasks of one group share.
    only : Only
        Tasks to look at.
    most : int
        Groups that are told apart.

    Returns
    -------
    list of Group
        Largest first; the rest, without keys, last.
    int
        How many groups there are in all.
    """
    keys = ", ".join(KEYS[by])
    known = " AND ".join(f"{key} IS NOT NULL" for key in KEYS[by][1:2])
    scope.tables.define(
        "l_ranked",
        f"SELECT *, row_number() OVER (ORDER BY time DESC, {keys}) - 1 AS number FROM"
        f" (SELECT {keys}, coalesce(sum(took_ns), sum(wall_ns), 0) AS time, count(*) AS n"
        f"  FROM l_tasks t WHERE {only.where()} AND {known} GROUP BY {keys})",
    )
    same = " AND ".join(f"t.{key} IS NOT DISTINCT FROM r.{key}" for key in KEYS[by])
    scope.tables.define(
        "l_groups",
        f"SELECT t.task, coalesce(least(r.number, {most}), {most}) AS number FROM l_tasks t"
        f" LEFT JOIN l_ranked r ON {same} WHERE {only.where()}",
    )
    found = [
        Group(int(number), dict(zip(KEYS[by], values, strict=True)), int(n))
        for *values, number, n in scope.tables.query(
            f"SELECT {keys}, number, n FROM l_ranked WHERE number < {most} ORDER BY number"
        )
    ]
    rest = int(scope.tables.scalar(f"SELECT count(*) FROM l_groups WHERE number = {most}"))
    if rest:
        found.append(Group(most, {}, rest))
    return found, int(scope.tables.scalar("SELECT count(*) FROM l_ranked"))
