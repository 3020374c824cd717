"""``--fail-if "regression(wall) > 3%"``: when a comparison is a failure, for machines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrometer.analyse.compare.account import PairReport
from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.errors import UsageError

_RULE = re.compile(
    r"\s*(?P<what>\w+)\s*\(\s*(?P<metric>\w+)\s*\)\s*>\s*(?P<limit>[0-9]+(?:\.[0-9]+)?)\s*%\s*"
)


@dataclass(frozen=True)
class Rule:
    """A treatment fails where it is slower than the baseline, surely, and by more than `limit`."""

    text: str
    limit: float


@dataclass(frozen=True)
class Judged:
    """A pair and whether it fails; ``None`` where the trials cannot tell."""

    pair: PairReport
    failed: bool | None
    told: str


def parse_rule(text: str) -> Rule:
    """Read a rule.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> parse_rule("regression(wall) > 3%").limit
    0.03
    """
    match = _RULE.fullmatch(text)
    if match is None or match["what"] != "regression" or match["metric"] != "wall":
        raise UsageError(
            f"--fail-if {text!r} is no rule that is known", 'such as "regression(wall) > 3%"'
        )
    return Rule(text.strip(), float(match["limit"]) / 100)


def judged(report: ExperimentReport, rule: Rule) -> list[Judged]:
    """Judge every treatment beside the baseline.

    A pair fails if the verdict is slower and the change above the limit; it passes if its interval
    lies below the limit; anything else cannot be told.

    Raises
    ------
    UsageError
        If the experiment has no baseline: then there is no regression either.
    """
    if report.baseline is None:
        raise UsageError(
            "--fail-if needs to know what to compare with",
            "baseline: in the file, or --control TREATMENT",
        )
    made = []
    for pair in report.comparison.pairs if report.comparison else []:
        change, high = pair.change.value or 0.0, pair.change.high
        told = f"{100 * change:+.2f} %"
        if pair.change.low is not None and high is not None:
            told += f" [{100 * pair.change.low:+.2f} %, {100 * high:+.2f} %]"
        told += f", {pair.verdict}"
        failed: bool | None = None
        if pair.verdict == "slower" and change > rule.limit:
            failed = True
        elif pair.verdict == "faster" or (high is not None and high <= rule.limit):
            failed = False
        made.append(Judged(pair, failed, told))
    return made
