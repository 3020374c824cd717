"""Together, each on its own CPUs, or one after the other: which has each iteration done first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyrometer.analyse.compare.account import PairReport, Trial, account
from pyrometer.analyse.compare.two import geometric_mean_of
from pyrometer.analyse.corun.model import Advice, Way, WayReport

WORDS: dict[Way, str] = {
    "in turn": "one after the other",
    "together": "together on the same CPUs",
    "own CPUs": "at once, each on CPUs of its own",
}

Times = Mapping[Way, Sequence[Sequence[float]]]
"""Times of an iteration: of each way, by block, of each member. ``in turn`` are those alone."""


def makespan(way: Way, alone: Sequence[float], times: Sequence[float]) -> float:
    """Time until all are done that begin at once, each with one iteration to do.

    In turn that is the sum. Together, the longer of two has done ``shorter / longer`` of its work
    when the shorter ends, and goes on as if alone: what is left takes that part of its time alone
    (progress at a constant rate, as in Jiang, Shen, Chen and Tripathi, "Analysis and approximation
    of optimal co-scheduling on chip multiprocessors", PACT 2008). Three and more, and those with
    CPUs of their own, are taken to be under load to their end: an upper bound.

    Examples
    --------
    >>> makespan("in turn", [4.0, 10.0], [4.0, 10.0]), makespan("own CPUs", [4, 10], [6.0, 16.0])
    (14.0, 16.0)
    >>> makespan("together", [4.0, 10.0], [6.0, 12.0])
    11.0
    """
    if way == "in turn":
        return sum(alone)
    if way == "own CPUs" or len(times) > 2:
        return max(times)
    shorter, longer = sorted(range(2), key=lambda at: times[at])
    done = times[shorter] / times[longer]
    return times[shorter] + (1 - done) * alone[longer]


def advice(members: Sequence[str], times: Times, margin: float) -> Advice:
    """Compare the ways within blocks, and say which to take.

    Parameters
    ----------
    times : mapping
        All ways by the same blocks; ``in turn`` is among them.
    margin : float
        Relative difference that counts as none.
    """
    spans = {
        way: [makespan(way, alone, its) for alone, its in zip(times["in turn"], rows, strict=True)]
        for way, rows in times.items()
    }
    trials = [
        Trial(way, span, str(block))
        for block, found in enumerate(zip(*spans.values(), strict=True))
        for way, span in zip(spans, found, strict=True)
    ]
    pairs = account(trials, what="makespan", unit="s", margin=margin, names=list(spans)).pairs
    beaten = {pair.a if pair.verdict == "faster" else pair.b for pair in pairs if _sure(pair)}
    best = [way for way in spans if way not in beaten]
    return Advice(
        members=list(members),
        ways=[WayReport(way=way, makespan_s=geometric_mean_of(one)) for way, one in spans.items()],
        pairs=pairs,
        best=best,
        told=_told(best, pairs),
    )


def _sure(pair: PairReport) -> bool:
    return pair.verdict in ("faster", "slower")


def _told(best: Sequence[Way], pairs: Sequence[PairReport]) -> str:
    if len(best) == 1:
        (way,) = best
        beside = [pair for pair in pairs if way in (pair.a, pair.b)]
        return f"{WORDS[way]}: {'; '.join(_longer(pair, way) for pair in beside)}"
    either = " or ".join(WORDS[one] for one in best)
    among = [pair for pair in pairs if pair.a in best and pair.b in best]
    if all(pair.verdict == "same" for pair in among):
        return f"{either}: the same"
    needed = [pair.trials_needed for pair in among if pair.trials_needed is not None]
    more = f"; {max(needed)} blocks would tell a difference of the margin" if needed else ""
    return f"cannot tell: {either}{more}"


def _longer(pair: PairReport, best: Way) -> str:
    """Say how much longer the other of a pair takes."""
    change = pair.change.value or 0.0
    other, more = (pair.b, change) if pair.a == best else (pair.a, -change / (1 + change))
    return f"{next(words for way, words in WORDS.items() if way == other)} takes {more:.0%} longer"
