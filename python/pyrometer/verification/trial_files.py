"""Files of the experiment on a finding: its plan, the workload of a command, the treatments' names.

Pure texts and data: who runs them writes them.
"""

from __future__ import annotations

from pyrometer.experiments.folder import Plan
from pyrometer.experiments.plan.source import experiment_text
from pyrometer.verification.by_hand import SCALE
from pyrometer.verification.plan import AS_IT_WAS, REMEDY, TRIALS_SHARE, VARIANT, Proposal
from pyrometer.workloads.custom import typed_command

LONGEST_WAIT_S = 120.0
TIMES_LONGEST = 5
"""A trial that takes so many times as long as the run is ended."""
LEAST_TIMEOUT_S = 120.0


def experiment_file(one: Proposal, workload: str) -> str:
    """Write the experiment file of a proposal.

    Parameters
    ----------
    workload : str
        Its name, or the file that was written for a command.
    """
    made = dict(one.remedy)
    before = {SCALE: one.scale}
    if one.changed:
        made[f"workload.{VARIANT}"] = "made"
        before[f"workload.{VARIANT}"] = "as-it-was"
    wait = min(LONGEST_WAIT_S, (1 - TRIALS_SHARE) * one.budget_s / (2 * one.blocks))
    words = one.words.replace("{", "{{").replace("}", "}}")
    return experiment_text(
        "verify", workload, f"{{}} {AS_IT_WAS}, and {REMEDY}: {words}", scale=one.scale,
        set=dict(one.shared) or None,
        matrix={"include": [{**before, **one.own}, {**before, **made}]},
        blocks=one.blocks, iterations=one.iterations, warmup=str(one.warmup), margin=_percent(one),
        timeout=f"{max(LEAST_TIMEOUT_S, TIMES_LONGEST * one.trial_s):.0f}s",
        guard={"policy": one.policy, "wait": f"{max(1.0, wait):.0f}s"},
    )  # fmt: skip


def _percent(one: Proposal) -> str:
    return f"{100 * one.margin:.4f}%"


def command_file(one: Proposal) -> str:
    """Write a workload's file for the user's own command."""
    levels = {"as-it-was": (AS_IT_WAS, one.command)}
    if one.changed:
        levels["made"] = (REMEDY, one.changed)
    summary = "The command of a run, to test what slows it down."
    return typed_command.command_file("command", summary, VARIANT, levels)


def named(plan: Plan) -> Plan | str:
    """Call the two treatments by what they are; or say why one of them cannot be run here."""
    if plan.left_out:
        return "; ".join(one.reason for one in plan.left_out)
    names = dict(
        zip((one.name for one in plan.treatments), (AS_IT_WAS, REMEDY), strict=True)
    )  # fmt: skip
    treatments = [
        one.model_copy(
            update={
                "name": names[one.name],
                "levels": {k: v for k, v in one.levels.items() if k != SCALE},
                "varied": {VARIANT: "no" if names[one.name] == AS_IT_WAS else "yes"},
            }
        )
        for one in plan.treatments
    ]
    trials = [
        one.model_copy(
            update={
                "treatment": names[one.treatment],
                "folder": f"{one.number:04d}-{names[one.treatment].replace(' ', '-')}",
            }
        )
        for one in plan.trials
    ]
    return plan.model_copy(
        update={"treatments": treatments, "trials": trials, "baseline": AS_IT_WAS}
    )
