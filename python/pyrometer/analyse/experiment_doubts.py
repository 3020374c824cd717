"""What to doubt about an experiment: trials that are missing, disturbed, unlike, or not warm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.doubt import Doubt
from pyrometer.schema import doubt
from pyrometer.store.experiment import Ended

CENSORED = {
    "failed": "failed",
    "wrong_result": "gave a wrong result",
    "timeout": "ran out of time",
    "out_of_memory": "ran out of memory",
}
CARRIED_OVER = 0.01
"""p below which treatments that take turns are doubted."""


def disturbances_of(one: Ended) -> list[str]:
    """Give what was beyond the guard's limits before and during a trial."""
    return [text for seen in (one.before, one.during) if seen for text in seen.disturbed]


def doubts_of(
    made: ExperimentReport, ended: Sequence[Ended], lacking: int, *, detected: bool
) -> list[Doubt]:
    """Say what to doubt.

    Parameters
    ----------
    made : ExperimentReport
        What came of it.
    ended : sequence of Ended
        All trials that ended.
    lacking : int
        Blocks that are not compared.
    detected : bool
        Whether iterations count from where they are steady.
    """
    found = []
    for one in made.treatments:
        ends = [f"{n} {CENSORED[how]}" for how, n in one.ends.items() if how in CENSORED]
        if ends:
            of = sum(one.ends.values())
            out = "" if one.compared else ", it is not compared"
            message = f"{one.name}: of {of} trials {', '.join(ends)}{_after(one.censored_s)}{out}"
            found.append(doubt("trials_censored", message))
    if lacking:
        found.append(
            doubt("blocks_incomplete", f"{lacking} of {made.blocks} blocks are not compared")
        )
    found += _differing(ended)
    if detected:
        found += _unsettled(made)
    if made.carry_over_p is not None and made.carry_over_p < CARRIED_OVER:
        message = f"it matters which treatment came before (F test, p = {made.carry_over_p:.2g})"
        found.append(doubt("carry_over", message))
    told = [(one.trial, text) for one in ended for text in disturbances_of(one)]
    if told:
        number, text = told[-1]
        message = f"{made.disturbed_count} of {len(ended)} trials; in trial {number} {text}"
        found.append(doubt("trials_disturbed", message))
    return found


def _after(censored_s: Sequence[float]) -> str:
    """Tell how long censored trials had run: what they would have taken is more than that."""
    if not censored_s:
        return ""
    ends = dict.fromkeys(f"{one:.4g}" for one in (min(censored_s), max(censored_s)))
    return f" after {' to '.join(ends)} s"


def _unsettled(made: ExperimentReport) -> list[Doubt]:
    """Doubt an experiment of whose series most never settle, or are too short to tell."""
    told = []
    for one in made.treatments:
        for shape in ("not steady", "too short"):
            count = sum(series.shape == shape for series in one.series)
            if 2 * count > len(one.series):
                told.append(f"{one.name}: {shape} in {count} of {len(one.series)} trials")
    return [doubt("not_settled", "; ".join(told))] if told else []


def _differing(ended: Sequence[Ended]) -> list[Doubt]:
    results: dict[tuple[int | None, str | None], list[str]] = {}
    plans: dict[str, list[str]] = {}
    for one in ended:
        if one.status != "finished":
            continue
        if one.checksum is not None:
            results.setdefault((one.rows, one.checksum), []).append(one.treatment)
        if one.plan is not None:
            plans.setdefault(one.plan, []).append(one.treatment)
    found = []
    if len(results) > 1:
        told = "; ".join(
            f"{rows} rows, checksum {checksum}: {_names(names)}"
            for (rows, checksum), names in results.items()
        )
        found.append(doubt("results_differ", told))
    if len(plans) > 1:
        told = "; ".join(f"plan {digest[:8]}: {_names(names)}" for digest, names in plans.items())
        found.append(doubt("plan_changed", told))
    return found


def _names(names: Sequence[str]) -> str:
    counts: Mapping[str, int] = Counter(names)
    shown = [f"{name} ({n} trials)" for name, n in counts.items()]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
