"""What is promised of a recurring job, and what a run of it was."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.tune.space.space import Configuration


@dataclass(frozen=True)
class Terms:
    """What is promised: all runs together take at most so much more than the job as it is.

    Attributes
    ----------
    risk : float
        Share of the baseline's time that all runs since the first may take more together, once
        there are `runs` of them.
    runs : int
        Runs over which it counts: ``risk * runs`` baseline runs may be lost at once.
    limit : float
        A run of anything but the baseline is given up at this multiple of the baseline's time, and
        the job is run as it is.
    first : int
        Runs of the job as it is before anything is changed.
    control : int
        One of so many runs is the job as it is, so that drift of the data is no gain and no loss.
    """

    risk: float = 0.1
    runs: int = 30
    limit: float = 1.5
    first: int = 5
    control: int = 8

    def allowed(self, count: int) -> float:
        """Baseline runs that so many runs together may have lost.

        Examples
        --------
        >>> Terms(risk=0.1, runs=30).allowed(4), Terms(risk=0.1, runs=30).allowed(100)
        (3.0, 10.0)
        """
        return self.risk * max(self.runs, count)


@dataclass(frozen=True)
class OnlineRun:
    """A run of the job, or a try of one that was given up.

    Attributes
    ----------
    value : float or None
        The objective; ``None`` where it failed. Of one that was given up what it reached.
    given_up : bool
        It was stopped at its limit.
    failed : str or None
        Why it failed.
    lost : float or None
        Time that a failed try took, in the objective's unit; ``None``: not known,
        and taken for the limit.
    void : bool
        Something outside ended it (:class:`~pyrometer.tune.trials.records.Told`).
    differs : bool
        It failed because its result is not that of the job as it is.
    result : str or None
        Its result, where it is known.
    """

    configuration: Configuration
    value: float | None
    given_up: bool = False
    failed: str | None = None
    lost: float | None = None
    void: bool = False
    differs: bool = False
    result: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the job was done by it."""
        return self.value is not None and not self.given_up and self.failed is None
