"""Answers of a search in plain words."""

from __future__ import annotations

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.bisect.state import State, bisection_of, is_lower_bound
from pyrometer.experiments.folder import Plan
from pyrometer.statistics.bisection import Hypothesis


def percent(ratio: float | None) -> str:
    """Write a share or a change.

    Examples
    --------
    >>> percent(0.0714), percent(1.0), percent(0.05)
    ('7.1 %', '100 %', '5 %')
    """
    return "–" if ratio is None else f"{round(100 * ratio, 1):g} %"


def chance(probability: float) -> str:
    """Write what is believed; nothing is certain.

    Examples
    --------
    >>> chance(0.982), chance(0.9999), chance(1.0)
    ('98.2 %', '> 99.9 %', '> 99.9 %')
    """
    return "> 99.9 %" if probability > 0.999 else percent(probability)


def slower(change: Estimate) -> str:
    """Write a change with its interval."""
    return f"{percent(change.value)} slower ({percent(change.low)} to {percent(change.high)})"


def named(plan: Plan, answer: Hypothesis) -> str:
    """Name an answer: a level, several that cannot be distinguished, or none."""
    levels = [bisection_of(plan).levels[at] for at in answer.levels]
    return " or ".join(levels) if levels else "none"


def verdict(plan: Plan, state: State) -> str:
    """Say what is known, with its probability."""
    wanted, best = bisection_of(plan), state.belief.best
    count = len(state.ended)
    trials = f"{count} trial{'' if count == 1 else 's'}"
    sure = (
        f"probability {chance(best.probability)}, {percent(1 - wanted.error)} asked for; {trials}"
    )
    if not state.decided:
        asked = f"{percent(1 - wanted.error)} asked for"
        return f"cannot tell yet: {so_far(plan, state)}; {trials}, {asked}"
    if not best.levels:
        first, last = wanted.levels[0], state.search.runnable[-1]
        beyond = wanted.levels[last + 1 :]
        unknown = f"; nothing is known of {', '.join(beyond)}, which cannot run" if beyond else ""
        return (
            f"no level of {wanted.over} is slower than {first} by {percent(plan.margin)} or more"
            f" ({sure}){unknown}"
        )
    before = wanted.levels[max(at for at in state.search.runnable if at < best.levels[0])]
    apart = (
        ""
        if len(best.levels) == 1
        else ": levels that cannot run are not distinguished from the next"
    )
    least = "at least " if is_lower_bound(plan, state) else ""
    return (
        f"{wanted.over}={named(plan, best)} is the first slower level:"
        f" {least}{slower(state.belief.change)} than levels up to {before} ({sure}){apart}"
    )


def so_far(plan: Plan, state: State) -> str:
    """Say what is most probable now."""
    likely = [one for one in state.belief.hypotheses[:3] if one.probability >= 0.05]
    shown = [
        f"{'no level' if not one.levels else named(plan, one)} {chance(one.probability)}"
        for one in likely
    ]
    what = f"first slower level of {bisection_of(plan).over}"
    return f"{what}: {', '.join(shown) or 'nothing is more probable than the rest'}"
