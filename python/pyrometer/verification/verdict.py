"""What an experiment says of a finding. Pure.

`proven`: significantly faster with the remedy, and as measured by more than what counts as none;
where no result says that both did the same, that is told with it, and what the runs show of their
work is compared (`pyrometer.verification.work`).
`refuted`: significantly slower, or not faster by more than that. `no_difference`: none above so
many per cent, which excludes what was predicted. `not_testable`: the trials cannot tell, were not
of the same work, or have not all been run: whoever stops as soon as it looks well would prove
savings that are none.

The change within blocks, as a share, is applied to the time of the run, so that measured and
predicted saving are of the same seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import Ended, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.schema import ExperimentReport, TreatmentReport
from pyrometer.explain.schema import Judgement
from pyrometer.explain.words import NOT_COMPARED
from pyrometer.statistics.treatments import PairReport
from pyrometer.verification.plan import AS_IT_WAS, FEWEST_BLOCKS, REMEDY, VARIANT
from pyrometer.verification.work import Work, compared, fewer_rows, other_work

Same = Literal["same", "different", "not known"]
ENDS_REFUTE = {
    "out_of_memory": "ran out of memory",
    "timeout": "ran out of time",
    "wrong_result": "gave a wrong result",
}
"""Ends of trials with the remedy that are the remedy's own fault."""
REPEAT = "make its result repeatable, or compare the two results by hand"
DECLARE = "describe the command as a workload that declares its output (docs/how-to/workloads.md)"


@dataclass(frozen=True)
class Prediction:
    """What the trials are to find.

    Attributes
    ----------
    saving_ns : Estimate
        Elapsed time that the remedy saves: `pyrometer.verification.plan.to_find`.
    whole_ns : int
        The time of the run that a trial's time is compared with.
    smaller : str or None
        Why the data of the trials are smaller than the run's.
    of_command : bool
        The trials are of a command, which has a result only where a file declares one.
    writes_less : bool
        The remedy may write fewer rows by intention.
    """

    saving_ns: Estimate
    whole_ns: int
    smaller: str | None = None
    of_command: bool = False
    writes_less: bool = False

    @property
    def ratio(self) -> Estimate:
        """The saving as a share of a trial's time."""
        return self.saving_ns.scaled(1 / self.whole_ns)


@dataclass(frozen=True)
class Outcome:
    """What became of a finding.

    Attributes
    ----------
    measured_ns, measured_ratio : Estimate or None
        Elapsed time that the remedy saved; negative: it cost.
    bound_ratio : float or None
        Where there is no difference: above this share.
    reason : str or None
        Why, where it is not proven; else what limits the proof: results that were not compared, a
        saving beyond what was predicted, less data.
    by_hand : str or None
        What to do next, where it could not be tried.
    notes : tuple of str
        Results, plans, disturbances.
    blocks : int
        Blocks behind the comparison.
    """

    verdict: Judgement
    measured_ns: Estimate | None = None
    measured_ratio: Estimate | None = None
    bound_ratio: float | None = None
    reason: str | None = None
    by_hand: str | None = None
    notes: tuple[str, ...] = ()
    blocks: int = 0


@dataclass(frozen=True)
class Alike:
    """Whether both treatments gave the same rows, and ran the same plans.

    Attributes
    ----------
    declared : bool
        Whether there is any result to compare.
    before, after : tuple of mapping
        What trials show of their work, of each treatment.
    """

    results: Same = "not known"
    plans: Same = "not known"
    declared: bool = False
    before: tuple[Work, ...] = ()
    after: tuple[Work, ...] = ()

    @property
    def uncompared(self) -> str | None:
        """Say why results were not compared; ``None`` where they were."""
        if self.results != "not known":
            return None
        why = "they differ from trial to trial" if self.declared else "the command declares none"
        return f"{NOT_COMPARED}: {why}"


