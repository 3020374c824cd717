"""What could be recommended before any trial: findings of the baseline's run that a level cures."""

from __future__ import annotations

from pathlib import Path

from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.explain.kept import findings_of
from pyrometer.explain.schema import Finding, Findings
from pyrometer.explain.words import counts
from pyrometer.tune.judge.schema import Recommendation
from pyrometer.tune.trials.replay import History

NO_FINDING = "no finding of the first run of the job has a level as its remedy"


def recommendations(root: Path, history: History) -> tuple[list[Recommendation], str | None]:
    """Read what the first run of the baseline recommends, or say why there is nothing.

    Parameters
    ----------
    root : Path
        Folder of the tuning.
    """
    first = next((one for one in history.baselines if one.ended is not None), None)
    if first is None or first.ended is None:
        return [], "no trial of the baseline has finished"
    try:
        found = findings_of(ExperimentPaths(root).trials / first.ended.folder)
    except PyrometerError as error:
        return [], error.message
    made = of_findings(found)
    for one in made:
        one.trials = [
            step.asked.trial
            for step in history.steps
            if step.asked.configuration.items() >= one.levels.items()
        ]
    if made:
        return made, None
    return [], NO_FINDING


def of_findings(found: Findings) -> list[Recommendation]:
    """Give the findings that a level cures, and that are above the noise, the largest first."""
    return [
        Recommendation(
            finding=one.key, title=one.title, text=one.mechanism, levels=levels,
            saving_ratio=one.saving_ratio,
        )
        for one in found.findings
        if counts(one) and (levels := levels_of(one))
    ]  # fmt: skip


def levels_of(finding: Finding) -> dict[str, str]:
    """Give the levels of a finding's first remedy that can be tried without a human; or none."""
    for one in finding.remedies:
        if one.kind == "factor" and one.factor and one.level:
            return {one.factor: one.level, **one.levels}
    return {}
