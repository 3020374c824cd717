"""Hands the experiment on a finding to the runner of experiments, and reads what came of it.

Nothing is started where the plan is refused. What was run is kept: the same question goes on where
it stopped, whatever the budget, and is not run again once it is answered. Only where less data than
the run's left it open, and the budget now suffices for all of it, are there further trials.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer import __version__
from pyrometer.collect.launch.command import program
from pyrometer.collect.launch.launch import is_workload_command
from pyrometer.collect.launch.record import HOME
from pyrometer.core.errors import PyrometerError
from pyrometer.core.replacing import replacing
from pyrometer.experiments.folder import Plan, Surroundings, is_experiment, read_plan
from pyrometer.experiments.history.stored_runs import iterations_of, length_of
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run import guard
from pyrometer.experiments.run.environment import Actions, Screen
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.explain.schema import Finding, Findings
from pyrometer.store import Run
from pyrometer.store.manifest import Manifest
from pyrometer.store.private import FILE_MODE
from pyrometer.verification.by_hand import by_hand
from pyrometer.verification.plan import (
    Policy,
    Proposal,
    Refusal,
    propose,
    to_find,
    with_less,
)
from pyrometer.verification.ran import Ran
from pyrometer.verification.record import Verdict
from pyrometer.verification.trial_files import command_file, experiment_file, named
from pyrometer.verification.verdict import Outcome, Prediction, judge
from pyrometer.verification.work import WRITE_LESS
from pyrometer.window.windows import MEASURED, OBSERVING
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale

DEFAULT_PROFILE = "full"
"""That ``pyrometer run`` has without a word."""


@dataclass(frozen=True)
class Verification:
    """An experiment on a finding: planned, and not begun where it is new.

    Attributes
    ----------
    root : Path
        Its folder.
    namesake : Path or None
        Folder with trials of a place that is called the same, this one or another: which, it does
        not say, as folders were named by these words alone.
    """

    finding: Finding
    proposal: Proposal
    prediction: Prediction
    plan: Plan
    root: Path
    namesake: Path | None = None

    @property
    def done_count(self) -> int:
        """Trials that have ended."""
        return len(read_journal(self.root).ended) if is_experiment(self.root) else 0


class OutOfTimeError(Exception):
    """The budget is used up; what was run is kept."""


def ran_of(run: Run, found: Findings) -> Ran:
    """Read what ran, as far as it can run again."""
    manifest = run.manifest
    if manifest is None or manifest.imported or manifest.profile in OBSERVING:
        return Ran(None, (), {}, None, None, None, True, 1, 0, 0, None)
    name = manifest.workload.name
    once = name is None or _is_command(name)
    process_ns = (manifest.ended_mono_ns or 0) - (manifest.started_mono_ns or 0)
    window_ns = found.baseline.elapsed_ns if found.window.name == MEASURED else 0
    size, least = (None, None) if once else _sizes(manifest)
    scale = manifest.workload.scale
    return Ran(
        workload=name,
        command=() if name else tuple(manifest.workload.command),
        levels=_levels(manifest),
        scale=None if scale is None else str(scale),
        size=size,
        least_size=least,
        once=once,
        iterations=manifest.iterations,
        warmup=manifest.warmup,
        whole_ns=max(process_ns, 0) if once else window_ns,
        length_s=length_of(manifest),
        iterations_s=tuple(iterations_of(run.paths.root)),
        master=run.tables.scalar("SELECT min(master) FROM apps") or "local",
        profile=None if manifest.profile == DEFAULT_PROFILE else manifest.profile,
    )


def _is_command(name: str) -> bool:
    try:
        return is_workload_command(name)
    except PyrometerError:
        return False


def _sizes(manifest: Manifest) -> tuple[int | None, int | None]:
    try:
        workload = registry.get(manifest.workload.name or "")
        size = parse_scale(workload, str(manifest.workload.scale or "default"))
    except PyrometerError:
        return None, None
    if "test" not in workload.scales:
        return size, None
    return size, max(workload.scales["test"], workload.least_size(_levels(manifest)))


def _levels(manifest: Manifest) -> dict[str, str]:
    """Give what the user set; limits that the workload brings come with it again."""
    own = {
        name: level
        for name, level in manifest.treatment.items()
        if manifest.treatment_origin.get(name) != "workload"
    }
    return {name: str(level) for name, level in {**manifest.workload.variant, **own}.items()}


def prepare(
    finding: Finding,
    ran: Ran,
    *,
    run_id: str,
    noise_ratio: float,
    budget_s: float,
    changed: Sequence[str] = (),
    policy: Policy = "wait",
    home: Path = HOME,
) -> Verification | Outcome:
    """Plan an experiment on a finding, or say why there is none; go on with one that was begun.

    Parameters
    ----------
    run_id : str
        Of the run that was explained.
    budget_s : float
        Longest time of its trials. Of one that was begun the plan stays, whatever the budget is.
    home : Path
        Where its folder goes: `home`/verify-…

    Returns
    -------
    Verification or Outcome
        The latter (``not_testable``) where the plan is refused: nothing is left of it then.
    """
    whole, fitting = (
        propose(finding, ran, limit_s, noise_ratio, changed, policy)
        for limit_s in (math.inf, budget_s)
    )
    if isinstance(whole, Refusal):
        return _refused(whole)

    def folders(place: str) -> tuple[Path, Path]:
        root = home / f"verify-{_word(finding.code)}-{_question(finding, whole, run_id, place)}"
        return root, root.with_name(f"{root.name}-less-data")

    root, less = folders(finding.place.key)
    begun = _begun(finding, ran, replace(whole, budget_s=budget_s), root, less)
    enough = isinstance(fitting, Proposal) and fitting.smaller is None
    if begun is not None and not (enough and begun.root == less and _is_open(begun)):
        return begun
    if isinstance(fitting, Refusal):
        return _refused(fitting)
    root = less if fitting.smaller else root
    planned = _planned(fitting, root)
    if isinstance(planned, str):
        then = by_hand(finding, ran, possible=False)
        return Outcome("not_testable", reason=planned, by_hand=then)
    others = folders(finding.place.words) if finding.place.words != finding.place.key else ()
    namesake = next((one for one in others if is_experiment(one)), None)
    prediction = _prediction(finding, ran, fitting)
    return Verification(finding, fitting, prediction, planned, root, namesake)


def _refused(found: Refusal) -> Outcome:
    return Outcome("not_testable", reason=found.reason, by_hand=found.by_hand)


def _prediction(finding: Finding, ran: Ran, proposal: Proposal) -> Prediction:
    return Prediction(
        to_find(finding), ran.whole_ns, proposal.smaller,
        of_command=ran.once, writes_less=finding.code in WRITE_LESS,
    )  # fmt: skip


def _question(finding: Finding, whole: Proposal, run_id: str, place: str) -> str:
    """Digest what is asked: nothing that follows from the budget, or from earlier trials."""
    asked: list[object] = [
        run_id, finding.code, place, whole.changed, dict(whole.remedy), whole.policy,
    ]  # fmt: skip
    if finding.place.app:  # of the first, as it was asked before there were several
        asked.append(finding.place.app)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]


def _begun(
    finding: Finding, ran: Ran, whole: Proposal, root: Path, less: Path
) -> Verification | None:
    """Read the experiment that was begun, as it was planned: on the run's data, or on less."""
    place = next((one for one in (root, less) if is_experiment(one)), None)
    if place is None:
        return None
    plan = read_plan(place)
    proposal = replace(whole, blocks=plan.blocks, iterations=plan.iterations, margin=plan.margin)
    if place == less:
        proposal = with_less(proposal, ran, plan.scale)
    return Verification(finding, proposal, _prediction(finding, ran, proposal), plan, place)


