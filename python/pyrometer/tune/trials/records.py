"""Records of a tuning's journal, beside those of every experiment."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.core.model import Nanoseconds
from pyrometer.tune.advise.adviser import Observation, Suggestion
from pyrometer.tune.portrait import Portrait
from pyrometer.tune.trials.folder import Earlier, Fidelity, Part, Prior


class Asked(Part):
    """A trial that was decided on.

    Attributes
    ----------
    own : bool
        The tuning itself wanted it, not the engine: a first baseline.
    early : bool
        It came before the engine was asked for anything.
    limit_s : float or None
        Time of an iteration (of a command: its whole time) beyond which it is given up.
    timeout_s : float or None
        Longest time of the application, by that limit.
    elsewhere : str or None
        The machine, if a recurring job ran on another one than before: nothing is compared then.
    """

    k: Literal["ask"] = "ask"
    trial: int
    configuration: dict[str, str]
    fidelity: str
    block: int
    why: str = ""
    own: bool = False
    early: bool = False
    limit_s: float | None = None
    timeout_s: float | None = None
    elsewhere: str | None = None
    wall_ns: Nanoseconds

    @property
    def suggestion(self) -> Suggestion:
        """What the engine had suggested."""
        return Suggestion(self.configuration, self.fidelity, self.block, why=self.why)


class Told(Part):
    """What a trial showed, as the engine was told.

    Attributes
    ----------
    refused : bool
        It was never launched.
    void : bool
        Something outside ended it (a signal, a host that went down, a kernel short of memory, a
        queue longer than its limit allows for), or had the memory that it needs; or its checksum
        is not that of the only run of the job as it is so far. It failed, and says nothing of its
        configuration.
    differs : bool
        It failed because its result is not that of the baseline.
    queued : bool
        A queue longer than its limit allows for stopped it.
    unseen : bool
        It finished, and what is asked of it was not measured, such as an executor's memory where
        no probe saw that executor.
    result : str or None
        Its result, as far as results are compared.
    unapplied : list of str
        Factors whose levels did not hold: it is no trial of them.
    missing : dict of str to str
        Metrics that are not known, each with why.
    seconds : float or None
        Time of an iteration, where it finished.
    length_s : float or None
        From its launch to its tables, without making data; of all attempts.
    waited_s : float
        What the guard waited for a calm machine: no core time, but time.
    runs : float or None
        That over the same of a full run as it is: what it took of a budget of runs.
    """

    k: Literal["tell"] = "tell"
    trial: int
    value: float | None = None
    cost: float
    censored: bool = False
    failed: str | None = None
    refused: bool = False
    void: bool = False
    differs: bool = False
    queued: bool = False
    unseen: bool = False
    result: str | None = None
    unapplied: list[str] = Field(default_factory=list)
    canary: float | None = None
    seconds: float | None = None
    length_s: float | None = None
    waited_s: float = 0.0
    runs: float | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    wall_ns: Nanoseconds

    @property
    def passes(self) -> bool:
        """Whether what kept it from a value passes: its configuration may be tried again."""
        return self.queued or self.unseen or (self.void and (self.refused or self.differs))

    def observation(self, asked: Asked) -> Observation:
        """Give it in the engine's words."""
        return Observation(
            configuration=asked.configuration, fidelity=asked.fidelity, block=asked.block,
            value=self.value, cost=self.cost, censored=self.censored, failed=self.failed,
            void=self.passes, canary=self.canary, metrics=self.metrics,
        )  # fmt: skip


class Decided(Part):
    """What was decided after a run of a recurring job."""

    k: Literal["decide"] = "decide"
    trial: int
    what: Literal["adopted", "rejected", "rolled back", "barred", "not counted"]
    configuration: dict[str, str]
    why: str
    wall_ns: Nanoseconds


class Settled(Part):
    """The end of the search: what is to be confirmed.

    Attributes
    ----------
    configuration : dict of str to str
        Empty where nothing better than the baseline was found.
    change : tuple of float or None
        Of the objective, with its interval, as the engine believes.
    """

    k: Literal["settle"] = "settle"
    configuration: dict[str, str]
    change: tuple[float, float, float] | None = None
    trials: int = 0
    why: str
    wall_ns: Nanoseconds


class Stopped(Part):
    """The budget was used up before all of the confirmation had run."""

    k: Literal["stop"] = "stop"
    wall_ns: Nanoseconds


class Added(Part):
    """Somebody added blocks to the confirmation: they run whatever the budget says.

    Attributes
    ----------
    closed : list of str
        Folders of the confirmation that the budget ended before: what has not run there never will.
    """

    k: Literal["add"] = "add"
    blocks: int
    scale: str
    closed: list[str] = Field(default_factory=list)
    wall_ns: Nanoseconds


class Offered(Part):
    """A cheap stand-in, measured: offered to the engine, or not, with the reason.

    Attributes
    ----------
    fidelity : Fidelity
        What it is, with its measured cost.
    left_out : str or None
        Why it was not offered.
    """

    k: Literal["offer"] = "offer"
    fidelity: Fidelity
    left_out: str | None = None
    wall_ns: Nanoseconds


class Dropped(Part):
    """Factors that are varied no longer: the job itself decides them, whatever it is given.

    Attributes
    ----------
    why : str
        What a trial showed.
    """

    k: Literal["drop"] = "drop"
    factors: list[str]
    why: str
    wall_ns: Nanoseconds


class Similar(Part):
    """Another tuning that the start was warmed with, and what to doubt of it.

    Attributes
    ----------
    distance : float
        How far its job is from this one (:func:`pyrometer.tune.portrait.distance`); 0: alike.
    differs : list of str
        What is known to differ.
    """

    of: str
    job: str
    distance: float
    trials: int
    differs: list[str] = Field(default_factory=list)


class Known(Part):
    """What was known before the search, once the job had run as it is.

    Attributes
    ----------
    priors : list of Prior
        Remedies of findings, winners of similar jobs.
    earlier : list of Earlier
        Trials of similar jobs.
    portrait : dict or None
        The job in a few numbers, by which others are alike; ``None`` where its run says too little.
    reason : str or None
        Why findings say nothing.
    unread : list of str
        What is kept of earlier tunings and could not be read.
    """

    k: Literal["known"] = "known"
    priors: list[Prior] = Field(default_factory=list)
    earlier: list[Earlier] = Field(default_factory=list)
    similar: list[Similar] = Field(default_factory=list)
    portrait: Portrait | None = None
    reason: str | None = None
    unread: list[str] = Field(default_factory=list)
    wall_ns: Nanoseconds


KINDS: dict[str, type[BaseModel]] = {
    "ask": Asked,
    "tell": Told,
    "settle": Settled,
    "stop": Stopped,
    "add": Added,
    "offer": Offered,
    "known": Known,
    "drop": Dropped,
    "decide": Decided,
}
"""Records of a tuning beside those of every experiment."""
