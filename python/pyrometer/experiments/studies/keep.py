"""The plan of a study's experiment: written once, and gone on with only as it was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import redacted, redacted_data
from pyrometer.experiments.folder import Plan, is_experiment, read_plan
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run.loop import begin
from pyrometer.experiments.run.planned import plan_of


def keep_plan(
    file: Path,
    root: Path,
    scale: str | None,
    blocks: int | None,
    levels: Mapping[str, str],
    *,
    knobs: bool,
) -> None:
    """Write the plan, unless the folder has one that fits what is asked for.

    Parameters
    ----------
    file, root : Path
        The experiment, and its folder.
    scale, blocks, levels
        Instead of those of the file.
    knobs : bool
        Whether the file has the levels of a plan that is there: else pilots have found some.
    """
    if is_experiment(root):
        kept = read_plan(root)
        for name, asked, has in (("scale", scale, kept.scale), ("blocks", blocks, kept.blocks)):
            if asked not in (None, has):
                raise UsageError(
                    f"{root} was planned with {name} {has}, not {asked}",
                    "give another folder with -o",
                )
        # Whether this host could run it now does not matter: it may have ended long ago.
        asked_for = plan_of(file, root, blocks=blocks, kept=kept, levels=levels)
        if what := _difference(asked_for, kept, levels=knobs):
            given, remedy = "", "give another folder with -o"
            if "levels" in what:
                given = f" with --set of {', '.join(levels)}" if levels else " without --set"
                remedy = "give --set as when it was planned, or another folder with -o"
            raise UsageError(
                f"{root} was planned with another {what} than {file} now has{given}", remedy
            )
        return
    plan = plan_of(file, root, blocks=blocks, levels=levels)
    plan.scale = scale or plan.scale
    begin(root, plan)


def _difference(plan: Plan, kept: Plan, *, levels: bool) -> str | None:
    """Name what an edit has changed; scale and number of blocks may be those of options."""
    pairs: dict[str, list[Any]] = {
        "workload": [Path(one.workload).name for one in (plan, kept)],
        "profile": [plan.profile, kept.profile],
        "number of iterations": [plan.iterations, kept.iterations],
        "warm-up": [plan.warmup, kept.warmup],
        "design": [(one.kind, one.split) for one in (plan, kept)],
        "margin": [plan.margin, kept.margin],
        "timeout": [plan.timeout_s, kept.timeout_s],
        "guard": [Guard.model_validate(one.guard) for one in (plan, kept)],
    }
    if levels:
        pairs["set of treatments"] = [_names(one) for one in (plan, kept)]
        both = {redacted(one.name): one for one in kept.treatments}
        same = [one for one in plan.treatments if redacted(one.name) in both]
        # Of a finished experiment, secrets were struck out.
        pairs["set of levels"] = [
            [redacted_data(one.levels) for one in same],
            [redacted_data(both[redacted(one.name)].levels) for one in same],
        ]
        pairs["baseline"] = [redacted(one.baseline or "") for one in (plan, kept)]
    else:
        pairs["set of shared levels"] = [_shared(one) for one in (plan, kept)]
    return next((what for what, (now, then) in pairs.items() if now != then), None)


def _shared(plan: Plan) -> Any:
    """Give the levels that all treatments share; a knob of pilots is not the file's."""
    one = plan.treatments[0]
    shared = {k: v for k, v in one.levels.items() if k not in (*one.varied, "memory.condition")}
    return redacted_data(shared)


def _names(plan: Plan) -> set[str]:
    """Name the treatments of the file, whether or not this host can honour them."""
    names = [one.name for one in plan.treatments] + [one.name for one in plan.left_out]
    return set(map(redacted, names))
