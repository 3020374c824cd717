"""What trials show that cannot be varied: levels that do not hold, settings that Spark lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pyrometer.accounts.window import facts
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.folder import Ended
from pyrometer.store import Run
from pyrometer.tune.space.declared import unknown_to
from pyrometer.tune.trials.folder import SavedSpace, Tuning
from pyrometer.tune.trials.records import Told

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


def to_drop(
    space: SavedSpace, trials: Iterable[Told], dropped: Iterable[str], spark_version: str | None
) -> Iterator[tuple[list[str], str]]:
    """Say what is not to be varied any more, as trials showed, with why; each once.

    Parameters
    ----------
    trials : iterable of Told
        Those that have ended.
    dropped : iterable of str
        Factors that are varied no longer.
    spark_version : str or None
        Of the first run of the job as it is: some settings are newer.
    """
    known = set(dropped)
    for told in trials:
        if new := [one for one in told.unapplied if one not in known]:
            known.update(new)
            yield new, f"trial {told.trial}: {told.failed or 'not applied'}"
    unknown = unknown_to((str(one["factor"]) for one in space.knobs), spark_version)
    for why in dict.fromkeys(unknown.values()):
        new = [one for one in unknown if unknown[one] == why and one not in known]
        if new:
            yield new, why


def spark_of_run(run_dir: Path) -> str | None:
    """Give the version of Spark that a run had; ``None`` where it does not say."""
    try:
        with Run.open(run_dir) as run:
            return facts(run).spark_version
    except PyrometerError:
        return None


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
