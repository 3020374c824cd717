"""The whole of ``show --json`` and of ``ledger --json``."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from pyrometer.accounts.annotations import Account
from pyrometer.accounts.hardware.schema import Hardware
from pyrometer.accounts.hosts.schema import Hosts
from pyrometer.accounts.jvm.schema import JvmWork
from pyrometer.accounts.ledger.elapsed.schema import Elapsed
from pyrometer.accounts.ledger.schema import Ledger
from pyrometer.accounts.machine_schema import Cpu, Gc, HostContention, Instrument, Io
from pyrometer.accounts.memory import Code, Memory
from pyrometer.accounts.plan_schema import Sql
from pyrometer.accounts.schema import App, Failed, Iteration, Stage, Totals
from pyrometer.accounts.waits.schema import ExtendedStacks, IoLatency, Waits
from pyrometer.attribution.schema import (
    AttributionShares,
    Category,
    CpuBase,
    Helper,
    HugeMethod,
    Operator,
    Python,
    Unmapped,
)
from pyrometer.core.doubt import Doubt
from pyrometer.core.model import Model
from pyrometer.summary.failure import Failure
from pyrometer.window.windows import RunFacts, WindowFacts


class DisputedStage(Model):
    """The better number of one stage."""

    app_index: int
    stage_id: int
    stage_attempt: int
    better: int


class Disputed(Model):
    """A number that another source contradicts.

    Attributes
    ----------
    field : str
        Where it stands in the summary; ``stages.totals.…`` is a column of the stages.
    value, better : int or None
        The number, and what to read instead; None where that is not known.
    better_source : str
        Where the better number is from, in words that follow it.
    why : str
        What is wrong with the number.
    doubt : str or None
        Code of the doubt that says so; None where the number is what Spark defines, but not what
        its name says.
    stages : list of DisputedStage
        Of a column of the stages, the rows that lack most, of ``stages_count``.
    """

    field: str
    value: int | None = None
    better: int | None = None
    better_source: str
    why: str
    doubt: str | None = None
    stages: list[DisputedStage] = Field(default_factory=list)
    stages_count: int = 0


class Summary(Model):
    """Everything that ``pyrometer show`` knows about one window of a run."""

    schema_name: str = Field(default="pyrometer/show/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    windows: list[str] = Field(default_factory=list)
    verdict: str = ""
    next_step: str | None = None
    failure: Failure | None = None
    elapsed: Elapsed = Field(default_factory=Elapsed)
    totals: Totals
    failed: Failed
    disputed: list[Disputed] = Field(default_factory=list)
    apps: list[App] = Field(default_factory=list)
    iterations: list[Iteration] = Field(default_factory=list)
    stages: list[Stage] = Field(default_factory=list)
    hosts: Hosts = Field(default_factory=Hosts)
    sql: list[Sql] = Field(default_factory=list)
    cpu_base: CpuBase = Field(default_factory=CpuBase)
    operators: list[Operator] = Field(default_factory=list)
    unmapped: Unmapped = Field(default_factory=Unmapped)
    helpers: list[Helper] = Field(default_factory=list)
    told: AttributionShares = Field(default_factory=AttributionShares)
    too_large_to_compile: list[HugeMethod] = Field(default_factory=list)
    categories: list[Category] = Field(default_factory=list)
    cpu: Cpu = Field(default_factory=Cpu)
    contention: HostContention = Field(default_factory=HostContention)
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

    model_config = ConfigDict(populate_by_name=True)
