"""The structure of ``causes``, ``side_by_side`` and ``plans`` in ``compare --json``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Quantity(BaseModel):
    """A quantity on both sides, of one iteration; ``unit`` is a suffix as in names of columns."""

    what: str
    unit: str
    a: float | None
    b: float | None


class Part(BaseModel):
    """A cause at one place.

    Attributes
    ----------
    place : str
        The stage, by where it comes from in the program; ``driver`` or ``application``.
    a_stage_id, b_stage_id : int or None
        The stage on each side, in the first runs of both.
    seconds : float
        B less A, along the critical paths.
    low, high : float or None
        Interval at 95 %: over runs where each side has several, else of the samples behind it;
        None where the log alone is behind it, which has no sampling error.
    method : str or None
        How the interval was made: ``runs``, ``iterations`` or ``samples``.
    hosts : list of str
        Hosts that were slow, where that is the cause.
    """

    place: str
    a_stage_id: int | None = None
    b_stage_id: int | None = None
    seconds: float
    low: float | None = None
    high: float | None = None
    method: str | None = None
    hosts: list[str] = Field(default_factory=list)
    evidence: list[Quantity] = Field(default_factory=list)


class Cause(BaseModel):
    """A cause of the change of elapsed time, at all its places.

    Attributes
    ----------
    cause : str
        Its name: ``input``, ``cpu/HashAggregate``, ``gc``, ``slots``, ``driver/in_query``, …
    what : str
        The same in words.
    seconds : float
        B less A; those of all causes add up to the change.
    share : float or None
        Of the change; above 1 where others work against it. None where there is no change.
    explained : bool
        False where it is what is left over.
    sentence : str
        What happened, with its numbers.
    parts : list of Part
        The places, the largest first; they add up to ``seconds``.
    """

    cause: str
    what: str
    seconds: float
    share: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    explained: bool = True
    sentence: str = ""
    parts: list[Part] = Field(default_factory=list)


class Explanation(BaseModel):
    """Why elapsed time changed.

    Attributes
    ----------
    a_s, b_s, seconds : float
        Elapsed time of one iteration on each side, and B less A.
    a_waited_s, b_waited_s : float
        What of it each side waited for executors.
    low, high : float or None
        Interval of the change at 95 %, over runs or iterations.
    answer : list of str
        The same in sentences, the most important first.
    causes : list of Cause
        The largest first; their seconds add up to ``seconds``.
    cannot_tell : list of str
        What is not known, and what would allow it.
    """

    a_s: float = 0.0
    b_s: float = 0.0
    seconds: float = 0.0
    a_waited_s: float = 0.0
    b_waited_s: float = 0.0
    low: float | None = None
    high: float | None = None
    answer: list[str] = Field(default_factory=list)
    causes: list[Cause] = Field(default_factory=list)
    cannot_tell: list[str] = Field(default_factory=list)


class Unlike(BaseModel):
    """Something that is not the same on both sides; None where a side has no such thing.

    ``of`` is ``setting``, ``version``, ``executors`` or ``data``.
    """

    of: str
    name: str
    a: str | None = None
    b: str | None = None


class NodeChange(BaseModel):
    """A node of a plan that only one side has, or that says something else there."""

    operator: str
    a: str | None = None
    b: str | None = None


class PlanChange(BaseModel):
    """An SQL execution whose plan is not the same on both sides."""

    description: str | None = None
    a_sql_id: int | None = None
    b_sql_id: int | None = None
    a_s: float | None = None
    b_s: float | None = None
    nodes: list[NodeChange] = Field(default_factory=list)
    nodes_count: int = 0
