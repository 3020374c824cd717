"""What a study reports: published values, effects and tables beside ours, and what it ran."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.studies.evidence import EvidenceReport
from pyrometer.statistics.welch import WelchAsGiven


class EffectComparison(BaseModel):
    """A published change and ours; both are relative.

    ``agrees`` is whether both have the same sign: machines and scales differ, so that sizes are not
    compared. ``None`` where our verdict is neither ``faster`` nor ``slower``, or ours is missing;
    `reason` says why it is missing. ``welch`` is the test of the times as they are, as studies
    print it; ``withheld`` says why nothing is claimed of ours, and there is no verdict then.
    """

    what: str
    place: str
    published: float | tuple[float, float] | None
    derived: str | None = None
    experiment: str
    a: str
    b: str
    ours: Estimate | None = None
    verdict: str | None = None
    welch: WelchAsGiven | None = None
    agrees: bool | None = None
    withheld: str | None = None
    note: str | None = None
    reason: str | None = None


class Comparison(BaseModel):
    """One published value and ours, both in `unit`.

    Attributes
    ----------
    agrees : bool or None
        ``None`` where they are not to be compared, ours is missing, or its interval is too wide
        to decide; `reason` says which of the last two.
    share, published_share : float or None
        Of their columns' sums, where these are what is compared.
    """

    what: str
    place: str
    row: str | None = None
    unit: str
    published: float | tuple[float, float] | str | bool | None
    derived: str | None = None
    ours: Estimate | None = None
    ours_text: str | bool | None = None
    published_share: float | None = None
    share: float | None = None
    agrees: bool | None = None
    note: str | None = None
    reason: str | None = None


class StudyRunFacts(BaseModel):
    """One run of a study; `reason` says why it has no result."""

    name: str
    workload: str
    scale: str
    iterations: int
    levels: dict[str, str]
    run_dir: str | None = None
    reason: str | None = None
    doubts: list[str] = Field(default_factory=list)
    machine: str | None = None
    spark_version: str | None = None


class ConditionFacts(BaseModel):
    """How short memory was in the trials of a treatment, of what was wanted.

    Attributes
    ----------
    reached_count, trials_count : int
        Trials that came within half and twice of it, and all that finished.
    ratios : list of float
        The share that each reached; those that do not know it are left out.
    """

    treatment: str
    condition: str
    wanted_ratio: float
    ratios: list[float]
    reached_count: int
    trials_count: int


class StudyExperimentFacts(BaseModel):
    """One experiment of a study; what this host cannot honour is among ``left_out``."""

    name: str
    file: str
    folder: str | None = None
    workload: str | None = None
    scale: str | None = None
    trials_count: int | None = None
    done_count: int | None = None
    left_out: dict[str, str] = Field(default_factory=dict)
    doubts: list[str] = Field(default_factory=list)
    conditions: list[ConditionFacts] = Field(default_factory=list)
    withheld: str | None = None
    reason: str | None = None


class StudyReport(BaseModel):
    """Structure of ``study run --json`` (``pyrometer/study/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/study/1"] = Field("pyrometer/study/1", alias="schema")
    study: str
    title: str
    source: str
    machine: str
    differences: list[str]
    runs: list[StudyRunFacts]
    experiments: list[StudyExperimentFacts] = Field(default_factory=list)
    values: list[Comparison]
    effects: list[EffectComparison] = Field(default_factory=list)
    evidence: list[EvidenceReport] = Field(default_factory=list)
    tables: dict[str, list[Comparison]]
