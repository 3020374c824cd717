"""The whole of ``show --json`` and of ``ledger --json``."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.model.account import Account
from pyrometer.analyse.model.extended_stacks import ExtendedStacks
from pyrometer.analyse.model.hardware import Hardware
from pyrometer.analyse.model.jvm import JvmWork
from pyrometer.analyse.model.ledger import Check, Ledger, View
from pyrometer.analyse.model.ledger_parts import (
    LedgerDifference,
    LedgerGroup,
    Part,
    SlowestTask,
)
from pyrometer.analyse.model.machine import Cpu, Gc, Instrument, Io
from pyrometer.analyse.model.operators import Category, Helper, HugeMethod, Operator, Told, Unmapped
from pyrometer.analyse.model.python import Python
from pyrometer.analyse.model.resources import Code, Memory
from pyrometer.analyse.model.run import RunFacts, WindowFacts
from pyrometer.analyse.model.spark import App, Failed, Iteration, Sql, Stage, Totals
from pyrometer.analyse.model.waits import IoLatency, Waits
from pyrometer.doubt import Doubt


class Summary(BaseModel):
    """Everything that ``pyrometer show`` knows about one window of a run."""

    schema_name: str = Field(default="pyrometer/show/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    windows: list[str] = Field(default_factory=list)
    verdict: str = ""
    totals: Totals
    failed: Failed
    apps: list[App] = Field(default_factory=list)
    iterations: list[Iteration] = Field(default_factory=list)
    stages: list[Stage] = Field(default_factory=list)
    sql: list[Sql] = Field(default_factory=list)
    operators: list[Operator] = Field(default_factory=list)
    unmapped: Unmapped = Field(default_factory=Unmapped)
    helpers: list[Helper] = Field(default_factory=list)
    told: Told = Field(default_factory=Told)
    too_large_to_compile: list[HugeMethod] = Field(default_factory=list)
    categories: list[Category] = Field(default_factory=list)
    cpu: Cpu = Field(default_factory=Cpu)
    io: Io = Field(default_factory=Io)
    io_latency: list[IoLatency] = Field(default_factory=list)
    waits: Waits = Field(default_factory=Waits)
    gc: Gc = Field(default_factory=Gc)
    memory: Memory = Field(default_factory=Memory)
    code: Code = Field(default_factory=Code)
    jvm: JvmWork = Field(default_factory=JvmWork)
    hardware: Hardware = Field(default_factory=Hardware)
    python: Python = Field(default_factory=Python)
    extended_stacks: ExtendedStacks = Field(default_factory=ExtendedStacks)
    ledger: Ledger
    account: Account | None = None
    instruments: list[Instrument] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = {"populate_by_name": True}


class LedgerReport(BaseModel):
    """Structure of ``ledger --json``.

    ``groups`` are the parts that ``by`` asked for, of ``groups_count`` in all; the views are of the
    whole window, or of what a filter kept of it.
    """

    schema_name: str = Field(default="pyrometer/ledger/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    by: Part | None = None
    slot_view: View
    core_view: View
    checks: list[Check] = Field(default_factory=list)
    groups: list[LedgerGroup] = Field(default_factory=list)
    groups_count: int | None = None
    slowest_task: SlowestTask | None = None
    against: LedgerDifference | None = None
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = {"populate_by_name": True}
