"""The report on layouts: the structure of ``layout --json``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import LeftOutTreatment
from pyrometer.experiments.judge.schema import TrialsReport
from pyrometer.statistics.two import Verdict


class ExecutorPlace(BaseModel):
    """CPUs and memory that an executor's JVM was allowed, as it read them from ``/proc``.

    Attributes
    ----------
    cpus : str or None
        ``Cpus_allowed_list``.
    memory : str or None
        NUMA policy: ``default``, ``bind:0``, ``interleave:0-1``.
    """

    executor_id: str | None
    pid: int
    cpus: str | None = None
    memory: str | None = None


class TrialPlaces(BaseModel):
    """Executors of one trial."""

    trial: int
    block: int
    executors: list[ExecutorPlace]


class LayoutResult(BaseModel):
    """One layout with one placement.

    Attributes
    ----------
    jvms, slots : int
        Executor JVMs, and task slots of each.
    heap_bytes : int or None
        Heap of each.
    elapsed_s : Estimate
        Time of an iteration, mean over trials.
    throughput : Estimate or None
        Over that of one JVM with the same placement, within blocks.
    measures : dict of str to Estimate
        See :data:`pyrometer.layouts.measured.MEASURES`.
    compared : bool
        Whether it is compared: not if half of its trials or more did not finish.
    trials : list of TrialPlaces
        Those whose runs could be read.
    """

    treatment: str
    place: str
    layout: str
    jvms: int
    slots: int
    heap_bytes: int | None
    elapsed_s: Estimate
    throughput: Estimate | None = None
    measures: dict[str, Estimate] = Field(default_factory=dict)
    compared: bool = True
    trials: list[TrialPlaces] = Field(default_factory=list)


class Optimum(BaseModel):
    """The best layout of a placement, and which others could be the best.

    Attributes
    ----------
    layout : str
        The one with the least mean of the logarithms of times.
    jvms : Estimate
        Its JVMs; the interval is from the fewest to the most of those that could be the best.
    could_be : list of str
        Layouts that could be the best.
    interior : bool
        Whether both fewer and more JVMs are significantly worse.
    told : str
        The same in a sentence.
    """

    layout: str
    jvms: Estimate
    could_be: list[str]
    interior: bool
    told: str


class PlaceResult(BaseModel):
    """One placement; `reason` says why there is no optimum."""

    place: str
    what: str
    layouts: list[str]
    best: Optimum | None = None
    reason: str | None = None


class PlaceChange(BaseModel):
    """The change from one placement to another, each with its best layout.

    Attributes
    ----------
    layout_a, layout_b : str or None
        Best by all blocks.
    speedup : Estimate or None
        Time with ``a`` over time with ``b``, within blocks. In each block both have the layout that
        is best in the other blocks, so that no layout is judged by the trials that chose it.
    p : float or None
        Of Student's test, after Holm over all pairs of placements.
    verdict : str
        Of ``b`` against ``a``, by `p` and the margin.
    reason : str or None
        Why they are not compared.
    """

    a: str
    b: str
    layout_a: str | None = None
    layout_b: str | None = None
    speedup: Estimate | None = None
    p: float | None = None
    verdict: Verdict = "cannot tell"
    reason: str | None = None


class LayoutReport(TrialsReport):
    """Structure of ``layout --json`` (``pyrometer/layout/1``).

    Attributes
    ----------
    missing : dict of str to str
        Measures that no trial has, and why.
    """

    schema_name: Literal["pyrometer/layout/1"] = Field("pyrometer/layout/1", alias="schema")
    workload: str
    margin: float
    layouts: list[LayoutResult] = Field(default_factory=list)
    places: list[PlaceResult] = Field(default_factory=list)
    changes: list[PlaceChange] = Field(default_factory=list)
    missing: dict[str, str] = Field(default_factory=dict)
    left_out: list[LeftOutTreatment] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)