def alike(ended: Iterable[Ended]) -> Alike:
    """Compare the results and plans of trials that finished.

    Results are different only where each treatment has one of its own: where a treatment differs
    from itself, its work is not repeatable, which says nothing of the remedy.
    """
    results: dict[str, set[object]] = {}
    plans: dict[str, set[object]] = {}
    work: dict[str, list[Work]] = {AS_IT_WAS: [], REMEDY: []}
    for one in ended:
        if one.status != "finished":
            continue
        if one.checksum is not None:
            results.setdefault(one.treatment, set()).add((one.rows, one.checksum))
        if one.plan is not None:
            plans.setdefault(one.treatment, set()).add(one.plan)
        if one.work:
            work[one.treatment].append(one.work)
    before, after = (tuple(work[name]) for name in (AS_IT_WAS, REMEDY))
    return Alike(_same(results), _same(plans), bool(results), before, after)


def _same(seen: dict[str, set[object]]) -> Same:
    before, after = seen.get(AS_IT_WAS, set()), seen.get(REMEDY, set())
    if len(before) != 1 or len(after) != 1:
        return "not known"
    return "same" if before == after else "different"


def judge(plan: Plan, entries: Entries, predicted: Prediction, folder: str = "DIR") -> Outcome:
    """Give the verdict of an experiment with the two treatments `AS_IT_WAS` and `REMEDY`.

    Trials that something outside ended say nothing of either.

    Parameters
    ----------
    folder : str
        That of the experiment, as a command names it.
    """
    own = {number: one for number, one in entries.ended.items() if one.outside is None}
    report = experiment_report(plan, replace(entries, ended=own))
    left = len(plan.trials) - len(entries.ended)
    seen = alike(own.values())
    notes = _notes(report, seen, len(entries.ended) - len(own))
    by_name = {one.name: one for one in report.treatments}
    for name in (AS_IT_WAS, REMEDY):
        ended = _unfinished(by_name[name], notes)
        if ended is not None and (not left or ended.verdict == "not_testable"):
            return ended
    pair = report.comparison.pairs[0] if report.comparison else None
    blocks = pair.change.n if pair else 0
    if left or pair is None or blocks < FEWEST_BLOCKS:
        return _not_yet(report, blocks, left, notes, folder)
    if seen.results == "different":
        return Outcome(
            "not_testable", notes=notes, blocks=blocks,
            reason="the result is another with the remedy, so it is not the same work",
            by_hand="compare the two results by hand: digits of sums may differ by their order",
        )  # fmt: skip
    uncompared = seen.uncompared
    if uncompared and predicted.writes_less and (less := fewer_rows(seen.before, seen.after)):
        uncompared += f"; {less}, which the remedy may intend"
    found = _compared(pair, predicted, report.margin, notes, uncompared)
    beyond = _beyond(found.measured_ratio, predicted.ratio) is not None
    less = other_work(seen.before, seen.after, beyond, predicted.writes_less)
    if uncompared and less:
        changed = any(f"workload.{VARIANT}" in one.levels for one in plan.treatments)
        then = DECLARE if predicted.of_command and not seen.declared else REPEAT
        what = "the changed command" if changed else "with the remedy it"
        return replace(
            found, verdict="not_testable", bound_ratio=None,
            reason=f"{what} did other work: {less}",
            by_hand=f"look whether it does all that it should; {then}",
        )  # fmt: skip
    return found


def _not_yet(
    report: ExperimentReport, blocks: int, left: int, notes: tuple[str, ...], folder: str
) -> Outcome:
    """Say what is lacking: trials that have not been run, or that have to be run again."""
    if left:
        why = "there is a verdict once all trials have been run"
        then = "the same command goes on where it stopped; give it a larger --budget"
    else:
        why = f"at least {FEWEST_BLOCKS} are needed"
        again = f"pyrometer experiment resume {folder} --retry"
        then = f"run again what did not finish: {again}; then the same command"
    reason = f"{blocks} of {report.blocks} blocks are complete; {why}"
    return Outcome("not_testable", reason=reason, by_hand=then, notes=notes, blocks=blocks)


