"""What was run, and which window of it numbers are about."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class RunFacts(BaseModel):
    """What ran, where and how it ended."""

    run_dir: str
    workload: str | None = None
    command: list[str] = Field(default_factory=list)
    variant: dict[str, Any] = Field(default_factory=dict)
    treatment: dict[str, Any] = Field(default_factory=dict)
    treatment_origin: dict[str, str] = Field(default_factory=dict)
    scale: str | float | None = None
    profile: str | None = None
    state: str | None = None
    exit_code: int | None = None
    spark_version: str | None = None
    started_wall_ns: int | None = None
    host: dict[str, Any] = Field(default_factory=dict)
    conf_overlay: list[dict[str, Any]] = Field(default_factory=list)


class WindowFacts(BaseModel):
    """What the numbers are about. Several iterations: the gaps between them are left out."""

    name: str
    iterations: list[int] = Field(default_factory=list)
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    start_mono_ns: int | None = None
    end_mono_ns: int | None = None
    length_ns: int | None = None
