"""Structure of ``show --source --json``: generated source around the lines that CPU went to."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.model.run import RunFacts, WindowFacts
from pyrometer.doubt import Doubt
from pyrometer.estimate import Estimate


class SourceLine(BaseModel):
    """One line of generated code; what it calls counts as its CPU.

    Attributes
    ----------
    share : float
        Of the window's task CPU.
    operator, node_id, expression : optional
        What the line is for; ``None`` where the source does not tell.
    """

    line: int
    text: str
    samples_count: int = 0
    on_cpu_ns: int | None = None
    on_cpu: Estimate | None = None
    share: float | None = None
    operator: str | None = None
    node_id: int | None = None
    expression: str | None = None


class HotSource(BaseModel):
    """One generated stage and the excerpts of it that hold its hottest lines.

    Attributes
    ----------
    candidates_count : int
        Sources that fit the plan and the samples equally well; this is the first of them.
    hidden_lines_count : int
        Sampled lines that no excerpt shows.
    """

    source_id: int
    class_name: str
    codegen_stage_id: int
    app_index: int | None = None
    sql_ids: list[int] = Field(default_factory=list)
    operators: list[str] = Field(default_factory=list)
    candidates_count: int = 1
    lines_count: int
    max_method_bytes: int | None = None
    samples_count: int
    on_cpu_ns: int | None = None
    on_cpu: Estimate | None = None
    share: float | None = None
    excerpts: list[list[SourceLine]] = Field(default_factory=list)
    hidden_lines_count: int = 0


class SourceReport(BaseModel):
    """Everything that ``show --source`` knows; ``reason`` says why there is nothing."""

    schema_name: str = Field(default="pyrometer/source/1", alias="schema")
    run: RunFacts
    window: WindowFacts
    sources: list[HotSource] = Field(default_factory=list)
    hidden_sources_count: int = 0
    reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)

    model_config = {"populate_by_name": True}
