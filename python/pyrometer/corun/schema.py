"""The report of a co-run: the structure of ``corun --json``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import Company, LeftOutTreatment
from pyrometer.experiments.judge.schema import TrialsReport
from pyrometer.statistics.treatments import PairReport
from pyrometer.statistics.two import Verdict

Way = Literal["in turn", "together", "own CPUs"]
"""One after the other on all CPUs; at once on the same CPUs; at once, each on CPUs of its own."""

PLACES = {False: "shared", True: "own"}
"""CPUs of workloads that run at once, as `--place` names them."""


class Growth(BaseModel):
    """What slots spent on one resource in an iteration, with others and alone.

    Attributes
    ----------
    name, what : str
        Key of :data:`pyrometer.corun.contention.RESOURCES`, and its description.
    more_s : Estimate
        Seconds with others less those alone, mean over blocks.
    share : float or None
        Of all that grew.
    sure : bool
        Whether it grew significantly: one-sided, corrected for the number of rows (Bonferroni).
    """

    name: str
    what: str
    alone_s: float
    more_s: Estimate
    share: float | None
    sure: bool


class RoleGrowth(BaseModel):
    """How long threads of a role were ready and waited for a CPU, with others and alone.

    Attributes
    ----------
    queue_more_s : Estimate
        Seconds of all its threads in an iteration, with others less those alone.
    sure : bool
        Whether they waited significantly longer, as of :class:`Growth`.
    """

    role: str
    queue_alone_s: float
    queue_more_s: Estimate
    sure: bool


class Contention(BaseModel):
    """What a workload loses in a co-run.

    Attributes
    ----------
    roles : list of RoleGrowth
        How long its threads waited for a CPU, including those that run no tasks.
    ipc : Estimate or None
        Instructions per cycle with others, over those alone; `ipc_reason` says why it is missing.
    reason : str or None
        Why nothing is known.
    """

    grown: list[Growth] = Field(default_factory=list)
    roles: list[RoleGrowth] = Field(default_factory=list)
    ipc: Estimate | None = None
    ipc_reason: str | None = None
    told: str = ""
    reason: str | None = None


class Encounter(BaseModel):
    """One entry of the matrix: a workload with others.

    Attributes
    ----------
    slowdown : Estimate
        Time with them over time alone, within blocks; n is the number of blocks.
    p : float or None
        Of no difference, adjusted for all entries of the workload (Holm).
    verdict : str
        ``slower``, ``same``, ``faster`` or ``cannot tell``.
    blocks_needed : int or None
        Blocks that would resolve a difference of the margin, where the verdict is ``cannot tell``.
    """

    member: str
    beside: list[str]
    neighbour: str | None
    own_cpus: bool
    alone_s: Estimate
    beside_s: Estimate
    slowdown: Estimate
    p: float | None
    verdict: Verdict
    blocks_needed: int | None
    contention: Contention


def company(one: Company | Encounter) -> str:
    """Name those that run at once with a workload.

    Examples
    --------
    >>> company(Company(member="a", workload="a", beside=["b", "c"], neighbour="cpu"))
    'b, c, cpu'
    """
    return ", ".join([*one.beside, *([one.neighbour] if one.neighbour else [])])


class PartyReport(BaseModel):
    """A party as a whole.

    Attributes
    ----------
    weighted_speedup : Estimate
        Sum of time alone over time together: how much is done of what they would do with a machine
        each (Snavely and Tullsen, ASPLOS 2000; as STP in Eyerman and Eeckhout, IEEE Micro 2008).
        Above 1 more gets done than one after the other.
    harmonic_speedup : Estimate
        Harmonic mean of time alone over time together (Luo, Gummaraju and Franklin, ISPASS 2001);
        one over the mean slowdown.
    fairness : Estimate
        Smallest over largest slowdown (Gabor, Weiss and Mendelson, MICRO 2006): 1 is fair.
    """

    members: list[str]
    own_cpus: bool
    weighted_speedup: Estimate
    harmonic_speedup: Estimate
    fairness: Estimate


class WayReport(BaseModel):
    """One way to get an iteration of each done, and how long that takes."""

    way: Way
    makespan_s: Estimate


class Advice(BaseModel):
    """How to run several workloads: the ways compared by the time until all are done.

    Attributes
    ----------
    pairs : list of PairReport
        Each two ways compared within blocks.
    best : list of str
        Ways that no other is significantly faster than: several, where they are the same or the
        trials cannot distinguish them; none, where the machine was emulated.
    told : str
        The result in a sentence.
    """

    members: list[str]
    ways: list[WayReport]
    pairs: list[PairReport]
    best: list[Way]
    told: str


class CorunReport(TrialsReport):
    """Structure of ``corun --json`` (``pyrometer/corun/1``).

    Attributes
    ----------
    reasons : dict of str to str
        Why nothing is reported of a workload.
    """

    schema_name: Literal["pyrometer/corun/1"] = Field("pyrometer/corun/1", alias="schema")
    members: list[str]
    encounters: list[Encounter]
    parties: list[PartyReport]
    advice: list[Advice]
    reasons: dict[str, str] = Field(default_factory=dict)
    left_out: list[LeftOutTreatment]
    doubts: list[Doubt] = Field(default_factory=list)
