"""One list of causes for three vocabularies: what a rule of an advisor is about.

Advisors name rules after what they look at; two rules are compared if they are about one cause. A
rule that is in no list has its own name for cause: nobody else can agree with it.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS = "pyrometer"
SPARK_ADVISOR = "spark-advisor"
NVIDIA = "NVIDIA tools"

FAMILIES = {
    "skew": ("skew.", "straggler."),
    "spill": ("spill.",),
    "GC": ("gc.",),
    "failed tasks": ("retries.failed-tasks", "retries.out-of-memory", "retries.fetch-failed"),
    "lost executors": ("retries.executor-lost",),
    "partition size": (
        "partitioning.too-many", "partitioning.too-few", "partitioning.one-task",
        "scan.small-files-read", "scan.not-splittable", "driver.scheduler-saturated",
    ),
    "idle slots": (
        "driver.gap", "driver.executors-late", "driver.many-small-jobs", "driver.collect",
        "driver.planning", "driver.listing", "config.too-many-slots",
    ),
    "join strategy": ("join.",),
    "read again": ("recompute.",),
    "serializer": ("serialisation.java",),
    "adaptive execution": ("config.adaptive-off",),
    "heap not used": ("heap.oversized",),
    "shuffle volume": ("shuffle.", "codec."),
}  # fmt: skip
"""Our rules by what they are about: a code, or its beginning."""
_SPARK_ADVISOR = {
    "data_skew": "skew",
    "input_data_skew": "skew",
    "spill_to_disk": "spill",
    "gc_pressure": "GC",
    "executor_memory_overhead": "GC",
    "task_failures": "failed tasks",
    "small_files": "partition size",
    "shuffle_partitions": "partition size",
    "executor_idle": "idle slots",
    "dynamic_allocation": "idle slots",
    "broadcast_join": "join strategy",
    "excessive_stages": "read again",
    "serializer_choice": "serializer",
    "aqe_not_enabled": "adaptive execution",
    "memory_underutilization": "heap not used",
    "driver_memory": "driver memory",
    "shuffle_data_volume": "shuffle volume",
}
_NVIDIA = {
    "shuffle skew": "skew",
    "spill in shuffle": "spill",
    "JVM GC time": "GC",
    "failed tasks": "failed tasks",
    "failed stages": "failed tasks",
    "failed jobs": "failed tasks",
    "removed executors": "lost executors",
    "removed block managers": "lost executors",
    "maxPartitionBytes": "partition size",
    "file cache": "read again",
    "adaptive execution": "adaptive execution",
}


@dataclass(frozen=True, order=True)
class Fired:
    """A rule that fired in a log.

    Attributes
    ----------
    rule : str
        As the advisor names it; of NVIDIA's, which have no names, in our words.
    stages : tuple of int
        Stages that it names, if any.
    hint : bool
        Whether the advisor itself calls it information.
    """

    advisor: str
    rule: str
    stages: tuple[int, ...] = ()
    hint: bool = False

    @property
    def cause(self) -> str:
        """What the rule is about."""
        return cause_of(self.advisor, self.rule)


def cause_of(advisor: str, rule: str) -> str:
    """Give the common name of what a rule is about.

    Examples
    --------
    >>> cause_of(OURS, "skew.rows"), cause_of(SPARK_ADVISOR, "data_skew")
    ('skew', 'skew')
    >>> cause_of(OURS, "jit.competes")
    'jit.competes'
    """
    if advisor == OURS:
        for cause, names in FAMILIES.items():
            if any(rule.startswith(n) if n.endswith(".") else rule == n for n in names):
                return cause
        return rule
    return {SPARK_ADVISOR: _SPARK_ADVISOR, NVIDIA: _NVIDIA}[advisor].get(rule, rule)
