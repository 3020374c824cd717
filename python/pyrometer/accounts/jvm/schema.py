"""Values of ``show --json`` about the work of the JVM itself: compiling, collecting, stopping."""

from __future__ import annotations

from pydantic import Field

from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model


class Tier(Model):
    """Compilations of one tier.

    Attributes
    ----------
    level : int or None
        1 to 3 are those of the quick compiler (C1), 4 is that of the optimising one (C2).
    osr_count : int
        Those for a loop that was running.
    failed_count : int
        Those after which no code was installed.
    time_ns : int or None
        From their beginning to the installation of the code, added up: wall time.
    """

    level: int | None = None
    compiler: str | None = None
    compilations_count: int
    osr_count: int = 0
    failed_count: int = 0
    time_ns: int | None = None
    max_ns: int | None = None


class Compilation(Model):
    """One compilation."""

    method: str | None = None
    level: int | None = None
    duration_ns: int | None = None
    bytecode_bytes: int | None = None
    succeeded: bool | None = None


class CompilerCpu(Model):
    """CPU of the threads of one compiler, by the kernel's counters."""

    compiler: str
    cpu_ns: int


class Reason(Model):
    """How often something happened, by the reason that the JVM names."""

    reason: str
    count: int


class Deoptimisations(Model):
    """Compiled code that was discarded.

    Attributes
    ----------
    invalidated_count : int or None
        Code of the last tier that was made not entrant: what the compiler had assumed was wrong.
    replaced_count : int or None
        Code of lower tiers, mostly discarded for that of the next.
    traps_count : int or None
        Times that a thread ran into an uncommon trap.
    methods : list of Reason
        Methods whose code of the last tier was discarded most often.
    reason : str or None
        Why ``by_reason`` is empty.
    """

    invalidated_count: int | None = None
    replaced_count: int | None = None
    traps_count: int | None = None
    by_reason: list[Reason] = Field(default_factory=list)
    methods: list[Reason] = Field(default_factory=list)
    reason: str | None = None


class Jit(Model):
    """What the compilers did in the window."""

    compilations_count: int | None = None
    failed_count: int | None = None
    time_ns: int | None = None
    by_tier: list[Tier] = Field(default_factory=list)
    cpu: list[CompilerCpu] = Field(default_factory=list)
    longest: list[Compilation] = Field(default_factory=list)
    deoptimisations: Deoptimisations = Field(default_factory=Deoptimisations)
    reason: str | None = None


class CodeCachePart(Model):
    """One part of the code cache: most bytes in use at once, and its room."""

    part: str
    used_bytes: int
    max_bytes: int | None = None


class CodeCache(Model):
    """Room for compiled code, of the JVM that used most of it."""

    used_bytes: int | None = None
    max_bytes: int | None = None
    parts: list[CodeCachePart] = Field(default_factory=list)
    reason: str | None = None


class Cause(Model):
    """Pauses by what caused them."""

    cause: str
    kind: str
    pauses_count: int
    pause_total_ns: int
    pause_max_ns: int


class HeapFlow(Model):
    """Bytes that went somewhere; the estimate's interval is the rounding of the log."""

    bytes: int | None = None
    bytes_per_s: Estimate | None = None
    reason: str | None = None


class Age(Model):
    """Survivors by collections survived: mean bytes after a young pause."""

    age: int
    bytes: int
    collections_count: int


class Phase(Model):
    """Concurrent phases of the collector, while the application runs."""

    phase: str
    count: int
    total_ns: int
    max_ns: int


class Collections(Model):
    """What the collector did: causes, allocation, promotion, ages, concurrent phases."""

    by_cause: list[Cause] = Field(default_factory=list)
    allocation: HeapFlow = Field(default_factory=HeapFlow)
    promotion: HeapFlow = Field(default_factory=HeapFlow)
    ages: list[Age] = Field(default_factory=list)
    ages_reason: str | None = None
    concurrent: list[Phase] = Field(default_factory=list)
    reason: str | None = None


class Operation(Model):
    """Safepoints of one VM operation."""

    operation: str
    count: int
    reaching_total_ns: int | None = None
    total_ns: int


class Safepoints(Model):
    """Stops of all Java threads, and how long they took to stand still."""

    count: int | None = None
    total_ns: int | None = None
    reaching_p50_ns: Estimate | None = None
    reaching_p95_ns: Estimate | None = None
    reaching_max_ns: int | None = None
    by_operation: list[Operation] = Field(default_factory=list)
    reason: str | None = None


class JvmWork(Model):
    """Work of the JVM itself in the window, all JVMs of the run together."""

    jit: Jit = Field(default_factory=Jit)
    code_cache: CodeCache = Field(default_factory=CodeCache)
    gc: Collections = Field(default_factory=Collections)
    safepoints: Safepoints = Field(default_factory=Safepoints)
