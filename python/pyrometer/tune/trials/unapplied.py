"""Levels that did not hold in a trial: it is no trial of them, and their factors are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyrometer.experiments.folder import Ended
from pyrometer.tune.trials.folder import SavedSpace, Tuning

OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""Settings that options of JVMs are in, whichever factor they are of: these add up."""


def unapplied(ended: Ended, configuration: Mapping[str, str]) -> list[str]:
    """Name the factors of a configuration whose levels did not hold in a trial."""
    found = []
    for factor in configuration:
        said = [one.split("=", 1)[0].split(":", 1)[0] for one in ended.unapplied]
        of_jvm = factor.startswith("jvm.") and factor not in ("jvm.heap", "jvm.home")
        if any(one == factor or (of_jvm and one in OPTIONS) for one in said):
            found.append(factor)
    return found


def not_held(ended: Ended, configuration: Mapping[str, str]) -> str | None:
    """Say why a trial is none of its configuration; ``None``: nothing is known against it."""
    if not unapplied(ended, configuration):
        return None
    return f"not applied: {'; '.join(one.rstrip('.') for one in ended.unapplied)}"


def without(tuning: Tuning, dropped: Mapping[str, str]) -> Tuning:
    """Give a tuning that does not vary some factors.

    Parameters
    ----------
    dropped : mapping of str to str
        Why, by factor.
    """
    if not dropped:
        return tuning
    space = tuning.space.read()
    knobs = tuple(one for one in space.knobs if one.factor not in dropped)
    known = {one.factor for one in knobs} | set(space.facts or {})
    left = replace(
        space, knobs=knobs,
        constraints=tuple(one for one in space.constraints if one.names <= known),
        left_out={**space.left_out, **dropped},
    )  # fmt: skip
    return tuning.model_copy(
        update={
            "space": SavedSpace.of(left),
            "earlier": [one for one in tuning.earlier if _within(one.configuration, dropped)],
        }
    )


def _within(configuration: Iterable[str], dropped: Mapping[str, str]) -> bool:
    return not any(one in dropped for one in configuration)
