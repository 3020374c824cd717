"""Which cheap stand-ins a workload allows: a smaller scale, fewer iterations, fewer queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import did_you_mean
from pyrometer.tune.trials.folder import Fidelity
from pyrometer.workloads.contract import Workload, parse_scale

KINDS = ("scale", "iterations", "queries")
AUTO, NONE = "auto", "none"

SMALLER = 10
"""A smaller scale has this part of the data, but no less than the workload's own test."""
LEAST = 2
"""A scale that is less than so many times smaller is no stand-in."""


def check(asked: Sequence[str]) -> None:
    """Refuse kinds that there are none of.

    Raises
    ------
    UsageError
        With what there is.
    """
    for one in asked:
        if one not in (*KINDS, AUTO, NONE):
            known = (AUTO, NONE, *KINDS)
            remedy = did_you_mean(one, known) or f"use one of: {', '.join(known)}"
            raise UsageError(f"--fidelity {one}: there is no such stand-in", remedy)
    if len(asked) > 1 and {AUTO, NONE} & set(asked):
        raise UsageError(
            f"--fidelity {' --fidelity '.join(asked)}: {AUTO} and {NONE} stand alone",
            "--fidelity scale --fidelity queries",
        )


def stand_ins(
    workload: Workload,
    scale: str,
    iterations: int,
    levels: Mapping[str, str],
    asked: Sequence[str] = (AUTO,),
) -> list[Fidelity]:
    """List the stand-ins that a workload allows.

    Parameters
    ----------
    iterations : int
        Of a trial.
    levels : mapping of str to str
        What all trials share; those of the workload's own variants are checked already.
    asked : sequence of str
        Kinds, or ``auto``, or ``none``.

    Raises
    ------
    UsageError
        If one that was asked for by name is none here.
    """
    check(asked)
    if NONE in asked:
        return []
    found, why_not = [], {}
    for kind, make in (("scale", _smaller), ("iterations", _fewer), ("queries", _queries)):
        made = make(workload, scale, iterations, levels)
        if isinstance(made, Fidelity):
            found.append(made)
        else:
            why_not[kind] = made
    if AUTO in asked:
        return found
    for kind in asked:
        if kind in why_not:
            raise UsageError(f"--fidelity {kind}: {why_not[kind]}", f"--fidelity {AUTO}")
    return [one for one in found if one.name in asked]


def _smaller(
    workload: Workload, scale: str, iterations: int, levels: Mapping[str, str]
) -> Fidelity | str:
    if not workload.scales:
        return f"{workload.name} has no scales"
    size = parse_scale(workload, scale)
    least = max(workload.least_size(levels), workload.scales.get("test", 1))
    small = max(least, size // SMALLER)
    if small * LEAST > size:
        return f"scale {scale} is no more than {LEAST} times the least that says something"
    summary = f"scale {small} instead of {size} ({workload.scale_unit})"
    return Fidelity(name="scale", scale=str(small), iterations=iterations, summary=summary)


def _fewer(
    workload: Workload, scale: str, iterations: int, levels: Mapping[str, str]
) -> Fidelity | str:
    if iterations < LEAST:
        return "a trial has one iteration"
    summary = f"one iteration without warm-up instead of {iterations}"
    return Fidelity(name="iterations", scale=scale, iterations=1, warmup=0, summary=summary)


def _queries(
    workload: Workload, scale: str, iterations: int, levels: Mapping[str, str]
) -> Fidelity | str:
    for factor, variant in workload.variants.items():
        if not variant.joined:
            continue
        if levels.get(factor, variant.default) != variant.default:
            return f"{factor} is {levels[factor]} in all trials"
        mode = workload.variants.get("workload.mode")
        if mode and levels.get("workload.mode", mode.default) != mode.default:
            return "queries that run at the same time have no times of their own"
        return Fidelity(
            name="queries", scale=scale, iterations=iterations, chosen=True,
            levels={factor: variant.default},
            summary="queries that vary and stand for all, chosen by the first trials",
        )  # fmt: skip
    return f"{workload.name} is not a suite of queries"
