"""What an experiment file may say.

The published JSON Schema is generated from these models (``schema/experiment.schema.json``).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from pyrometer.experiments.plan.design import Kind
from pyrometer.trial.yaml_file import Text, empty_is_default

Levels = dict[str, Text]

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h)?")
_SECONDS = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")


def _duration(value: Any) -> Any:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise ValueError(f"{value!r} is not a duration such as 90s, 20m or 1h")
    return value if match is None else float(match[1]) * _SECONDS[match[2]]


def _ratio(value: Any) -> Any:
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise ValueError(f"{value!r} is not a percentage such as 2%")
    return value if match is None else float(match[1]) / 100


Seconds = Annotated[
    float,
    BeforeValidator(_duration),
    Field(gt=0),
    WithJsonSchema({"type": ["string", "number"], "pattern": r"^[0-9.]+ ?(ms|s|m|h)?$"}),
]
Ratio = Annotated[
    float,
    BeforeValidator(_ratio),
    Field(gt=0, le=1),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?%$"}),
]

Slower = Annotated[
    float,
    BeforeValidator(_ratio),
    Field(gt=0, le=100),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?%$"}),
]
"""How much slower, so that it may be more than all."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    _empty = model_validator(mode="before")(empty_is_default)


class Matrix(_Part):
    """Levels by factor; every combination is a treatment."""

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        json_schema_extra={
            "additionalProperties": {
                "type": "array",
                "minItems": 1,
                "items": {"type": ["string", "number", "boolean"]},
            }
        },
    )

    include: Annotated[
        list[Levels],
        Field(
            description="Adds levels to every combination whose own levels it does not change;"
            " where there is none, it is a treatment of its own."
        ),
    ] = []
    exclude: Annotated[
        list[Levels], Field(description="Combinations with all of these levels are left out.")
    ] = []

    @property
    def factors(self) -> dict[str, list[str]]:
        """Levels by factor, as the file has them."""
        return dict(self.model_extra or {})


class Design(_Part):
    """In which order trials run."""

    kind: Annotated[
        Kind,
        Field(
            description="randomized-blocks: each block is a random pass over all treatments;"
            " fixed-order: one treatment after another, to show what that does; toggle: treatments"
            " take turns between iterations of one JVM, a block; duet: two run in parallel, each"
            " on half of the CPUs, and swap sides from block to block."
        ),
    ] = "randomized-blocks"
    split: Annotated[
        list[str] | None,
        Field(
            description="Factors that are costly to change: treatments that share their levels run"
            " together within a block (split plots). Without it, those that are known to be."
        ),
    ] = None


class Guard(_Part):
    """What else the machine may do, before and during a trial."""

    policy: Annotated[
        Literal["wait", "flag", "repeat"],
        Field(
            description="wait: for calm before each trial, at most as long as `wait`; flag: run,"
            " and say so; repeat: wait, and repeat a trial that was disturbed."
        ),
    ] = "wait"
    wait: Annotated[Seconds, Field(description="Longest wait for calm.")] = 120.0
    busy: Annotated[Ratio, Field(description="Share of all CPUs that others may use.")] = 0.2
    steal: Annotated[Ratio, Field(description="Share of CPU time the hypervisor may take.")] = 0.05
    free_memory: Annotated[Ratio, Field(description="Least share of memory available.")] = 0.05
    load: Annotated[
        float | None, Field(gt=0, description="Largest load average (1 min) per CPU; none: any.")
    ] = None
    swapped: Annotated[
        int | None,
        Field(ge=0, description="Most pages swapped in and out during a trial; none: any."),
    ] = 1000
    canary: Annotated[
        Slower,
        Field(
            description="How much slower a host's canary may be than its own median over the"
            " experiment."
        ),
    ] = 0.15
    canary_hosts: Annotated[
        Slower,
        Field(
            description="How much slower than those of the trial's other hosts it may be before"
            " that is doubted."
        ),
    ] = 0.3
    canary_age: Annotated[
        Seconds, Field(description="Older canaries say nothing of the trial that began after them.")
    ] = 600.0
    repeats: Annotated[int, Field(ge=1, le=10, description="Most repetitions of a trial.")] = 2


class Experiment(_Part):
    """Treatments, how they are ordered and repeated, and what they are compared by."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Short name.")]
    description: str = ""
    extends: Annotated[
        str | list[str],
        Field(description="Files that this one adds to or overrides, relative to it."),
    ] = []
    workload: Annotated[
        str, Field(description="A workload by name, a SQL file or a workload.yaml (relative).")
    ]
    scale: Text = "default"
    profile: Annotated[
        str, Field(description="What is measured of each trial: off, light, full, or events.")
    ] = "light"
    set: Annotated[Levels, Field(description="Levels that all treatments share.")] = {}
    matrix: Matrix
    constraints: Annotated[
        list[str],
        Field(description="Conditions of factors, mem_total, swap_total, cpus, numa_nodes."),
    ] = []
    baseline: Annotated[
        Levels | None, Field(description="Levels of the treatment that others are compared with.")
    ] = None
    blocks: Annotated[int, Field(ge=1, le=10_000, description="Trials of each treatment.")] = 5
    iterations: Annotated[int, Field(ge=1, description="Measured iterations per trial.")] = 3
    warmup: Annotated[
        str,
        Field(pattern=r"^(auto|[0-9]+)$", description="Warm-up iterations before them."),
        WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 0}]}),
    ] = "auto"
    seed: Annotated[
        int | None, Field(ge=0, lt=1 << 64, description="Of the order; none: drawn, and kept.")
    ] = None
    design: Design = Design()
    guard: Guard = Guard()
    canaries: Annotated[
        Literal["iteration", "trial", "none"],
        Field(description="Before what arithmetic, memory latency and copying are measured."),
    ] = "iteration"
    timeout: Annotated[Seconds, Field(description="Longest time of a trial.")] = 3600.0
    margin: Annotated[Ratio, Field(lt=0.5, description="Differences below it count as none.")] = (
        0.02
    )
