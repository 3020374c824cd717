"""Which causes are planted, by which settings, and which findings name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SHAPES = ("orders", "events", "readings")
BOTH = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}


@dataclass(frozen=True)
class Case:
    """One planted cause.

    Attributes
    ----------
    name : str
        Of the case in the application.
    codes : sequence of str
        Findings that name the cause: any of them, or a family with a dot at its end.
    places : sequence of mapping
        Where it is, any of them; see `benchmarks.faults.judge.Outcome`.
    on, off : mapping of str to str
        Settings with the cause, and without it.
    """

    name: str
    codes: Sequence[str]
    on: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    places: Sequence[Mapping[str, str]] = ()


CASES = (
    Case("one-task", ("partitioning.one-task", "partitioning.too-few")),
    Case("many-tasks", ("partitioning.too-many", "config.adaptive-off"),
         {"spark.sql.adaptive.enabled": "false"}, {"spark.sql.adaptive.enabled": "false"}),
    Case("skewed-key", ("skew.",), {"spark.sql.adaptive.enabled": "false"},
         {"spark.sql.adaptive.enabled": "false"}),
    Case("range-join", ("join.nested-loop", "join.explodes", "expression.per-pair")),
    Case("costly-pattern", ("expression.per-row", "expression.")),
    Case("python-function", ("python.",)),
    Case("computed-again", ("recompute.", "cache.")),
    Case("tiny-jobs", ("driver.many-small-jobs", "driver.")),
    Case("idle-driver", ("driver.gap", "driver.")),
    Case("collected", ("driver.collect",)),
    Case("schema-inferred", ("scan.schema-inferred",)),
    Case("small-files", ("scan.small-files-read",)),
    Case("spilling", ("spill.",),
         {"spark.driver.memory": "1g", "spark.memory.fraction": "0.08"},
         {"spark.driver.memory": "3g"}),
    Case("small-heap", ("gc.",), {"spark.driver.memory": "700m"}, {"spark.driver.memory": "4g"}),
    Case("parsed-again", ("expression.json-parsed-again", "expression.per-row")),
    Case("interpreted-plan", ("codegen.fallback", "codegen."),
         {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}),
    Case("no-broadcast", ("join.broadcast-missed",),
         {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}),
    Case("failing-tasks", ("retries.",)),
)  # fmt: skip
