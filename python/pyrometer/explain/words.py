"""What terminal, Markdown and SARIF say alike of a finding: numbers, places, how to try it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pyrometer.accounts.stage_names import at_file
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.schema import (
    NO_GAIN,
    Evidence,
    Finding,
    Findings,
    Noise,
    Note,
    Place,
    Proof,
    Record,
    Remedy,
    Saving,
    Unjudged,
)

NOT_COMPARED = "results not compared"
"""How the reason of a proof begins where no results were compared."""
LEAST_BIAS = 0.05
"""Of what is predicted: less counts as this, so that a rule that saved nothing can be tried."""
_FORMATS = {"ns": units.duration, "bytes": units.size, "ratio": units.percent}


def number(value: float | None, unit: str) -> str:
    """Write a number in its unit: ns, bytes, ratio, count.

    Examples
    --------
    >>> number(2.5e9, "ns"), number(0.184, "ratio"), number(12.0, "count"), number(None, "ns")
    ('2.50 s', '18.4 %', '12', '–')
    """
    if value is None:
        return units.MISSING
    return _FORMATS[unit](value) if unit in _FORMATS else units.short(value)


def interval(one: Estimate, unit: str) -> str:
    """Write the ends of an interval; empty where the number is exact.

    Examples
    --------
    >>> interval(Estimate(value=2e9, low=1e9, high=3e9, level=0.9, n=5, method="t"), "ns")
    '1.00 s to 3.00 s'
    """
    if one.value is None or one.low is None or one.high is None:
        return ""
    if one.low == one.value == one.high:
        return ""
    return f"{number(one.low, unit)} to {number(one.high, unit)}"


def bounds(one: Estimate, unit: str) -> str:
    """Write an estimate with its interval, where it has one."""
    if one.value is None:
        return "not known"
    ends = interval(one, unit)
    return number(one.value, unit) + (f" ({ends})" if ends else "")


def where(place: Place) -> str:
    """Name a place, and the line, without its folders, or the text that it is from."""
    named = place.words
    if place.source and place.source not in named:
        return f"{named} · {at_file(place.source)}"
    return named


def lacking(found: Findings) -> str:
    """Say how many rules could not be applied, for want of data.

    Examples
    --------
    >>> lacking(Findings.model_construct(rules_count=6, unjudged=["a rule"]))
    '1 of 6 rules lacks the data it needs'
    """
    count = len(found.unjudged)
    lack = "lacks the data it needs" if count == 1 else "lack the data they need"
    return f"{count} of {found.rules_count} rules {lack}"


def options(remedy: Remedy) -> list[str]:
    """Give the words of a command line that try a remedy.

    Examples
    --------
    >>> options(Remedy(kind="factor", text="", factor="spark.a", level="2 g", levels={"b.c": "1"}))
    ["--conf 'spark.a=2 g'", '--set b.c=1']
    """
    levels = dict(remedy.levels)
    if remedy.factor and remedy.level is not None:
        levels = {remedy.factor: remedy.level, **levels}
    return [
        f"{'--conf' if name.startswith('spark.') else '--set'} {shlex.quote(f'{name}={level}')}"
        for name, level in levels.items()
    ]


def other_options(one: Finding) -> dict[str, list[str]]:
    """Give what symptoms of a finding could be tried with and it cannot: factor levels, by code."""
    seen = {tuple(options(remedy)) for remedy in one.remedies}
    found: dict[str, list[str]] = {}
    for symptom in one.symptoms:
        for remedy in symptom.remedies:
            words = tuple(options(remedy)) if remedy.kind == "factor" else ()
            if words and words not in seen:
                seen.add(words)
                found.setdefault(symptom.code, []).append(" ".join(words))
    return found


def source_of(one: Evidence) -> str:
    """Say what a number is from: its table, or the query that gives it."""
    return one.query or one.table


def verdict(proof: Proof) -> str:
    """Name a verdict, and of a proof that nobody compared results.

    Examples
    --------
    >>> verdict(Proof(verdict="not_testable", experiment="runs/verify-gc"))
    'cannot tell'
    >>> verdict(Proof(verdict="not_testable")), verdict(Proof(verdict="no_difference"))
    ('cannot be tried here', 'no difference')
    """
    blind = proof.verdict == "proven" and (proof.reason or "").startswith(NOT_COMPARED)
    return f"{_named(proof)}, {NOT_COMPARED}" if blind else _named(proof)


def _named(proof: Proof) -> str:
    if proof.verdict == "not_testable":
        return "cannot tell" if proof.experiment else "cannot be tried here"
    return proof.verdict.replace("_", " ")


def tried(proof: Proof) -> str:
    """Say how an experiment judged a finding."""
    measured = "" if proof.measured is None else f": {bounds(proof.measured, 'ns')} measured"
    reason = f" ({proof.reason})" if proof.reason else ""
    return f"{_named(proof)}{measured}{reason}"


def earlier(record: Record) -> str:
    """Say how findings of a rule fared when they were tried; empty where none was.

    Examples
    --------
    >>> earlier(Record(tried_count=5, proven_count=4, error_ratio=0.12)), earlier(Record())
    ('proven 4 of 5 times, predictions off by up to 12.0 %', '')
    """
    if not record.tried_count:
        return ""
    off = (
        "" if record.error_ratio is None
        else f", predictions off by up to {units.percent(record.error_ratio)}"
    )  # fmt: skip
    times = "time" if record.tried_count == 1 else "times"
    return f"proven {record.proven_count} of {record.tried_count} {times}{off}"


def biased(record: Record) -> str:
    """Say that a saving was corrected by what trials had measured; empty where it was not.

    Examples
    --------
    >>> biased(Record(tried_count=10, jobs_count=10, error_ratio=0.1, bias_ratio=0.5))
    ' Earlier trials of this rule saved 50.0 % of what was predicted: that is counted in.'
    >>> biased(Record(tried_count=10, jobs_count=2, error_ratio=0.1))
    ''
    """
    earlier = record.earlier
    if earlier is None or earlier.bias_ratio == 1.0:
        return ""
    most = "at most " if earlier.bias_ratio <= LEAST_BIAS else ""
    share = f"{most}{units.percent(earlier.bias_ratio)}"
    return f" Earlier trials of this rule saved {share} of what was predicted: that is counted in."


def gains_nothing(proof: Proof | None) -> bool:
    """Whether a trial showed that the remedy does not help."""
    return proof is not None and proof.verdict in NO_GAIN


def counts(one: Finding) -> bool:
    """Whether a finding counts: above the noise, not muted, and not refuted by a trial."""
    return one.shown and one.muted is None and not gains_nothing(one.proof)


def counted(found: Sequence[Finding]) -> list[Finding]:
    """Give the findings that count."""
    return [one for one in found if counts(one)]


def listed(found: Sequence[Finding], everything: bool = False) -> list[Finding]:
    """Give the findings that are listed: those that count, or also those below the noise."""
    return [
        one for one in found
        if one.muted is None and not gains_nothing(one.proof) and (one.shown or everything)
    ]  # fmt: skip


def without_gain(found: Sequence[Finding]) -> list[Finding]:
    """Give the findings whose remedies were tried, and do not help."""
    return [one for one in found if one.muted is None and gains_nothing(one.proof)]


def unsure(found: Findings) -> list[Finding]:
    """Give the findings that may be worth it, the largest first, of those that are not muted.

    Their saving lies above the noise of the run, the low end of its interval does not.
    """
    may = [
        one for one in found.findings
        if one.muted is None and not one.shown and not gains_nothing(one.proof)
        and (one.saving_ratio.value or 0.0) > found.noise_ratio
    ]  # fmt: skip
    return sorted(may, key=lambda one: -(one.saving_ratio.value or 0.0))


def headline(found: Findings) -> str:
    """Say what the findings that count save together, or the conclusion where none does.

    What trials measured stands beside it.
    """
    shown = counted(found.findings)
    if not shown or found.joint_saving is None:
        return found.conclusion
    joint = found.joint_saving.elapsed_ns
    what = "1 finding saves" if len(shown) == 1 else f"{len(shown)} findings save"
    return (
        f"{what} {units.duration(joint.value)} of {units.duration(found.baseline.elapsed_ns)}"
        f" ({interval(joint, 'ns')}){measured(shown)}"
    )


def measured(found: Sequence[Finding]) -> str:
    """Say what trials of findings measured, where these are proven."""
    proven = [one.proof for one in found if one.proof and one.proof.verdict == "proven"]
    saw = [bounds(one.measured, "ns") for one in proven if one.measured is not None]
    if not saw:
        return ""
    which = "" if len(found) == 1 else f", of {len(saw)} of them"
    return f"; measured{which}: {', '.join(saw)}"


def noise_of(noise: Noise) -> str:
    """Say how large the noise is, and whether this run shows it.

    Examples
    --------
    >>> noise_of(Noise(ratio=0.05, kind="assumed", method="nothing in this run repeats"))
    '5.00 % (assumed: nothing in this run repeats)'
    >>> noise_of(Noise(ratio=0.031, method="5 iterations"))
    '3.10 %, the noise of this run'
    """
    ratio = units.percent(noise.ratio)
    if noise.kind == "measured":
        return f"{ratio}, the noise of this run"
    return f"{ratio} (assumed: {noise.method})"


def noise_named(noise: Noise) -> str:
    """Name the noise before its size."""
    what = "Noise of this run" if noise.kind == "measured" else "Noise, assumed"
    return f"{what}: {units.percent(noise.ratio)}"


def conclusion(found: Findings) -> str:
    """Say the whole in one sentence."""
    if found.baseline.simulated_ns is None:
        return found.conclusion
    first = next(iter(counted(found.findings)), None)
    if first is not None:
        return (
            f"{first.title}, {first.place.words}: about {saved(first.saving)} of"
            f" {units.duration(found.baseline.elapsed_ns)}{measured([first])}. {first.mechanism}"
        )
    judged = found.rules_count - len(found.unjudged)
    looked = f"{judged} of {found.rules_count} rules could be applied"
    noise = noise_of(found.noise)
    known = _set_aside(found.findings)
    may = unsure(found)
    if not may:
        return f"Nothing {'else ' * bool(known)}worth more than {noise}: {looked}{known}."
    one, *rest = may
    at = "" if one.place.words == "application" else f" ({one.place.words})"
    others = f", and {len(rest)} more" if rest else ""
    return (
        f"Nothing {'else ' * bool(known)}is certain to save more than {noise}: {looked}{known}."
        f" Possible: {one.title}{at} may cost {saved(one.saving)}{others} (explain --all)."
    )


def _set_aside(found: Sequence[Finding]) -> str:
    """Name what would count, were it not muted, or tried."""
    said = ""
    above = [one for one in found if one.shown]
    muted = [one for one in above if one.muted is not None]
    in_vain = without_gain(above)
    for count, those in (
        (units.counted(len(muted), "muted finding"), muted),
        (f"{len(in_vain)} tried without a gain", in_vain),
    ):
        if those:
            each = ", ".join(
                f"{one.key}, {units.duration(one.saving.elapsed_ns.value)}: "
                + (one.muted or (tried(one.proof) if one.proof else ""))
                for one in those
            )
            said += f"; {count} ({each})"
    return said


def saved(saving: Saving) -> str:
    """Name a saving with its interval."""
    one = saving.elapsed_ns
    return f"{units.duration(one.value)} ({units.duration(one.low)} to {units.duration(one.high)})"


def by_title(found: Sequence[Note]) -> dict[str, list[Note]]:
    """Give the notes that the project does not mute, by the title that they stand under."""
    notes: dict[str, list[Note]] = {}
    for one in found:
        if one.muted is None:
            notes.setdefault(one.title, []).append(one)
    return notes


def about(note: Note, most: int | None = None) -> str:
    """Name the settings that a note is about, at most so many of them.

    Examples
    --------
    >>> note = Note(code="", title="", place=Place(layer="setting"), mechanism="",
    ...             settings={"spark.a": "1", "spark.b": "2"})
    >>> about(note), about(note, 1)
    ('spark.a=1, spark.b=2', 'spark.a=1 and 1 more')
    """
    named = [f"{name}={value}" for name, value in note.settings.items()]
    kept = named if most is None else named[:most]
    rest = len(named) - len(kept)
    return ", ".join(kept) + (f" and {rest} more" if rest else "")


def by_lack(found: Sequence[Unjudged]) -> list[tuple[tuple[str, str], list[str]]]:
    """Give what is missing and what would allow it, with the rules that lack it, most first."""
    lacks: dict[tuple[str, str], list[str]] = {}
    for one in found:
        lacks.setdefault((one.missing, one.remedy), []).append(one.code)
    return sorted(lacks.items(), key=lambda item: -len(item[1]))