def _is_open(test: Verification) -> bool:
    """Whether all trials have ended and left the question open."""
    ended = test.done_count >= len(test.plan.trials)
    return ended and outcome_of(test).verdict == "not_testable"


def _planned(proposal: Proposal, root: Path) -> Plan | str:
    file = root.with_name(f"{root.name}.yaml")
    command = root.with_name(f"{root.name}-command.yaml")
    workload = proposal.workload
    if workload is None:
        _write(command, command_file(proposal))
        workload = str(command.absolute())
    _write(file, experiment_file(proposal, workload))
    found: Plan | str
    try:
        found = named(plan_of(file, root))
    except PyrometerError as error:
        # The user has not written this file, so its line numbers help nobody.
        found = re.sub(rf"^{re.escape(str(file))}(:\d+)*: ", "", error.message)
    if isinstance(found, str):
        file.unlink()
        command.unlink(missing_ok=True)
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, FILE_MODE) as out:
        out.write(text.encode())


def carry(test: Verification, screen: Screen | None = None, actions: Actions | None = None) -> bool:
    """Run the trials that have not ended; no trial begins after the budget.

    Returns
    -------
    bool
        Whether all have ended.

    Raises
    ------
    UsageError, CapabilityError
        As `pyrometer.experiments.run.loop.carry_out`.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    if not is_experiment(test.root):
        begin(test.root, test.plan)
    actions = actions or Actions()
    timely = replace(
        actions, wait_for_calm=_until(test.proposal.budget_s, actions.wait_for_calm)
    )  # fmt: skip
    try:
        carry_out(test.root, screen=screen, actions=timely)
    except OutOfTimeError:
        return False
    return True


def _until(
    budget_s: float,
    wait: Callable[[Guard, Callable[[str], None]], Surroundings] = guard.before_trial,
) -> Callable[[Guard, Callable[[str], None]], Surroundings]:
    deadline = time.monotonic() + budget_s

    def before(limits: Guard, say: Callable[[str], None]) -> Surroundings:
        if time.monotonic() > deadline:
            raise OutOfTimeError
        return wait(limits, say)

    return before


def outcome_of(test: Verification) -> Outcome:
    """Judge the trials that have ended."""
    folder = shlex.quote(str(test.root))
    return judge(read_plan(test.root), read_journal(test.root), test.prediction, folder)


def verdict_of(test: Verification, outcome: Outcome, run_id: str, workload: str) -> Verdict:
    """Write an outcome down, to be kept."""
    ended = read_journal(test.root).ended.values()
    last = max((one.wall_ns for one in ended), default=0)
    earlier = test.finding.record.earlier
    said = f"{run_id}\n{test.finding.key}\n{test.root.absolute()}\n{last}"
    return Verdict(
        id=hashlib.sha256(said.encode()).hexdigest()[:16],
        code=test.finding.code,
        app=test.finding.place.app or 0,
        place=test.finding.place.key,
        run_id=run_id,
        workload=workload,
        job=program(command) if (command := test.proposal.command) else "",
        verdict=outcome.verdict,
        predicted_ns=test.finding.saving.elapsed_ns,
        measured_ns=outcome.measured_ns,
        bias_ratio=earlier.bias_ratio if earlier else 1.0,
        of_run=test.proposal.smaller is None,
        blocks=outcome.blocks,
        remedy=test.proposal.words,
        reason=outcome.reason,
        notes=list(outcome.notes),
        experiment=str(test.root.absolute()),
        wall_ns=last,
        pyrometer_version=__version__,
    )


def _word(code: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", code).strip("-.")
