"""Findings of one window of a run: every rule asked, and what it suspects judged by its saving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyrometer.accounts.window import facts as run_facts
from pyrometer.accounts.window import open_scope
from pyrometer.core.estimate import Estimate
from pyrometer.explain.every_rule import every_rule
from pyrometer.explain.facts import Facts
from pyrometer.explain.judge import Judged, add_up, remedies_below, together, weigh
from pyrometer.explain.noise import Redrawn, has_iterations, noise_of
from pyrometer.explain.repeated import once, queries_of
from pyrometer.explain.rule import Remark, Rule, Suspect
from pyrometer.explain.schema import (
    Baseline,
    Finding,
    Findings,
    Noise,
    Note,
    Place,
    Proof,
    Proofs,
    Record,
    Remedy,
    Saving,
    Symptom,
    Unjudged,
    proof_of,
)
from pyrometer.explain.words import biased, conclusion, counts, gains_nothing
from pyrometer.simulation.scheduler import doubts_of
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope


def explain(
    run: Run,
    window: str | None = None,
    *,
    app_index: int | None = None,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
    proofs: Mapping[str, Proofs] | None = None,
    rules: Sequence[Rule] | None = None,
) -> Findings:
    """Say why a run took as long as it did, and what would save how many seconds.

    Parameters
    ----------
    run : Run
        An open run, or event log.
    window : str, optional
        As for `show`.
    app_index : int, optional
        Which application; by default, the one with most task time.
    records : mapping of str to Record, optional
        How findings of each rule fared when they were tried.
    muted : mapping of str to str, optional
        Reasons by code of what the project mutes.
    proofs : mapping of str to Proofs, optional
        How findings were judged, by run.
    rules : sequence of Rule, optional
        By default, all of the catalogue.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    scope = open_scope(run, window)
    return explained(scope, summarise(scope), app_index, records, muted, proofs, rules)


def explained(
    scope: Scope,
    summary: Summary,
    app_index: int | None = None,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
    proofs: Mapping[str, Proofs] | None = None,
    rules: Sequence[Rule] | None = None,
) -> Findings:
    """Do the same for a window that is open and summarised."""
    facts = Facts(scope, summary, app_index)
    records, muted = records or {}, muted or {}
    manifest = scope.run.manifest
    known = (proofs or {}).get(manifest.run_id, {}) if manifest else {}
    asked = every_rule() if rules is None else rules
    what_if = facts.what_if
    result = Findings(
        run=run_facts(scope.run),
        window=scope.window.facts(),
        conclusion="",
        baseline=Baseline(elapsed_ns=facts.elapsed_ns),
        noise=Noise(ratio=0.0, kind="assumed", method="nothing was judged"),
        noise_ratio=0.0,
        rules_count=len(asked),
    )
    if what_if is None:
        result.conclusion = f"Nothing can be said: {facts.unscheduled}."
        result.unjudged = [
            Unjudged(code=rule.code, title=rule.title, missing=facts.unscheduled or "",
                     remedy="give a whole event log, or a run of Spark")
            for rule in asked
        ]  # fmt: skip
        return result
    redrawn = Redrawn(what_if)
    with ThreadPoolExecutor(1) as ahead:
        # Schedules that are wanted anyway, and read no tables: rules leave other CPUs idle.
        ahead.submit(lambda: has_iterations(facts) or redrawn.by_stage)
        ahead.submit(lambda: what_if.replicates)
        suspects, remarks, result.unjudged = ask(facts, asked)
    result.notes = [_note(facts, rule, remark, muted) for rule, remark in remarks]
    if len(scope.window.iterations) > 1:
        suspects = once(suspects, queries_of(facts))
    result.noise = noise_of(facts, redrawn)
    facts.let_tasks_go()
    number_of = Counter((rule.code, suspect.place.words) for rule, suspect in suspects)

    def is_alone(rule: Rule, place: Place) -> bool:
        return number_of[rule.code, place.words] < 2

    def proof(rule: Rule, place: Place) -> Proof | None:
        alone = is_alone(rule, place)
        return proof_of(known, rule.code, _within(facts, place), is_alone=alone)

    result.noise_ratio = result.noise.ratio
    leading, result.hidden_count = weigh(
        what_if,
        [(rule, suspect, records.get(rule.code, Record()).earlier) for rule, suspect in suspects],
        result.noise_ratio,
        lambda rule: rule.code in muted,
        lambda rule, suspect: gains_nothing(proof(rule, suspect.place)),
    )
    result.baseline.simulated_ns = round(what_if.simulated_ns)
    result.baseline.core_ns = round(what_if.core_ns)
    found = _findings(facts, leading, result.noise_ratio, records, muted, proof)
    for one, finding in zip(leading, found, strict=True):
        finding.alone = is_alone(one.rule, one.suspect.place)
    pairs = sorted(
        zip(leading, found, strict=True),
        key=lambda pair: (
            pair[1].muted is not None, gains_nothing(pair[1].proof), not pair[1].shown
        ),
    )  # fmt: skip
    add_up(what_if, [one for one, _ in pairs])
    for one, finding in pairs:
        finding.added_ratio = one.added_ratio
    result.findings = [finding for _, finding in pairs]
    shown = [one for one, finding in pairs if counts(finding)]
    if shown:
        result.joint_saving = together(what_if, shown)
        result.joint_ratio = _ratio(result.joint_saving.elapsed_ns, facts.elapsed_ns)
    result.doubts = [*summary.doubts, *doubts_of(what_if.calibrated, 0)]
    result.conclusion = conclusion(result)
    return result


