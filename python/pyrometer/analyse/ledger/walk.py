"""Ledgers to walk down through: stages of a window, their operators and tasks, the slowest ones."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.ledger.groups import Only
from pyrometer.analyse.ledger.parts import operators, parts
from pyrometer.analyse.ledger.slowest import slowest_task
from pyrometer.analyse.model.ledger_parts import LedgerGroup, SlowestTask
from pyrometer.analyse.scope import Scope
from pyrometer.errors import UsageError

# What a person looks at, and what a page can hold: the rest is one part, and told.
STAGES = 24
DEEPER = 10
OPERATORS = 12
TASKS = 10


class WalkedStage(BaseModel):
    """What is below a stage.

    ``slowest`` is ``None`` where its tasks have nothing beside them.
    """

    app_index: int | None
    stage_id: int
    stage_attempt: int | None
    operators: list[LedgerGroup] = Field(default_factory=list)
    operators_count: int = 0
    tasks: list[LedgerGroup] = Field(default_factory=list)
    tasks_count: int = 0
    slowest: SlowestTask | None = None


class Walk(BaseModel):
    """The stages of a window, and what is below those with most time."""

    stages: list[LedgerGroup] = Field(default_factory=list)
    stages_count: int = 0
    below: list[WalkedStage] = Field(default_factory=list)


def walk(scope: Scope) -> Walk:
    """Account for the stages of a window, and below the largest for operators and tasks."""
    stages, count = parts(scope, "stage", most=STAGES)
    found = Walk(stages=stages, stages_count=count)
    for stage in [one for one in stages if not one.rest][:DEEPER]:
        assert stage.stage_id is not None
        only = Only(
            app_index=stage.app_index,
            stage_id=stage.stage_id,
            stage_attempt=stage.stage_attempt,
        )
        below = WalkedStage(
            app_index=stage.app_index, stage_id=stage.stage_id, stage_attempt=stage.stage_attempt
        )
        below.operators, below.operators_count = operators(scope, only, OPERATORS)
        below.tasks, below.tasks_count = parts(scope, "task", only, TASKS, OPERATORS)
        try:
            below.slowest = slowest_task(scope, stage.stage_id)
        except UsageError:
            below.slowest = None
        found.below.append(below)
    return found
