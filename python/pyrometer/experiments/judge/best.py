"""Which treatment of an experiment is best, by how much, and how surely, in a sentence or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyrometer.compare.terminal import percent
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.statistics.treatments import PairReport

_NAMED = 3
_OTHER_WAY = {"faster": "slower", "slower": "faster"}


@dataclass(frozen=True)
class _Against:
    """The best treatment compared with another one: its change from it, in time."""

    other: str
    verdict: str
    value: float | None
    low: float | None
    high: float | None


def verdict(report: ExperimentReport) -> str:
    """Name the best treatment: how it compares with the baseline, else with the next best.

    The best has the lowest mean of those that are compared. What cannot be told from it is named.
    """
    if report.comparison is None:
        return f"Nothing can be compared: {report.reason}."
    means = {
        one.name: one.mean.value
        for one in report.comparison.treatments
        if one.mean.value is not None
    }
    order = sorted(means, key=lambda name: means[name])
    pairs = report.comparison.pairs
    if not order or not pairs:
        return "Nothing can be compared: no treatment finished often enough."
    best = order[0]
    every = [_against(pair, best) for pair in pairs if best in (pair.a, pair.b)]
    against = {one.other: one for one in every}
    first = next((against[name] for name in (report.baseline, *order[1:]) if name in against), None)
    if first is None:
        return f"{best} has the lowest mean, and is compared with no other treatment."
    # With a baseline, others are compared with that alone; what is slower than it is beaten too.
    by_verdict = {pair.b: pair.verdict for pair in pairs if pair.a == report.baseline}
    beaten = {name for name, one in against.items() if one.verdict == "faster"}
    if report.baseline in beaten:
        beaten |= {name for name, found in by_verdict.items() if found == "slower"}
    sure = beaten >= set(order[1:])
    text = _compared(best, first, report, sure)
    open_ = [name for name in order[1:] if name in against.keys() - beaten - {first.other}]
    if open_:
        text += f" Not surely slower than it: {_listed(open_)}."
    also = [n for n in order[1:] if n not in against and by_verdict.get(n) == "faster"]
    if also:
        text += f" Also faster than the baseline, and not compared with it: {_listed(also)}."
    if len(pairs) > 1:
        counts = Counter(one.verdict for one in pairs)
        text += f" {len(pairs)} pairs: {', '.join(f'{n} {name}' for name, n in counts.items())}."
    return text


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'; '.join(names[:_NAMED])}{more}"


def _compared(best: str, one: _Against, report: ExperimentReport, sure: bool) -> str:
    whom = f"the baseline {one.other}" if one.other == report.baseline else one.other
    mine = f"{best} (the baseline)" if best == report.baseline else best
    ends = "" if one.low is None else f" (95 %: {percent(one.low)} … {percent(one.high)})"
    change = "an unknown change" if one.value is None else f"{percent(one.value)}{ends}"
    if sure:
        return f"Best: {mine}, faster than {whom}: {change}."
    if one.verdict == "faster":
        return f"{mine} has the lowest mean and is faster than {whom}: {change}."
    if one.verdict == "slower":
        # The lowest mean, and yet slower within blocks: what they share moved more than this.
        return f"{mine} has the lowest mean, but is slower than {whom} within blocks: {change}."
    if one.verdict == "same":
        return f"{mine} has the lowest mean, but is the same as {whom} within the margin: {change}."
    return f"{mine} has the lowest mean, but may not be faster than {whom}: {change}, cannot tell."


def _against(pair: PairReport, best: str) -> _Against:
    change = pair.change
    if pair.b == best:
        return _Against(pair.a, pair.verdict, change.value, change.low, change.high)
    return _Against(
        pair.b, _OTHER_WAY.get(pair.verdict, pair.verdict),
        _inverse(change.value), _inverse(change.high), _inverse(change.low),
    )  # fmt: skip


def _inverse(change: float | None) -> float | None:
    """Change from B to A, of that from A to B."""
    return None if change is None or change <= -1 else 1 / (1 + change) - 1
