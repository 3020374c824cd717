"""What the plots of an experiment show: the structure that its page draws."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pyrometer.analyse.forecast import Forecast
from pyrometer.estimate import Estimate


class MatrixCell(BaseModel):
    """One treatment in the matrix.

    ``levels`` are those of the matrix. ``ratio`` is its geometric mean over that of the reference;
    ``reason`` says why there is none.
    """

    treatment: str
    levels: dict[str, str]
    ratio: float | None = None
    time: Estimate | None = None
    change: Estimate | None = None
    verdict: str | None = None
    reason: str | None = None


class Matrix(BaseModel):
    """Treatments by the two factors with most levels; the others' levels make a grid of their own.

    ``reference`` says what ratios are of: the baseline, or the geometric mean of all treatments.
    """

    factors: dict[str, list[str]]
    reference: str
    cells: list[MatrixCell]


class InteractionPoint(BaseModel):
    """Trials that share a level of each of two factors."""

    a: str
    b: str
    time: Estimate


class Interaction(BaseModel):
    """Two factors: whether what one does depends on the other.

    ``adjusted_p`` is of their common term in the factorial model, if it has one.
    """

    factors: tuple[str, str]
    points: list[InteractionPoint]
    adjusted_p: float | None = None


class OrderPoint(BaseModel):
    """One attempt at a trial in the order of time; numbers are relative.

    ``residual`` is its time over the geometric mean of its treatment, less 1; canaries are over
    their median, less 1.
    """

    number: int
    attempt: int
    block: int
    treatment: str
    status: str
    folder: str
    wall_ns: int
    seconds: float | None = None
    residual: float | None = None
    duration_s: float | None = None
    waited_s: float = 0.0
    canaries: dict[str, float] = Field(default_factory=dict)
    disturbed: list[str] = Field(default_factory=list)
    shape: str | None = None
    counted_from: int | None = None
    reason: str | None = None


class RunOrder(BaseModel):
    """All attempts, and the trend of their residuals from the first trial to the last."""

    points: list[OrderPoint]
    trend: Estimate


class TreatmentCost(BaseModel):
    """What a treatment's attempts took, launches and making of tables included."""

    treatment: str
    trials_count: int
    trial_s: Estimate
    total_s: float


class Cost(BaseModel):
    """What the experiment took, and what is left of it.

    ``elapsed_s`` is from the first trial's beginning to the last one's end, pauses included;
    ``waited_s`` the part of ``trials_s`` in which the guard waited for calm; ``left_s`` what trials
    that are still to come will take by the mean of those that ended.
    """

    treatments: list[TreatmentCost]
    trials_s: float
    waited_s: float
    elapsed_s: float | None
    left_s: float | None


class ExperimentPlots(BaseModel):
    """Everything that is drawn of an experiment."""

    matrix: Matrix
    interactions: list[Interaction]
    order: RunOrder
    cost: Cost
    forecast: Forecast