def _unfinished(one: TreatmentReport, notes: tuple[str, ...]) -> Outcome | None:
    """Judge by a treatment most of whose trials did not finish."""
    total = sum(one.ends.values())
    if one.compared and (one.values or not total):
        return None
    how = max(one.ends, key=lambda end: (end != "finished", one.ends[end]))
    why = f": {one.reasons[0]}" if one.reasons else ""
    words = ENDS_REFUTE.get(how, "failed")
    reason = f"{one.name}, {one.ends[how]} of {total} trials {words}{why}"
    if one.name == REMEDY and how in ENDS_REFUTE:
        return Outcome("refuted", reason=reason, notes=notes)
    return Outcome(
        "not_testable", reason=reason, notes=notes,
        by_hand="run it from the folder, and with the environment, that the run had",
    )  # fmt: skip


def _compared(
    pair: PairReport,
    predicted: Prediction,
    margin: float,
    notes: tuple[str, ...],
    uncompared: str | None,
) -> Outcome:
    saved = pair.change.scaled(-1.0)
    measured = saved.scaled(predicted.whole_ns)

    def told(verdict: Judgement, reason: str | None = None, bound: float | None = None) -> Outcome:
        return Outcome(verdict, measured, saved, bound, reason, notes=notes, blocks=saved.n)

    between = f"between {units.percent(saved.low, True)} and {units.percent(saved.high, True)}"
    least = predicted.ratio.low or 0.0
    if pair.verdict == "faster" and (saved.value or 0.0) > margin:
        limits = (uncompared, _beyond(saved, predicted.ratio), predicted.smaller)
        return told("proven", "; ".join(filter(None, limits)) or None)
    if saved.low is None or saved.high is None:
        found = told("not_testable", "its times do not vary: their noise is not known")
    elif pair.verdict == "slower":
        found = told("refuted", f"it is slower with the remedy: it saves {between}")
    elif pair.verdict == "same":
        found = told("no_difference", None, margin)
    elif saved.high <= margin:
        found = told("refuted", f"it is surely not faster: it saves {between}")
    elif saved.high < least:
        found = told("no_difference", None, max(abs(saved.low), saved.high))
    else:
        found = told("not_testable", _undecided(pair, predicted, margin, between))
    if predicted.smaller and found.verdict in ("refuted", "no_difference"):
        return told(
            "not_testable",
            f"with less data it saves {between}, which says nothing of the run's"
            f" ({predicted.smaller})",
        )
    return found


def _beyond(saved: Estimate | None, predicted: Estimate) -> str | None:
    """Doubt a saving whose whole interval lies above that of the prediction."""
    if saved is None or saved.low is None or predicted.high is None or saved.low <= predicted.high:
        return None
    most = units.percent(predicted.high)
    return (
        f"it saves more than the {most} that was predicted at most: something besides the remedy"
        " may differ between the trials"
    )


def _undecided(pair: PairReport, predicted: Prediction, margin: float, between: str) -> str:
    above = f"show none above {units.percent(margin)}"
    what = above if pair.verdict == "faster" else "cannot tell"
    wanted = _blocks_for(predicted.ratio.value or 0.0, pair, margin)
    more = "" if wanted is None else f"; about {wanted} blocks would show what is predicted"
    return f"{pair.change.n} blocks {what}: it saves {between}{more}"


def _blocks_for(ratio: float, pair: PairReport, margin: float) -> int | None:
    """Blocks that would find a saving: those for the margin, by the square of the difference."""
    if pair.trials_needed is None or not 0 < ratio < 1:
        return None
    share = math.log1p(margin) / -math.log1p(-ratio)
    return max(pair.change.n + 1, math.ceil(pair.trials_needed * share**2))


def _notes(report: ExperimentReport, seen: Alike, void: int) -> tuple[str, ...]:
    same = "the same rows" if seen.results == "same" else "they differ"
    notes = [seen.uncompared or f"results compared: {same}"]
    if seen.uncompared:
        work = compared(seen.before, seen.after)
        notes.append(f"work compared: {work}" if work else "the trials show nothing of their work")
    if seen.plans == "different":
        notes.append("the plan has other operators with the remedy")
    elif seen.plans == "same":
        notes.append("the plan has the same operators")
    if report.disturbed_count:
        notes.append(f"{report.disturbed_count} of {report.done_count} trials were disturbed")
    if void:
        ended = report.done_count + void
        notes.append(f"{void} of {ended} trials were ended from outside, and do not count")
    return tuple(notes)
