"""Suspects become findings: what each saves, which explain others, and what they save together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Change, Recount, concerned
from pyrometer.explain.evidence.alike import in_several
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Earlier, Remedy, Saving
from pyrometer.explain.what_if import Part, WhatIf, cpus

LEAST_RATIO = 0.001
"""Of the elapsed time: what saves less is not looked at further."""
MOST_SINGLE = 5
"""Places of one rule, those that its bound calls the largest, whose saving is judged for itself,
and as many more while one of the last counts: the others are judged together."""
MOST_JUDGED = 24
"""Suspects whose saving gets an interval; the rest, the least of all, is counted."""
OVERLAP = 0.5
"""Of the smaller of two savings: where more than this is lost when both are made, they overlap."""
SAME = 0.8
"""Overlap from which two findings of the same stages are one, whatever their rules know."""


@dataclass
class Judged:
    """A suspect with its saving.

    Attributes
    ----------
    aside : bool
        No advice is wanted: the project knows the cause and mutes it, or a trial refuted it.
    places : sequence of Suspect
        Of one cause in several places: each of them.
    """

    rule: Rule
    suspect: Suspect
    ratio: float = 0.0
    earlier: Earlier | None = None
    aside: bool = False
    elapsed_ns: Estimate | None = None
    core_ns: Estimate | None = None
    added_ratio: float = 0.0
    symptoms: list[Judged] = field(default_factory=list)
    places: Sequence[Suspect] = ()

    @property
    def parts(self) -> list[Part]:
        """Its changes, as the simulator takes them."""
        those = self.places or (self.suspect,)
        return [Part(one.change, one.extent, self.earlier) for one in those]

    @property
    def asked(self) -> list[tuple[Change, float]]:
        """Its changes, and the factor that is expected of each."""
        return [(one.change, one.extent.value) for one in self.places or (self.suspect,)]

    def is_above(self, noise_ratio: float, measured_ns: int) -> bool:
        """Whether its interval lies above the noise of the run."""
        low = None if self.elapsed_ns is None else self.elapsed_ns.low
        return (low or 0.0) > noise_ratio * measured_ns


def weigh(
    what_if: WhatIf,
    suspects: Sequence[tuple[Rule, Suspect, Earlier | None]],
    noise_ratio: float = 0.0,
    is_muted: Callable[[Rule], bool] = lambda _: False,
    is_refuted: Callable[[Rule, Suspect], bool] = lambda *_: False,
) -> tuple[list[Judged], int]:
    """Give the suspects that save anything, merged and with intervals, and how many were left out.

    Parameters
    ----------
    noise_ratio : float
        Noise of the run, of its elapsed time.
    is_muted, is_refuted : callable
        Whether the project mutes a rule; whether a trial refuted a suspect.

    Returns
    -------
    (list of Judged, int)
        The largest saving first; and the number of those without an interval.
    """
    by_rule: dict[str, list[Judged]] = defaultdict(list)
    for rule, suspect, earlier in suspects:
        aside = is_muted(rule) or is_refuted(rule, suspect)
        by_rule[rule.code].append(Judged(rule, suspect, earlier=earlier, aside=aside))
    alone = _alone(what_if, by_rule.values(), noise_ratio)
    found = _by_ratio(one for one in alone if one.ratio >= LEAST_RATIO)
    _bound(what_if, [one for one in found if one.ratio > noise_ratio][:MOST_JUDGED])
    joined: list[Judged] = []
    for those in by_rule.values():
        open_ = [one for one in those if not is_refuted(one.rule, one.suspect)]
        if len(open_) > 1:
            joined += _by_remedy(what_if, open_, noise_ratio)
    for one in joined:
        one.aside = is_muted(one.rule) or is_refuted(one.rule, one.suspect)
    inside = {id(place) for one in joined for place in one.places}
    found = [one for one in found if id(one.suspect) not in inside]
    inside |= {id(one.suspect) for one in alone}
    for those in by_rule.values():
        left = [one for one in those if id(one.suspect) not in inside]
        found += _simulated(what_if, left[:MOST_JUDGED], LEAST_RATIO)
    found = _by_ratio([*joined, *found])
    kept, rest = found[:MOST_JUDGED], found[MOST_JUDGED:]
    _bound(what_if, kept)
    return merge(what_if, kept, noise_ratio), len(rest)


def _alone(what_if: WhatIf, by_rule: Iterable[list[Judged]], noise_ratio: float) -> list[Judged]:
    """Simulate the largest places of each rule, and the next ones while one of the last counts."""
    asked: list[Judged] = []
    going = list(by_rule)
    for begin in range(0, MOST_JUDGED, MOST_SINGLE):
        last = [those[begin : begin + MOST_SINGLE] for those in going]
        _simulated(what_if, [one for some in last for one in some], LEAST_RATIO)
        asked += [one for some in last for one in some]
        going = [
            those for those, some in zip(going, last, strict=True)
            if any(one.ratio > noise_ratio for one in some)
        ]  # fmt: skip
    return asked


def _simulated(what_if: WhatIf, found: Sequence[Judged], least_ratio: float) -> list[Judged]:
    """Simulate what may save so much, and keep what does."""
    what_if.foresee([one.asked for one in found], least_ratio)
    known = [one for one in found if what_if.is_known(one.asked)]  # others cannot save as much
    for one in known:
        one.ratio = what_if.saved_ratio(one.asked)
    return [one for one in known if one.ratio >= least_ratio]


def _bound(what_if: WhatIf, found: Iterable[Judged]) -> None:
    """Give savings their intervals."""
    left = [one for one in found if one.elapsed_ns is None]
    what_if.foresee(
        [[(part.change, part.factors[side]) for part in one.parts]
         for one in left for side in range(3)]
    )  # fmt: skip
    for one in left:
        one.elapsed_ns, one.core_ns = what_if.saving(one.parts)


def _by_ratio(found: Iterable[Judged]) -> list[Judged]:
    return sorted(found, key=lambda one: (-one.ratio, one.rule.code, one.suspect.mechanism))


def _by_remedy(what_if: WhatIf, those: list[Judged], noise_ratio: float) -> list[Judged]:
    """Judge together what one setting mends, apart from what takes an edit, and all where it must.

    A finding that a setting mends can be tried as a whole. If none of these lies above the noise,
    all places of the rule are one finding.
    """
    groups: dict[frozenset[str], list[Judged]] = defaultdict(list)
    for one in those:
        groups[one.suspect.factors].append(one)
    if len(groups) > 1:
        found = [one for some in groups.values() if len(some) > 1
                 for one in _in_several(what_if, some, noise_ratio)]  # fmt: skip
        _bound(what_if, found)
        if any(one.is_above(noise_ratio, what_if.measured_ns) for one in found):
            return found
    return _in_several(what_if, those, noise_ratio)


def _in_several(what_if: WhatIf, those: list[Judged], noise_ratio: float) -> list[Judged]:
    """Judge together the places of a rule that are not above the noise one by one.

    They are one finding if that lies above the noise, or if there are many of them. Else what
    alone may be worth it, without being sure, stays for itself.
    """
    left = [one for one in those if not one.is_above(noise_ratio, what_if.measured_ns)]
    left.sort(key=lambda one: -one.ratio)
    weak = [one for one in left if one.ratio <= noise_ratio]
    for places in [weak] if len(weak) == len(left) else [left, weak]:
        if len(places) < 2:
            continue
        suspects = [one.suspect for one in places]
        joined = in_several(suspects, len(places) < len(those))
        one = Judged(those[0].rule, joined, earlier=those[0].earlier, places=suspects)
        is_many = places is weak and len(weak) > MOST_SINGLE
        if not _simulated(what_if, [one], LEAST_RATIO if is_many else noise_ratio):
            continue
        if places is weak:
            return [one]
        _bound(what_if, [one])
        if one.is_above(noise_ratio, what_if.measured_ns):
            return [one]
    return []


def merge(what_if: WhatIf, found: Sequence[Judged], noise_ratio: float) -> list[Judged]:
    """Put findings under the cause that explains them.

    A finding is a symptom of another that concerns the same stages, where its rule says that it
    explains it and their savings overlap; or where they overlap almost wholly, under the larger.
    What is sure stays beside a cause that is not, and what is wanted beside one that is not.
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
            if sure[id(other)] >= sure[id(one)] and other.aside <= one.aside
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
        asked = [*cause.asked, *one.asked]
        if not what_if.is_known(asked):
            # As many at once as there are CPUs: if this one is none, the next is asked for.
            near = possible[place : place + cpus()]
            what_if.foresee([[*other.asked, *one.asked] for other, _ in near])
        both = what_if.saved_ratio(asked)
        # What is in several places is no symptom of what explains a few of them.
        smaller = one.ratio if one.places else min(one.ratio, cause.ratio)
        if (one.ratio + cause.ratio - both) / smaller >= least:
            return cause
    return None


