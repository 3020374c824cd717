"""What ``corun``, ``layout`` and ``scale`` all tell of the trials of their experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field


class TrialsReport(BaseModel):
    """Which experiment is told, and of how many of its trials.

    Attributes
    ----------
    experiment, folder : str
        Its name, and where it lies.
    done_count : int
        Trials that finished.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_name: str = Field(alias="schema")
    experiment: str
    folder: str
    scale: str
    trials_count: int
    done_count: int


@dataclass(frozen=True)
class Measures:
    """What of its measures one trial has.

    Attributes
    ----------
    measures : dict of str to float
        Those that are known.
    missing : dict of str to str
        Why others are not.
    """

    measures: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)


def in_none(names: Iterable[str], trials: Sequence[Measures]) -> dict[str, str]:
    """Find measures that no trial has; gives why the first lacks them.

    Examples
    --------
    >>> in_none(["ipc", "gc_s"], [Measures({"gc_s": 1.0}, {"ipc": "no counters"})])
    {'ipc': 'no counters'}
    """
    return {
        name: trials[0].missing[name]
        for name in names
        if trials and all(name not in one.measures for one in trials)
    }