def ask(
    facts: Facts, rules: Iterable[Rule]
) -> tuple[list[tuple[Rule, Suspect]], list[tuple[Rule, Remark]], list[Unjudged]]:
    """Ask every rule; what cannot look, or breaks, is said and does not stop the others."""
    found: list[tuple[Rule, Suspect]] = []
    remarks: list[tuple[Rule, Remark]] = []
    unjudged = []
    for rule in rules:
        lacks = [(need.missing(facts), need.remedy) for need in rule.needs]
        missing = next(((what, remedy) for what, remedy in lacks if what), None)
        if missing is None:
            try:
                given = list(rule.suspects(facts))  # all that it has, or nothing
                remarks += [(rule, one) for one in given if isinstance(one, Remark)]
                found += [(rule, one) for one in given if not isinstance(one, Remark)]
            except Exception as error:  # one rule must not take the others' findings away
                missing = f"the rule broke: {type(error).__name__}: {error}", "report it, please"
        if missing is not None:
            unjudged.append(
                Unjudged(code=rule.code, title=rule.title, missing=missing[0], remedy=missing[1])
            )
    return found, remarks, unjudged


def _findings(
    facts: Facts,
    leading: Sequence[Judged],
    noise: float,
    records: Mapping[str, Record],
    muted: Mapping[str, str],
    proof: Callable[[Rule, Place], Proof | None],
) -> list[Finding]:
    number_of = Counter(one.rule.code for one in leading)
    seen: Counter[str] = Counter()
    found = []
    for one in leading:
        code = one.rule.code
        seen[code] += 1
        found.append(
            _finding(
                facts, one, noise, records.get(code) or Record(), muted.get(code),
                code if number_of[code] == 1 else f"{code}#{seen[code]}",
                proof(one.rule, one.suspect.place),
            )
        )  # fmt: skip
    return found


def _finding(
    facts: Facts,
    one: Judged,
    noise: float,
    record: Record,
    muted: str | None,
    key: str,
    proof: Proof | None,
) -> Finding:
    assert one.elapsed_ns is not None
    assert one.core_ns is not None
    ratio = _ratio(one.elapsed_ns, facts.elapsed_ns)
    rule, suspect = one.rule, one.suspect
    return Finding(
        key=key,
        code=rule.code,
        title=rule.title,
        cause=rule.cause,
        place=_within(facts, suspect.place),
        mechanism=f"{suspect.mechanism}{biased(record)}",
        evidence=list(suspect.evidence),
        remedies=list(suspect.remedies),
        saving=Saving(elapsed_ns=one.elapsed_ns, core_ns=one.core_ns),
        saving_ratio=ratio,
        symptoms=[_symptom(facts, each, remedies) for each, remedies in remedies_below(one)],
        refute=suspect.refute or rule.refute,
        proof=proof,
        record=record,
        shown=(ratio.low or 0.0) > noise,
        muted=muted,
        doubts=list(suspect.doubts),
    )


def _symptom(facts: Facts, one: Judged, remedies: list[Remedy]) -> Symptom:
    assert one.elapsed_ns is not None
    return Symptom(
        code=one.rule.code,
        title=one.rule.title,
        place=_within(facts, one.suspect.place),
        mechanism=one.suspect.mechanism,
        elapsed_ns=one.elapsed_ns,
        remedies=remedies,
    )


def _within(facts: Facts, place: Place) -> Place:
    """Say which application a place is in, where there are several: numbers begin in each."""
    if facts.measured is None or len(facts.summary.apps) < 2:
        return place
    return place.model_copy(update={"app": facts.measured.app_index})


def _note(facts: Facts, rule: Rule, remark: Remark, muted: Mapping[str, str]) -> Note:
    return Note(
        code=rule.code,
        title=rule.title,
        place=_within(facts, remark.place),
        mechanism=remark.mechanism,
        settings=dict(remark.settings),
        evidence=list(remark.evidence),
        remedies=list(remark.remedies),
        muted=muted.get(rule.code),
    )


def _ratio(one: Estimate, whole_ns: int) -> Estimate:
    def share(ns: float | None) -> float | None:
        return None if ns is None or not whole_ns else ns / whole_ns

    return one.model_copy(
        update={"value": share(one.value), "low": share(one.low), "high": share(one.high)}
    )