def _least_lost(one: Judged, cause: Judged) -> float | None:
    """Give the overlap of savings from which a finding explains another; None: it does not."""
    mine, others = concerned(one.suspect.change), concerned(cause.suspect.change)
    if mine and others and not mine & others:
        return None
    known = explains(cause.rule, one.rule.code)
    is_whole = not one.places or mine <= others
    if known and is_whole and any(isinstance(edit, Recount) for edit in cause.suspect.change):
        return 0.0  # tasks that are not there cost nothing of any kind
    if not known and not (mine and others and one.ratio <= cause.ratio):
        return None
    return OVERLAP if known else SAME


def remedies_below(one: Judged) -> list[tuple[Judged, list[Remedy]]]:
    """Give the symptoms of a finding with their remedies, each setting once.

    A setting holds for the whole application: of several levels, that of the finding itself, or of
    the symptom that saves most, stands for all.
    """
    seen = {each.factor for each in one.suspect.remedies if each.factor}
    left = {}
    for symptom in sorted(one.symptoms, key=lambda each: -each.ratio):
        mine = [each for each in symptom.suspect.remedies if each.factor not in seen]
        seen.update(each.factor for each in mine if each.factor)
        left[id(symptom)] = mine
    return [(symptom, left[id(symptom)]) for symptom in one.symptoms]


def add_up(what_if: WhatIf, leading: Sequence[Judged]) -> None:
    """Say what each adds to those before it: together that is what all save at once."""
    before = 0.0
    each = [one.asked for one in leading]
    upto = [[part for parts in each[:n] for part in parts] for n in range(1, len(each) + 1)]
    what_if.foresee(upto)
    for one, parts in zip(leading, upto, strict=True):
        both = what_if.saved_ratio(parts)
        bias = 1.0 if one.earlier is None else one.earlier.bias_ratio
        one.added_ratio, before = bias * (both - before), both


def together(what_if: WhatIf, leading: Sequence[Judged]) -> Saving:
    """Give what findings save at once; never more than the elapsed time."""
    elapsed, cores = what_if.saving([part for one in leading for part in one.parts])
    return Saving(elapsed_ns=elapsed, core_ns=cores)
