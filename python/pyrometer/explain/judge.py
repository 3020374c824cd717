"""Suspects become findings: what each saves, which explain others, and what they save together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Recount, concerned
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Earlier, Saving
from pyrometer.explain.what_if import Part, WhatIf, cpus

LEAST_RATIO = 0.001
"""Of the elapsed time: what saves less is not looked at further."""
MOST_JUDGED = 24
"""Suspects whose saving gets an interval; the rest, the least of all, is counted."""
OVERLAP = 0.5
"""Of the smaller of two savings: where more than this is lost when both are made, they overlap."""
SAME = 0.8
"""Overlap from which two findings of the same stages are one, whatever their rules know."""


@dataclass
class Judged:
    """A suspect with its saving; `muted` where the project knows the cause, and wants no advice."""

    rule: Rule
    suspect: Suspect
    ratio: float
    earlier: Earlier | None = None
    muted: bool = False
    elapsed_ns: Estimate | None = None
    core_ns: Estimate | None = None
    added_ratio: float = 0.0
    symptoms: list[Judged] = field(default_factory=list)

    @property
    def part(self) -> Part:
        """Its change, as the simulator takes it."""
        return Part(self.suspect.change, self.suspect.extent, self.earlier)

    def is_above(self, noise_ratio: float, measured_ns: int) -> bool:
        """Whether its interval lies above the noise of the run."""
        low = None if self.elapsed_ns is None else self.elapsed_ns.low
        return (low or 0.0) > noise_ratio * measured_ns

    @property
    def pair(self) -> tuple[tuple[object, ...], float]:
        """Its change and the factor that is expected."""
        return self.suspect.change, self.suspect.extent.value


def weigh(
    what_if: WhatIf,
    suspects: Sequence[tuple[Rule, Suspect, Earlier | None]],
    noise_ratio: float = 0.0,
    muted: Collection[str] = (),
) -> tuple[list[Judged], int]:
    """Give the suspects that save anything, merged and with intervals, and how many were left out.

    Parameters
    ----------
    noise_ratio : float
        Noise of the run, of its elapsed time.
    muted : collection of str
        Codes of rules that the project mutes.

    Returns
    -------
    (list of Judged, int)
        The largest saving first; and the number of those without an interval.
    """
    found = []
    what_if.foresee([[(one.change, one.extent.value)] for _, one, _ in suspects], LEAST_RATIO)
    for rule, suspect, earlier in suspects:
        asked = [(suspect.change, suspect.extent.value)]
        if not what_if.is_known(asked):
            continue  # it cannot save as much
        ratio = what_if.saved_ratio(asked)
        if ratio >= LEAST_RATIO:
            found.append(Judged(rule, suspect, ratio, earlier, rule.code in muted))
    found.sort(key=lambda one: (-one.ratio, one.rule.code, one.suspect.mechanism))
    kept, rest = found[:MOST_JUDGED], found[MOST_JUDGED:]
    what_if.foresee(
        [[(one.suspect.change, end)] for one in kept
         for end in (one.suspect.extent.low, one.suspect.extent.high)]
    )  # fmt: skip
    for one in kept:
        one.elapsed_ns, one.core_ns = what_if.saving([one.part])
    return merge(what_if, kept, noise_ratio), len(rest)


def merge(what_if: WhatIf, found: Sequence[Judged], noise_ratio: float) -> list[Judged]:
    """Put findings under the cause that explains them.

    A finding is a symptom of another that concerns the same stages, where its rule says that it
    explains it and their savings overlap; or where they overlap almost wholly, under the larger.
    What is sure stays beside a cause that is not, and what is not muted beside one that is.
    """
    sure = {id(one): one.is_above(noise_ratio, what_if.measured_ns) for one in found}
    leading: list[Judged] = []
    # What explains others first, whatever it saves itself; before it, what explains that.
    rules = {one.rule.code: one.rule for one in found}
    explained = {
        code: any(explains(rule, code) for other, rule in rules.items() if other != code)
        for code in rules
    }
    order = sorted(
        found, key=lambda one: (not one.rule.explains, explained[one.rule.code], -one.ratio)
    )
    for one in order:
        possible = [
            other for other in leading
            if sure[id(other)] >= sure[id(one)] and other.muted <= one.muted
        ]  # fmt: skip
        cause = _cause_of(what_if, one, possible)
        if cause is None:
            leading.append(one)
        else:
            cause.symptoms.append(one)
    return sorted(leading, key=lambda one: (-one.ratio, one.rule.code))


def explains(cause: Rule, code: str) -> bool:
    """Whether a rule explains findings of another.

    Examples
    --------
    >>> from pyrometer.explain.rule import Rule
    >>> skew = Rule("skew.key", "", "", lambda f: [], "", explains=("spill.", "gc.pauses"))
    >>> explains(skew, "spill.sort"), explains(skew, "gc.pauses"), explains(skew, "gc.humongous")
    (True, True, False)
    """
    return any(
        code.startswith(name) if name.endswith(".") else code == name for name in cause.explains
    )


def _cause_of(what_if: WhatIf, one: Judged, leading: Sequence[Judged]) -> Judged | None:
    """Give the first of some findings that explains one."""
    bounds = [(cause, _least_lost(one, cause)) for cause in leading]
    possible = [(cause, least) for cause, least in bounds if least is not None]
    for place, (cause, least) in enumerate(possible):
        if least <= 0:
            return cause
        asked = [cause.pair, one.pair]
        if not what_if.is_known(asked):  # type: ignore[arg-type]
            # As many at once as there are CPUs: if this one is none, the next is asked for.
            near = possible[place : place + cpus()]
            what_if.foresee([[other.pair, one.pair] for other, _ in near])  # type: ignore[list-item]
        both = what_if.saved_ratio(asked)  # type: ignore[arg-type]
        if (one.ratio + cause.ratio - both) / min(one.ratio, cause.ratio) >= least:
            return cause
    return None


def _least_lost(one: Judged, cause: Judged) -> float | None:
    """Give the overlap of savings from which a finding explains another; None: it does not."""
    mine, others = concerned(one.suspect.change), concerned(cause.suspect.change)
    if mine and others and not mine & others:
        return None
    known = explains(cause.rule, one.rule.code)
    if known and any(isinstance(edit, Recount) for edit in cause.suspect.change):
        return 0.0  # tasks that are not there cost nothing of any kind
    if not known and not (mine and others and one.ratio <= cause.ratio):
        return None
    return OVERLAP if known else SAME


def add_up(what_if: WhatIf, leading: Sequence[Judged]) -> None:
    """Say what each adds to those before it: together that is what all save at once."""
    before = 0.0
    upto = [[each.pair for each in leading[:n]] for n in range(1, len(leading) + 1)]
    what_if.foresee(upto)  # type: ignore[arg-type]
    for one, parts in zip(leading, upto, strict=True):
        both = what_if.saved_ratio(parts)  # type: ignore[arg-type]
        bias = 1.0 if one.earlier is None else one.earlier.bias_ratio
        one.added_ratio, before = bias * (both - before), both


def together(what_if: WhatIf, leading: Sequence[Judged]) -> Saving:
    """Give what findings save at once; never more than the elapsed time."""
    elapsed, cores = what_if.saving([one.part for one in leading])
    return Saving(elapsed_ns=elapsed, core_ns=cores)
